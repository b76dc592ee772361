/**
 * Signed heads that arrive again as the same bytes: those of presigned URLs, and of clients that repeat a request
 * within the second in which they signed it. They share one request, and what follows from it.
 */
import { ownCopy } from '../lib/bytes.ts'
import { crc32 } from '../lib/crc.ts'
import { SecondChanceCache } from '../lib/second-chance-cache.ts'
import { HEAD_BYTES_MAX, type PlainHead } from './plain-head.ts'

/** In the query of a presigned URL, or in the Authorization header. */
const SIGNATURE = Buffer.from('Signature=')

const HEADS_BYTES_MAX = 4 * 2 ** 20
/** The values derived from a head take about as much as this and five times its bytes. */
const DERIVED_BYTES = 1024
const DERIVED_BYTES_PER_BYTE = 5

/** Undefined for bytes that are not one plain head. The bytes of a request that is shared stay as they are. */
type ReadHead = (bytes: Buffer, isShared: boolean) => PlainHead | undefined

interface KeptHead {
  readonly bytes: Buffer
  readonly head: PlainHead
}

export class RepeatedHeads {
  readonly #read: ReadHead
  /** By the CRC of the bytes. Those of one signature may differ, as clients that share a URL do. */
  readonly #kept = new SecondChanceCache<KeptHead, number>(HEADS_BYTES_MAX)

  constructor(read: ReadHead) {
    this.#read = read
  }

  /** The bytes may be overwritten afterwards. */
  get(bytes: Buffer): PlainHead | undefined {
    if (bytes.length > HEAD_BYTES_MAX || !bytes.includes(SIGNATURE)) return this.#read(bytes, false)
    const crc = crc32(bytes)
    const kept = this.#kept.get(crc)
    if (kept?.bytes.equals(bytes) === true) return kept.head
    const counted = DERIVED_BYTES + (1 + DERIVED_BYTES_PER_BYTE) * bytes.length
    return this.#kept.isWanted(crc, crc, counted) ? this.#keep(crc, bytes, counted) : this.#read(bytes, false)
  }

  #keep(crc: number, read: Buffer, counted: number): PlainHead | undefined {
    const bytes = ownCopy(read)
    const head = this.#read(bytes, true)
    if (head !== undefined) this.#kept.set(crc, { bytes, head }, counted)
    return head
  }
}
