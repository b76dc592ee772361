/**
 * The wire form of requests and responses in their dialect. A request is decoded once (R3): the bucket and key it
 * addresses, from its Host and raw path, and its headers and query by neutral names; keys are bytes as sent, never
 * normalised. An operation's response, or a fault, is encoded from neutral names.
 */

import { Buffer } from 'node:buffer'
import { isSignedIn, queryIn, UNSIGNED_PAYLOAD } from '../auth/signing.ts'
import { canBeHeader, headerText, headerValues, type RawRequest, splitTarget, trimmed } from '../http/raw-request.ts'
import { renderXml, type XmlDocument } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { Header, RequestView } from '../operations/context.ts'
import type { Operation, OperationResponse } from '../operations/operation.ts'
import { isBucketName } from '../rules/naming.ts'
import { type Dialect, neutralNameSent, neutralValue, ownNameSent, wireName, wireValue } from './dialect.ts'
import type { Exchange, WireResponse } from './exchange.ts'
import { faultInDialect } from './faults-in-dialect.ts'

export interface Address {
  /** Both are empty for the service itself; the key is empty for a bucket. */
  readonly bucket: string
  readonly key: string
  /** An alias is a host with the name of a bucket; whether that bucket exists is not known yet. */
  readonly style: 'host' | 'path' | 'alias'
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const ESCAPE = /%([0-9a-fA-F]{2})|%/g
const BEYOND_ASCII = /[\x80-\xff]/

/** Percent-decodes one part of a target; a result that is not UTF-8, or contains a zero byte, is refused. */
export function decodeTarget(text: string): string {
  const isAscii = !BEYOND_ASCII.test(text)
  if (isAscii && !text.includes('%')) return text
  if (text.includes('%00')) throw new Fault('InvalidURI')
  try {
    return isAscii ? decodeURIComponent(text) : utf8.decode(unescapedBytes(text))
  } catch {
    throw new Fault('InvalidURI')
  }
}

/** Some clients send bytes beyond ASCII without escaping them. */
function unescapedBytes(text: string): Buffer {
  const bytes = text.replace(ESCAPE, (_, hex?: string) => {
    if (hex === undefined) throw new Fault('InvalidURI')
    return String.fromCharCode(Number.parseInt(hex, 16))
  })
  return Buffer.from(bytes, 'latin1')
}

/** Undefined for a value that names no host. A trailing dot, as in a fully qualified name, is dropped. */
const hostIn = (sent: string): string | undefined =>
  /^[A-Za-z0-9\-_]+(\.[A-Za-z0-9\-_]+)*\.?(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(sent)
    ? sent.replace(/\.?(:\d+)?$/, '').toLowerCase()
    : undefined

/** The host without its port, in lower case. */
export function hostOf(request: RawRequest): string {
  const hosts = headerValues(request, 'host')
  const host = hosts.length === 1 ? hostIn(hosts[0]!) : undefined
  if (host === undefined) throw new Fault('InvalidRequest', { reason: 'The Host header is missing or malformed' })
  return host
}

/** The labels before the longest matching base name; undefined when the host is below none of them. */
export function labelBelow(host: string, names: readonly string[]): string | undefined {
  let found: string | undefined
  for (const name of names) {
    if (host.length <= name.length + 1 || !host.endsWith(name) || host[host.length - name.length - 1] !== '.') continue
    const label = host.slice(0, -name.length - 1)
    if (found === undefined || label.length < found.length) found = label
  }
  return found
}

/**
 * R4. A host with a bucket's name (a CNAME) must contain a dot. A single label names a machine or container: a bucket
 * of that name would receive the requests that others send there.
 */
const couldBeBucket = (host: string): boolean => host.includes('.') && isBucketName(host)

function pathOf(request: RawRequest): string {
  const { path } = splitTarget(request.target)
  if (!path.startsWith('/')) throw new Fault('InvalidURI')
  return path
}

/**
 * The bucket that a Host header names, as far as its text alone tells: empty if the path names it, undefined if that
 * depends on more.
 */
export function bucketOfHost(
  sent: string,
  baseHosts: readonly string[],
  websiteHosts: readonly string[],
): string | undefined {
  const host = hostIn(sent)
  if (host === undefined || labelBelow(host, websiteHosts) !== undefined) return undefined
  if (host === 'localhost' || baseHosts.includes(host)) return ''
  const label = labelBelow(host, baseHosts)
  if (label !== undefined) return isBucketName(label) ? label : undefined
  return couldBeBucket(host) ? undefined : ''
}

/** R3, D20. The bucket is in the host or in the path. */
export function addressOf(request: RawRequest, baseHosts: readonly string[]): Address {
  const host = hostOf(request)
  if (host === 'localhost' || baseHosts.includes(host)) return pathAddress(request)
  const label = labelBelow(host, baseHosts)
  if (label !== undefined) {
    if (!isBucketName(label)) throw noSuchLabel(host, label)
    return { bucket: label, key: decodeTarget(pathOf(request).slice(1)), style: 'host' }
  }
  if (couldBeBucket(host)) return { bucket: host, key: decodeTarget(pathOf(request).slice(1)), style: 'alias' }
  return pathAddress(request)
}

const noSuchLabel = (host: string, label: string): Fault =>
  new Fault('InvalidRequest', { reason: `The Host ${host} names no bucket: ${label} is not a valid bucket name.` })

/** R4. On a host that is not a bucket's, the bucket is the first path segment. */
export function pathAddress(request: RawRequest): Address {
  const rest = pathOf(request).slice(1)
  if (rest.startsWith('/')) throw new Fault('InvalidURI')
  const slash = rest.indexOf('/')
  const bucket = decodeTarget(slash < 0 ? rest : rest.slice(0, slash))
  return { bucket, key: slash < 0 ? '' : decodeTarget(rest.slice(slash + 1)), style: 'path' }
}

const encoded = (key: string): string => encodeURIComponent(key).replaceAll('%2F', '/')

/** R88. The URL of the target, in the addressing style of the request. */
export function locationOf({ bucket, key, style }: Address, request: RequestView, secure: boolean): string {
  const host = `${secure ? 'https' : 'http'}://${request.header('host') ?? ''}`
  return style === 'path' ? `${host}/${bucket}/${encoded(key)}` : `${host}/${encoded(key)}`
}

const OF_THE_SIGNATURE: ReadonlySet<string> = new Set(
  ['algorithm', 'credential', 'date', 'expires', 'signedheaders', 'signature', 'security-token'].map(
    name => `:${name}`,
  ),
)
/** Presigned URLs are created before the body exists; some SDKs sign the checksum of an empty one into them. */
const ABOUT_THE_BODY = /^:(content-sha256|decoded-content-length|trailer|sdk-checksum-algorithm|checksum-(crc|sha).*)$/
const CUSTOMER_KEY = /-customer-key(-md5)?$/

const NO_QUERY = new Map<string, string>()

/** A request's headers and query, decoded once and looked up by neutral names. */
export class DecodedRequest implements RequestView {
  readonly #dialect: Dialect
  /** Raw values by neutral name: most are never read. */
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
      // Which of two values applies would depend on their order, which a signature does not cover.
      if (this.#query.has(name)) throw new Fault('InvalidArgument', { ArgumentName: name })
      this.#query.set(name, value)
    }
    const isV2 = dialect.name === 's3' && this.#query.has('AWSAccessKeyId')
    if (isV2) this.#takePlainFromLink()
    if (isV2 || isSignedIn(query, dialect.scheme)) this.#takeFromLink()
  }

  /**
   * A presigned URL carries dialect headers in its query, so that its user need not send them: SDKs do this with
   * metadata, ACLs, holds and copy sources. They count as sent headers.
   */
  #takeFromLink(): void {
    const { scheme } = this.#dialect
    for (const [sent, text] of this.#query) {
      const name = ownNameSent(this.#dialect, sent)
      if (name === undefined || OF_THE_SIGNATURE.has(name) || ABOUT_THE_BODY.test(name)) continue
      const refuse = (reason: string): never => {
        throw new Fault('InvalidArgument', { ArgumentName: sent.toLowerCase(), reason })
      }
      if (CUSTOMER_KEY.test(name)) refuse('A customer key must be sent in headers: URLs are kept in logs.')
      const bytes = Buffer.from(text, 'utf8').toString('latin1')
      if (!canBeHeader(sent, bytes)) {
        refuse('A query parameter that stands for a header contains characters that a header cannot have.')
      }
      const header = this.#text(name)
      if (header !== undefined && header !== headerText(trimmed(bytes))) {
        refuse('The header and the query parameter of the same name differ.')
      }
      this.#headers.set(name, bytes)
    }
    if (this.#headers.has(':content-sha256')) return
    // Policies that refuse unsigned payloads also refuse presigned URLs, which usually have one.
    this.#headers.set(':content-sha256', this.#query.get(`${scheme.queryPrefix}Content-Sha256`) ?? UNSIGNED_PAYLOAD)
  }

  /** D31. Signature Version 2 always covers these two, and boto3 puts them into the query of presigned URLs. */
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

  byteCount(name: string): number | undefined {
    const value = this.header(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/.test(value)) throw new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: value })
    return Number(value)
  }
}

const isXml = (body: NonNullable<OperationResponse['body']>): body is XmlDocument => 'root' in body

/** Node expects one character per byte in a header; any other text would throw and end the process. */
const onWire = (value: string): string =>
  /[^\0-\xff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value

export function wireHeaders(headers: readonly Header[], dialect: Dialect): [string, string][] {
  const out: [string, string][] = []
  for (const [name, value] of headers) {
    if (value === undefined) continue
    // Plain headers have the same name and value in every dialect.
    if (!name.startsWith(':')) out.push([name, typeof value === 'number' ? String(value) : onWire(value)])
    else out.push([wireName(dialect, name), onWire(wireValue(dialect, name, String(value)))])
  }
  return out
}

function encodeBody(from: OperationResponse, dialect: Dialect): WireResponse {
  const headers = wireHeaders(from.headers ?? [], dialect)
  const { body } = from
  if (body === undefined) {
    const status = from.status ?? 200
    // Otherwise Node would send an empty chunked body.
    if (status !== 204 && !headers.some(([name]) => name === 'content-length')) headers.push(['content-length', '0'])
    return { status, headers, body: undefined, close: false }
  }
  if (isXml(body)) {
    const bytes = renderXml(body, dialect.namespace)
    headers.push(['content-type', 'application/xml'], ['content-length', String(bytes.length)])
    return { status: from.status ?? 200, headers, body: bytes, close: false }
  }
  const length = from.length ?? (Buffer.isBuffer(body) ? body.length : undefined)
  if (length !== undefined) headers.push(['content-length', String(length)])
  return { status: from.status ?? 200, headers, body, close: false }
}

export const withHeaders = (response: OperationResponse, more: readonly Header[]): OperationResponse =>
  more.length === 0 ? response : { ...response, headers: [...(response.headers ?? []), ...more] }

/** The part of a request's state that its response depends on. */
interface ResponseForm {
  readonly dialect: Dialect
  readonly cors: readonly Header[]
  readonly bucketRegion: string | undefined
}

/** D28. */
export function regionHeader({ bucketRegion, dialect }: Omit<ResponseForm, 'cors'>): [string, string][] {
  if (bucketRegion === undefined || !dialect.behavior.regionOnResponses) return []
  return [[wireName(dialect, ':bucket-region'), bucketRegion]]
}

/** Encodes a success, with the headers that every response to the request carries. */
export function encodeResponse(response: OperationResponse, form: ResponseForm): WireResponse {
  const encoded = encodeBody(withHeaders(response, form.cors), form.dialect)
  if (form.bucketRegion !== undefined) encoded.headers.push(...regionHeader(form))
  return encoded
}

/** The part of a request's state that its error document names. */
interface FaultedRequest {
  readonly dialect: Dialect
  readonly resource: string
  readonly operation: Operation | undefined
}

/** R117. The error document. */
export function encodeFault(
  fault: Fault,
  { requestId, hostId, request }: Pick<Exchange, 'requestId' | 'hostId' | 'request'>,
  { dialect, resource, operation }: FaultedRequest,
): WireResponse {
  const isHead = request.method === 'HEAD'
  const headers = wireHeaders(fault.headers, dialect)
  const { deleteMarker, markerId, allow } = fault.detail
  if (deleteMarker === true) headers.push([wireName(dialect, ':delete-marker'), 'true'])
  if (markerId !== undefined) headers.push([wireName(dialect, ':version-id'), String(markerId)])
  if (fault.code === 'NotModified') return { status: 304, headers, body: undefined, close: false }
  if (fault.code === 'InvalidRange') headers.push(['content-range', `bytes */${fault.detail.ActualObjectSize ?? '*'}`])
  // An empty `Allow` means that no method is allowed.
  if (fault.code === 'MethodNotAllowed') headers.push(['allow', deleteMarker === true ? 'DELETE' : String(allow ?? '')])
  const { code, status, message, details } = faultInDialect(fault, dialect, operation)
  const body = renderXml({
    root: 'Error',
    write(to) {
      to.leaf('Code', code)
      to.leaf('Message', message)
      for (const [name, value] of details) to.leaf(name, value)
      to.leaf('Resource', resource)
      to.leaf('RequestId', requestId)
      to.leaf('HostId', hostId)
    },
  })
  headers.push(['content-type', 'application/xml'])
  if (!isHead) headers.push(['content-length', String(body.length)])
  return { status, headers, body: isHead ? undefined : body, close: fault.detail.close === true, message }
}
