import { isSignedIn, queryIn, UNSIGNED_PAYLOAD } from '../auth/schemes.ts'
import { canBeHeader, headerText, trimmed } from '../http/header-text.ts'
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import type { RequestView } from '../operations/context.ts'
import { decodeTarget } from './address.ts'
import { type Dialect, neutralName, neutralNameSent, neutralValue } from './dialect.ts'

const OF_THE_SIGNATURE: ReadonlySet<string> = new Set(
  ['algorithm', 'credential', 'date', 'expires', 'signedheaders', 'signature', 'security-token'].map(
    name => `:${name}`,
  ),
)
/** Links are made before there is a body; some SDKs sign the checksum of none into them. */
const ABOUT_THE_BODY = /^:(content-sha256|decoded-content-length|trailer|sdk-checksum-algorithm|checksum-(crc|sha).*)$/
const CUSTOMER_KEY = /-customer-key(-md5)?$/

const NO_QUERY = new Map<string, string>()

/** A request's headers and query, decoded once and looked up by neutral names. */
export class DecodedRequest implements RequestView {
  readonly #dialect: Dialect
  /** By neutral name, as they were sent: most are never looked at. */
  readonly #headers = new Map<string, string>()
  readonly #query: Map<string, string>

  constructor(request: RawRequest, dialect: Dialect) {
    this.#dialect = dialect
    for (const [name, value] of request.headers) {
      const neutral = neutralNameSent(dialect, name)
      const before = this.#headers.get(neutral)
      this.#headers.set(neutral, before === undefined ? value : `${trimmed(before)},${trimmed(value)}`)
    }
    const { query } = splitTarget(request.target)
    this.#query = query === '' ? NO_QUERY : new Map()
    if (query === '') return
    for (const pair of queryIn(dialect.scheme, query).split('&')) {
      if (pair === '') continue
      const equals = pair.indexOf('=')
      const name = decodeTarget(equals < 0 ? pair : pair.slice(0, equals))
      const value = equals < 0 ? '' : decodeTarget(pair.slice(equals + 1))
      // Which of two counts would depend on their order, which a signature does not cover.
      if (this.#query.has(name)) throw new Fault('InvalidArgument', { ArgumentName: name })
      this.#query.set(name, value)
    }
    const isV2 = dialect.name === 's3' && this.#query.has('AWSAccessKeyId')
    if (isV2) this.#takePlainFromLink()
    if (isV2 || isSignedIn(query, dialect.scheme)) this.#takeFromLink()
  }

  /**
   * Whoever makes a link signs headers of the dialect into its query, so that whoever uses it need not send them: SDKs
   * do so with metadata, access lists, holds, sources of copies. They count as if they had been sent.
   */
  #takeFromLink(): void {
    const { prefix, scheme } = this.#dialect
    for (const [sent, text] of this.#query) {
      const wire = sent.toLowerCase()
      if (!wire.startsWith(prefix)) continue
      const name = neutralName(this.#dialect, wire)
      if (OF_THE_SIGNATURE.has(name) || ABOUT_THE_BODY.test(name)) continue
      const refuse = (reason: string): never => {
        throw new Fault('InvalidArgument', { ArgumentName: wire, reason })
      }
      if (CUSTOMER_KEY.test(name)) refuse('A customer key must be sent in headers: addresses are kept in logs.')
      const bytes = Buffer.from(text, 'utf8').toString('latin1')
      if (!canBeHeader(sent, bytes)) {
        refuse('A parameter that stands for a header contains characters that no header can.')
      }
      const header = this.#text(name)
      if (header !== undefined && header !== headerText(trimmed(bytes))) {
        refuse('The header and the parameter of the same name differ.')
      }
      this.#headers.set(name, bytes)
    }
    if (this.#headers.has(':content-sha256')) return
    // Policies that refuse unsigned bodies refuse links as well: they are links' usual ones.
    this.#headers.set(':content-sha256', this.#query.get(`${scheme.queryPrefix}Content-Sha256`) ?? UNSIGNED_PAYLOAD)
  }

  /** D31. Signature Version 2 always covers these two, and links of boto3 have them in the query. */
  #takePlainFromLink(): void {
    for (const name of ['content-type', 'content-md5']) {
      const value = this.#query.get(name)
      if (value === undefined || trimmed(this.#headers.get(name) ?? '') !== '') continue
      const bytes = Buffer.from(value, 'utf8').toString('latin1')
      if (!canBeHeader(name, bytes)) throw new Fault('InvalidArgument', { ArgumentName: name })
      this.#headers.set(name, bytes)
    }
  }

  #text(name: string): string | undefined {
    const value = this.#headers.get(name)
    return value === undefined ? undefined : headerText(trimmed(value))
  }

  header(name: string): string | undefined {
    const value = this.#text(name)
    return value === undefined ? undefined : neutralValue(this.#dialect, name, value)
  }

  headersUnder(prefix: string): readonly (readonly [string, string])[] {
    const found: [string, string][] = []
    for (const [name, value] of this.#headers) {
      if (name.startsWith(prefix)) found.push([name.slice(prefix.length), headerText(trimmed(value))])
    }
    return found
  }

  query(name: string): string | undefined {
    return this.#query.get(name)
  }

  get queryNames(): Iterable<string> {
    return this.#query.keys()
  }

  /** A number of bytes that a header announces. */
  byteCount(name: string): number | undefined {
    const value = this.header(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/.test(value)) throw new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: value })
    return Number(value)
  }
}
