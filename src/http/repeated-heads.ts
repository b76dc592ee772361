/**
 * Signed heads that arrive again as the same bytes: those of presigned URLs, and of clients that repeat a request
 * within the second in which they signed it. From their second use on they share one request, and what follows from it.
 */
import { SecondChanceCache } from '../lib/second-chance-cache.ts'
import { HEAD_BYTES_MAX, type PlainHead } from './plain-head.ts'

/** In the query of a presigned URL, or in the Authorization header. */
const SIGNATURE = Buffer.from('Signature=')
const SIGNATURE_DIGITS = 64

/** With what is derived from them, heads take some twenty times this many bytes. */
const HEADS_BYTES_MAX = 2 ** 19

/** Undefined for bytes that are not one plain head. A request that is shared says so. */
type ReadHead = (bytes: Buffer, isShared: boolean) => PlainHead | undefined

interface KeptHead {
  readonly bytes: Buffer
  readonly head: PlainHead
}

export class RepeatedHeads {
  readonly #read: ReadHead
  /** By the digits of the signature, which few heads share. */
  readonly #kept = new SecondChanceCache<KeptHead>(HEADS_BYTES_MAX)

  constructor(read: ReadHead) {
    this.#read = read
  }

  /** The bytes may be overwritten afterwards. */
  get(bytes: Buffer): PlainHead | undefined {
    const at = bytes.length > HEAD_BYTES_MAX ? -1 : bytes.indexOf(SIGNATURE)
    if (at < 0) return this.#read(bytes, false)
    const start = at + SIGNATURE.length
    const digits = bytes.toString('latin1', start, start + SIGNATURE_DIGITS)
    const kept = this.#kept.get(digits)
    if (kept?.bytes.equals(bytes) === true) return kept.head
    const head = this.#read(bytes, false)
    if (head === undefined || !this.#kept.isWanted(digits, markOf(digits), bytes.length)) return head
    return this.#keep(digits, Buffer.from(bytes)) ?? head
  }

  #keep(digits: string, bytes: Buffer): PlainHead | undefined {
    const head = this.#read(bytes, true)
    if (head !== undefined) this.#kept.set(digits, { bytes, head }, bytes.length)
    return head
  }
}

const markOf = (digits: string): number => Number.parseInt(digits.slice(0, 8), 16) >>> 0
