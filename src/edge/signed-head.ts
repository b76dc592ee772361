/**
 * Plain reads signed in a header, as SDKs send them, recognized in the bytes of their head. What is not on the list of
 * headers below, or in any other form, is for the parsers.
 */
import { type HeaderClaim, HeaderClaims } from '../auth/header-claim.ts'
import { ABSENT, HeadScanner } from '../http/head-scanner.ts'
import { headersOf } from '../http/plain-head.ts'
import type { RawRequest } from '../http/raw-request.ts'
import { LastText } from '../lib/last-text.ts'
import { DIALECTS, type Dialect, wireName } from './dialect.ts'
import { CHECKSUM_MODE, CHECKSUM_MODE_ON, IGNORED_HEADERS } from './plain-headers.ts'

const NAMES: readonly string[] = ['host', 'authorization', CHECKSUM_MODE, ...IGNORED_HEADERS].flatMap(name =>
  name.startsWith(':') ? Object.values(DIALECTS).map(dialect => wireName(dialect, name)) : [name],
)
const HOST_AT = NAMES.indexOf('host')
const CHECKSUM_MODES_AT = Object.values(DIALECTS).map(dialect => NAMES.indexOf(wireName(dialect, CHECKSUM_MODE)))

type SignedHeadParts = Pick<SignedHead, 'host' | 'wantsChecksum' | 'isShared' | 'claim'>

/** A request whose headers become text only if they are asked for. */
export class SignedHead implements RawRequest {
  readonly method: 'GET' | 'HEAD'
  readonly target: string
  readonly host: string
  readonly wantsChecksum: boolean
  readonly isShared: boolean
  readonly dialect: Dialect
  readonly claim: HeaderClaim
  readonly #bytes: Buffer
  #headers: RawRequest['headers'] | undefined

  constructor(head: HeadScanner, { host, wantsChecksum, isShared, claim }: SignedHeadParts) {
    this.method = head.isHead ? 'HEAD' : 'GET'
    this.target = head.bytes.toString('latin1', head.targetStart, head.targetEnd)
    this.host = host
    this.wantsChecksum = wantsChecksum
    this.isShared = isShared
    this.dialect = DIALECTS[claim.scheme.name]
    this.claim = claim
    // Unless they are kept, the connection reads into the same memory again.
    this.#bytes = isShared ? head.bytes : Buffer.from(head.bytes)
  }

  get headers(): RawRequest['headers'] {
    this.#headers ??= headersOf(this.#bytes)
    return this.#headers
  }
}

export interface PlainSignedHead {
  readonly request: SignedHead
  /** The client asked for its connection to be closed after the response. */
  readonly isLast: boolean
}

export class SignedHeads {
  readonly #scanner = new HeadScanner(NAMES)
  readonly #claims = new HeaderClaims(NAMES)
  readonly #host = new LastText()
  readonly #checksumMode = new LastText()

  /** Undefined unless the bytes are the whole head of such a request. */
  parse(bytes: Buffer, isShared = false): PlainSignedHead | undefined {
    const head = this.#scanner
    if (!head.scan(bytes)) return undefined
    const claim = this.#claims.claimOf(head)
    if (claim === undefined) return undefined
    let wantsChecksum = false
    for (const at of CHECKSUM_MODES_AT) {
      if (head.starts[at] === ABSENT) continue
      if (this.#checksumMode.of(bytes, head.starts[at]!, head.ends[at]!) !== CHECKSUM_MODE_ON) return undefined
      wantsChecksum = true
    }
    const host = this.#host.of(bytes, head.starts[HOST_AT]!, head.ends[HOST_AT]!)
    const request = new SignedHead(head, { host, wantsChecksum, isShared, claim })
    return { request, isLast: head.isLast }
  }
}
