/**
 * The signature that a request claims in its Authorization header, taken from the bytes of its head: its canonical
 * request is hashed as it arrived, without text for each header. It knows the usual form; everything else, and every
 * refusal, is for `authenticate`. Nothing is verified here.
 */
import { oneShotHash } from '../digest/one-shot-hash.ts'
import { ABSENT, type HeadScanner } from '../http/head-scanner.ts'
import { LastText } from '../lib/last-text.ts'
import { ParseCache } from '../lib/parse-cache.ts'
import { Fault } from '../model/faults.ts'
import { type Authorization, authorizationBefore, type ParsedSignature, signatureInHeader } from './parsed-signature.ts'
import {
  basicTimestamp,
  EMPTY_SHA256,
  isSignature,
  SCHEMES,
  type Scheme,
  SIGNATURE_DIGITS,
  type SigningKey,
  UNSIGNED_PAYLOAD,
} from './signing.ts'

/** A signature and the hash of what it should cover. */
export interface HeaderClaim {
  readonly scheme: Scheme
  readonly parsed: ParsedSignature
  readonly canonicalHash: string
  /** The key that the signature was found to be of. */
  verifiedWith: SigningKey | undefined
}

/** All that follows from an Authorization header without its signature. */
interface Signing {
  readonly scheme: Scheme
  readonly authorization: Authorization
  /** Places of the signed headers in the order in which they are signed. */
  readonly places: readonly number[]
  /** Their list as it is signed, between its line breaks. */
  readonly list: Buffer
  /** By place, one for a header that may be sent beside them: a dialect's must be signed. */
  readonly isAllowed: Uint8Array
  readonly dateAt: number
  readonly contentHashAt: number
}

const OTHER = Symbol('not the usual form')
const SIGNINGS_CHARACTERS_MAX = 2 ** 18

const LINE_FEED = 0x0a
/** A head is at most 8 KiB, and all names of headers together less than one. */
const ROOM_BYTES = 16 * 1024

const ALL = [SCHEMES.s3, SCHEMES.svc]

export class HeaderClaims {
  readonly #names: readonly string[]
  /** Each name with its colon. */
  readonly #labels: readonly Buffer[]
  readonly #authorizationAt: number
  readonly #hostAt: number
  readonly #authorization = new LastText()
  readonly #date = new LastText()
  readonly #contentHash = new LastText()
  readonly #signings = new ParseCache(text => this.#signingOf(text), SIGNINGS_CHARACTERS_MAX)
  readonly #room = Buffer.allocUnsafeSlow(ROOM_BYTES)
  #length = 0

  /** The names that heads are scanned for. */
  constructor(names: readonly string[]) {
    this.#names = names
    this.#labels = names.map(name => Buffer.from(`${name}:`))
    this.#authorizationAt = names.indexOf('authorization')
    this.#hostAt = names.indexOf('host')
  }

  /** Undefined for any other form. */
  claimOf(head: HeadScanner): HeaderClaim | undefined {
    const { bytes, starts, ends } = head
    const start = starts[this.#authorizationAt]!
    const end = ends[this.#authorizationAt]!
    if (start === ABSENT || end - start <= SIGNATURE_DIGITS) return undefined
    const signature = bytes.toString('latin1', end - SIGNATURE_DIGITS, end)
    const signing = this.#signings.get(this.#authorization.of(bytes, start, end - SIGNATURE_DIGITS))
    if (signing === OTHER || !isSignature(signature) || !covers(signing, head)) return undefined
    const { scheme, authorization, dateAt, contentHashAt } = signing
    const contentHash = this.#contentHash.of(bytes, starts[contentHashAt]!, ends[contentHashAt]!)
    const timestamp = basicTimestamp(this.#date.of(bytes, starts[dateAt]!, ends[dateAt]!))
    if (timestamp === undefined || (contentHash !== EMPTY_SHA256 && contentHash !== UNSIGNED_PAYLOAD)) return undefined
    const parsed = signatureInHeader({ ...authorization, signature }, { timestamp, contentHash, token: undefined })
    return { scheme, parsed, canonicalHash: this.#hash(head, signing), verifiedWith: undefined }
  }

  #signingOf(text: string): Signing | typeof OTHER {
    const scheme = ALL.find(({ algorithm }) => text.startsWith(`${algorithm} `))
    if (scheme === undefined) return OTHER
    let authorization: Authorization | undefined
    try {
      authorization = authorizationBefore(text, scheme)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
    }
    if (authorization === undefined) return OTHER
    const { names, text: list } = authorization.signedHeaders
    const places = names.map(name => this.#names.indexOf(name))
    const [dateAt, contentHashAt] = ['date', 'content-sha256'].map(name =>
      this.#names.indexOf(scheme.headerPrefix + name),
    ) as [number, number]
    const isUsual = [this.#hostAt, dateAt, contentHashAt].every(place => places.includes(place))
    // Each header is hashed once, so that the text to hash has room.
    if (!isUsual || places.includes(ABSENT) || new Set(places).size < places.length) return OTHER
    const isPlain = (name: string): boolean => ALL.every(({ headerPrefix }) => !name.startsWith(headerPrefix))
    const isOwn = (name: string): boolean => names.includes(name) && name.startsWith(scheme.headerPrefix)
    const isAllowed = Uint8Array.from(this.#names, name => Number(isPlain(name) || isOwn(name)))
    return { scheme, authorization, places, list: Buffer.from(`\n${list}\n`), isAllowed, dateAt, contentHashAt }
  }

  #hash(head: HeadScanner, { places, list, contentHashAt }: Signing): string {
    const { bytes, starts, ends, isHead, targetStart, pathEnd, targetEnd } = head
    this.#length = 0
    this.#add(METHOD_LINES[isHead ? 'HEAD' : 'GET'], 0)
    this.#addLine(bytes, targetStart, pathEnd)
    // Without its question mark.
    this.#addLine(bytes, Math.min(pathEnd + 1, targetEnd), targetEnd)
    for (const place of places) {
      this.#add(this.#labels[place]!, 0)
      this.#addLine(bytes, starts[place]!, ends[place]!)
    }
    this.#add(list, 0)
    this.#add(bytes, starts[contentHashAt]!, ends[contentHashAt]!)
    return oneShotHash('sha256', this.#room.subarray(0, this.#length), 'hex')
  }

  /** A loop, because the pieces are short. */
  #add(from: Buffer, start: number, end = from.length): void {
    let length = this.#length
    for (let at = start; at < end; at++) this.#room[length++] = from[at]!
    this.#length = length
  }

  #addLine(from: Buffer, start: number, end: number): void {
    this.#add(from, start, end)
    this.#room[this.#length++] = LINE_FEED
  }
}

const METHOD_LINES = { GET: Buffer.from('GET\n'), HEAD: Buffer.from('HEAD\n') }

/** Whether all signed headers were sent, and no other one that must be signed. */
function covers({ places, isAllowed }: Signing, { starts }: HeadScanner): boolean {
  for (const place of places) if (starts[place] === ABSENT) return false
  for (let place = 0; place < starts.length; place++) {
    if (starts[place] !== ABSENT && isAllowed[place] === 0) return false
  }
  return true
}
