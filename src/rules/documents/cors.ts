/** CORS rules of a bucket: parsing, and matching a browser's request. */
import { BadXml, childInteger, children, childText, onlyChildren, rootNamed, type XmlNode } from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import { compileText, matches, type Pattern } from '../access/wildcard.ts'

export interface CorsRule {
  readonly id: string | undefined
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  /** In lower case. */
  readonly headers: readonly Pattern[]
  readonly exposed: readonly string[]
  readonly maxAgeSeconds: number | undefined
}

/** Of a document that is set. Longer ones may have been stored before. */
export const CORS_BYTES_MAX = 64 * 1024
const CORS_RULES_MAX = 100
/** Each is compared with all patterns, for anyone who asks. */
const REQUESTED_HEADERS_MAX = 100
const ID_CHARACTERS_MAX = 255
export const CORS_METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD']
/** Values are sent as headers, so only characters that a header can carry unencoded are accepted. */
const ORIGIN = /^[\x21-\x7e]+$/
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const refused = (reason: string): Fault => new Fault('InvalidRequest', { reason })
const stars = (text: string): number => text.split('*').length - 1

export function readCors(root: XmlNode): CorsRule[] {
  onlyChildren(rootNamed(root, 'CORSConfiguration'), 'CORSRule')
  if (root.children.length === 0 || root.children.length > CORS_RULES_MAX)
    throw new BadXml(`the document must have 1 to ${CORS_RULES_MAX} rules`)
  return root.children.map(readRule)
}

function readRule(rule: XmlNode): CorsRule {
  onlyChildren(rule, 'ID', 'AllowedOrigin', 'AllowedMethod', 'AllowedHeader', 'ExposeHeader', 'MaxAgeSeconds')
  const texts = (name: string): string[] => children(rule, name).map(({ text }) => text)
  const origins = texts('AllowedOrigin')
  const methods = texts('AllowedMethod')
  if (origins.length === 0 || methods.length === 0) throw new BadXml('a rule has no AllowedOrigin or no AllowedMethod')
  const id = childText(rule, 'ID')
  if (id !== undefined && id.length > ID_CHARACTERS_MAX)
    throw refused(`The ID of a rule cannot have more than ${ID_CHARACTERS_MAX} characters`)
  const maxAgeSeconds = childInteger(rule, 'MaxAgeSeconds')
  if (maxAgeSeconds !== undefined && Math.abs(maxAgeSeconds) > 0x7fffffff)
    throw new BadXml('MaxAgeSeconds is out of range')
  const headers = texts('AllowedHeader')
  const exposed = texts('ExposeHeader')
  for (const origin of origins) checkPattern('AllowedOrigin', origin, ORIGIN)
  for (const header of headers) checkPattern('AllowedHeader', header, HEADER)
  for (const method of methods) {
    if (CORS_METHODS.includes(method)) continue
    throw refused(`Found unsupported HTTP method in CORS config. Unsupported method is ${method.slice(0, 50)}`)
  }
  for (const header of exposed) {
    if (!HEADER.test(header)) throw refused('ExposeHeader is not a valid header name.')
    if (stars(header) === 0) continue
    throw refused(`ExposeHeader "${header}" contains wildcard. We currently do not support wildcard for ExposeHeader.`)
  }
  // No name of a header has a question mark, the other wildcard of these patterns.
  const patterns = headers.map(header => compileText(header.toLowerCase()))
  return { id, origins, methods, headers: patterns, exposed, maxAgeSeconds }
}

/** A56. Stored values are later sent to browsers as headers. */
function checkPattern(name: string, value: string, form: RegExp): void {
  if (!form.test(value)) throw refused(`${name} contains characters that are not valid in a header.`)
  if (stars(value) > 1) throw refused(`${name} "${value}" can not have more than one wildcard.`)
}

export interface CorsRequest {
  readonly origin: string
  /** The method used, or requested by a preflight. */
  readonly method: string
  /** Headers requested by a preflight, in lower case, each once. */
  readonly headers: readonly string[]
}

function matchesPattern(pattern: string, text: string): boolean {
  const star = pattern.indexOf('*')
  if (star < 0) return pattern === text
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)]
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after)
}

/** The first rule that allows the request, and whether it allows every origin. */
export function matchingRule(
  rules: readonly CorsRule[],
  request: CorsRequest,
): { readonly rule: CorsRule; readonly anyOrigin: boolean } | undefined {
  if (request.headers.length > REQUESTED_HEADERS_MAX) return undefined
  if (!ORIGIN.test(request.origin) || !request.headers.every(header => HEADER.test(header))) return undefined
  for (const rule of rules) {
    const origin = rule.origins.find(pattern => matchesPattern(pattern, request.origin))
    if (origin === undefined || !rule.methods.includes(request.method)) continue
    if (!request.headers.every(header => rule.headers.some(pattern => matches(pattern, header)))) continue
    return { rule, anyOrigin: origin === '*' }
  }
  return undefined
}
