/** What an S3 server says: headers under neutral names, a body, or a refusal. */
import type { IncomingHttpHeaders } from 'node:http'
import { SCHEMES } from '../../auth/schemes.ts'
import { BadXml, childText, type XmlNode } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'

/** By lower-case name; the vendor's own begin with `:` instead of the vendor's prefix. */
export type SourceHeaders = ReadonlyMap<string, string>

const PREFIX = SCHEMES.s3.headerPrefix

export const s3HeaderName = (name: string): string => (name.startsWith(':') ? PREFIX + name.slice(1) : name)

export function sourceHeaders(headers: IncomingHttpHeaders): SourceHeaders {
  const said = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    const neutral = name.startsWith(PREFIX) ? `:${name.slice(PREFIX.length)}` : name
    said.set(neutral, Array.isArray(value) ? value.join(',') : value)
  }
  return said
}

/** Neither the request nor the object is at fault: later, the same may well succeed. */
const TRANSIENT_CODES = ['RequestTimeout', 'SlowDown', 'OperationAborted', 'ConditionalRequestConflict']
const TOO_MANY_REQUESTS = 429
/** A server that does not know the question will not know it later. */
const NOT_IMPLEMENTED = 501

/** The server answered, and not with what was asked for. */
export class SourceRefused extends Error {
  readonly status: number
  readonly code: string
  /** The value that the server complains of, when it names one. */
  readonly argument: string | undefined

  constructor(status: number, code: string, message: string, argument?: string) {
    super(message)
    this.status = status
    this.code = code
    this.argument = argument
  }

  get isTransient(): boolean {
    if (this.status === NOT_IMPLEMENTED) return false
    return this.status >= 500 || this.status === TOO_MANY_REQUESTS || TRANSIENT_CODES.includes(this.code)
  }
}

/** No answer, or half of one. What was asked for may have happened. */
export class NoResponse extends Error {}

/** The other side cannot prove who it is, and asking again will not help. Nothing was sent to it. */
export class Untrusted extends Error {}

/** As the two runtimes name what is wrong with a certificate. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/

/** A connection that came to nothing. */
export function noResponseOf(host: string, error: Error): NoResponse | Untrusted {
  const isUntrusted = 'code' in error && UNTRUSTED.test(String(error.code))
  if (!isUntrusted) return new NoResponse(`${host}: ${error.message}`)
  return new Untrusted(`${host} is not trusted: ${error.message}; --ca names the certificate of who vouches for it`)
}

/** Bytes that are not what the source says they are. */
export class SourceDamaged extends Error {}

export const isTransient = (error: unknown): boolean =>
  error instanceof NoResponse || error instanceof SourceDamaged || (error instanceof SourceRefused && error.isTransient)

const NODES_MAX = 200_000

/** An answer's document; what is none is an answer that did not come. */
export function documentOf(body: Buffer): XmlNode {
  try {
    return parseXml(body, NODES_MAX)
  } catch (error) {
    if (error instanceof BadXml) throw new NoResponse(`an answer that is no document: ${error.message}`)
    throw error
  }
}

/** The same, where it may be anything else as well. */
export function maybeDocument(body: Buffer): XmlNode | undefined {
  try {
    return parseXml(body, NODES_MAX)
  } catch (error) {
    if (error instanceof BadXml) return undefined
    throw error
  }
}

/** What a status and an error document say. An answer to HEAD has none. */
export function refusalOf(status: number, body: Buffer): SourceRefused {
  try {
    const root = parseXml(body)
    const code = childText(root, 'Code') ?? String(status)
    return new SourceRefused(status, code, childText(root, 'Message') ?? code, childText(root, 'ArgumentValue'))
  } catch {
    return new SourceRefused(status, String(status), `status ${status}`)
  }
}
