/** Responses of an S3 server: headers under neutral names, XML documents and errors. */
import type { IncomingHttpHeaders } from 'node:http'
import { SCHEMES } from '../auth/signing.ts'
import { BadXml, childText, type XmlNode } from '../lib/xml.ts'
import { parseXml } from '../lib/xml-reader.ts'

/** By lower-case name; `:` replaces the vendor prefix. */
export type NeutralHeaders = ReadonlyMap<string, string>

const PREFIX = SCHEMES.s3.headerPrefix

export const s3HeaderName = (name: string): string => (name.startsWith(':') ? PREFIX + name.slice(1) : name)

export function neutralHeaders(headers: IncomingHttpHeaders): NeutralHeaders {
  const read = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    const neutral = name.startsWith(PREFIX) ? `:${name.slice(PREFIX.length)}` : name
    read.set(neutral, Array.isArray(value) ? value.join(',') : value)
  }
  return read
}

/** Error codes after which a retry may succeed. */
const TRANSIENT_CODES = ['RequestTimeout', 'SlowDown', 'OperationAborted', 'ConditionalRequestConflict']
const TOO_MANY_REQUESTS = 429
/** Not implemented, and no space: a retry cannot succeed. */
const PERMANENT_STATUSES = [501, 507]

/** The server responded with an error. */
export class RequestRefused extends Error {
  readonly status: number
  readonly code: string
  /** The invalid value, if the error names one. */
  readonly argument: string | undefined

  constructor(status: number, code: string, message: string, argument?: string) {
    super(message)
    this.status = status
    this.code = code
    this.argument = argument
  }

  get isTransient(): boolean {
    if (PERMANENT_STATUSES.includes(this.status)) return false
    return this.status >= 500 || this.status === TOO_MANY_REQUESTS || TRANSIENT_CODES.includes(this.code)
  }
}

/** No response, or an incomplete one. The request may have taken effect. */
export class NoResponse extends Error {}

/** The server's certificate is not trusted. Nothing was sent, and a retry cannot succeed. */
export class Untrusted extends Error {}

/** Error codes of Node and Bun for an invalid certificate. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/

/** Classifies a failed connection. */
export function noResponseOf(host: string, error: Error, caSetting: string): NoResponse | Untrusted {
  const isUntrusted = 'code' in error && UNTRUSTED.test(String(error.code))
  if (!isUntrusted) return new NoResponse(`${host}: ${error.message}`)
  return new Untrusted(`${host} is not trusted: ${error.message}; name its CA certificate with ${caSetting}`)
}

/** The bytes received do not match the digest or the size that the server reported. */
export class ResponseDamaged extends Error {}

export const isTransient = (error: unknown): boolean =>
  error instanceof NoResponse ||
  error instanceof ResponseDamaged ||
  (error instanceof RequestRefused && error.isTransient)

const NODES_MAX = 200_000

/** The XML document of a response. A body that is not XML counts as no response, so that it is retried. */
export function documentOf(body: Buffer): XmlNode {
  try {
    return parseXml(body, NODES_MAX)
  } catch (error) {
    if (error instanceof BadXml) throw new NoResponse(`the response is not valid XML: ${error.message}`)
    throw error
  }
}

/** As `documentOf`, but undefined for a body that is not XML. */
export function maybeDocument(body: Buffer): XmlNode | undefined {
  try {
    return parseXml(body, NODES_MAX)
  } catch (error) {
    if (error instanceof BadXml) return undefined
    throw error
  }
}

/** Reads an error response; that of a HEAD request has no document. */
export function refusalOf(status: number, body: Buffer): RequestRefused {
  try {
    const root = parseXml(body)
    const code = childText(root, 'Code') ?? String(status)
    return new RequestRefused(status, code, childText(root, 'Message') ?? code, childText(root, 'ArgumentValue'))
  } catch {
    return new RequestRefused(status, String(status), `status ${status}`)
  }
}
