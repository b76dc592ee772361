/** G16. CORS: the bucket's rules decide preflights, and every other response carries their headers. */
import { ParseCache } from '../lib/parse-cache.ts'
import { parseXml } from '../lib/xml-reader.ts'
import { Fault } from '../model/faults.ts'
import type { Header } from '../operations/context.ts'
import { CORS_METHODS, type CorsRequest, type CorsRule, matchingRule, readCors } from '../rules/documents/cors.ts'
import type { AccessFacts } from './authorize.ts'
import type { Address, DecodedRequest } from './wire-form.ts'

const METHOD = 'access-control-request-method'
const HEADERS = 'access-control-request-headers'
const VARY = 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method'
const REFUSED =
  'CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / ' +
  "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."

const read = new ParseCache(text => readCors(parseXml(text)))

type Rules = readonly CorsRule[] | 'no bucket' | 'no rules'

/** Needs no caller: a browser sends a preflight before it authenticates. */
async function rulesOf(facts: AccessFacts, bucket: string): Promise<Rules> {
  try {
    const { documents } = await facts.bucket(bucket)
    const text = documents.includes('cors') ? await facts.document(bucket, 'cors') : undefined
    return text === undefined ? 'no rules' : read.get(text)
  } catch (error) {
    if (error instanceof Fault) return 'no bucket'
    throw error
  }
}

const headerNames = (text: string | undefined): string[] => {
  const names = (text ?? '').split(',').map(name => name.trim().toLowerCase())
  return [...new Set(names)].filter(name => name !== '')
}

/** A57. A response that any origin may read never carries credentials. */
function allowHeaders(rules: readonly CorsRule[], request: CorsRequest): Header[] | undefined {
  const found = matchingRule(rules, request)
  if (found === undefined) return undefined
  const { rule, anyOrigin } = found
  return [
    ['access-control-allow-origin', anyOrigin ? '*' : request.origin],
    ['access-control-allow-credentials', anyOrigin ? undefined : 'true'],
    ['access-control-allow-methods', rule.methods.join(', ')],
    ['access-control-allow-headers', request.headers.length === 0 ? undefined : request.headers.join(', ')],
    ['access-control-expose-headers', rule.exposed.length === 0 ? undefined : rule.exposed.join(', ')],
    // Browsers treat a negative age as zero; the header does not allow one.
    ['access-control-max-age', rule.maxAgeSeconds === undefined ? undefined : Math.max(0, rule.maxAgeSeconds)],
    ['vary', VARY],
  ]
}

export async function preflight(
  facts: AccessFacts,
  { bucket, key }: Address,
  request: DecodedRequest,
): Promise<Header[]> {
  const origin = request.header('origin')
  const method = request.header(METHOD)
  if (origin === undefined) {
    throw new Fault('BadRequest', { reason: 'Insufficient information. Origin request header needed.' })
  }
  if (method === undefined || !CORS_METHODS.includes(method)) {
    const shown = method === undefined ? 'null' : method.slice(0, 50)
    throw new Fault('BadRequest', { reason: `Invalid Access-Control-Request-Method: ${shown}` })
  }
  const rules = await rulesOf(facts, bucket)
  const place = { Method: method, ResourceType: key === '' ? 'BUCKET' : 'OBJECT' }
  if (rules === 'no bucket') throw new Fault('AccessForbidden', { ...place, reason: 'CORSResponse: Bucket not found' })
  if (rules === 'no rules') {
    throw new Fault('AccessForbidden', { ...place, reason: 'CORSResponse: CORS is not enabled for this bucket.' })
  }
  const headers = allowHeaders(rules, { origin, method, headers: headerNames(request.header(HEADERS)) })
  if (headers === undefined) throw new Fault('AccessForbidden', { ...place, reason: REFUSED })
  return headers
}

/** Response headers for a cross-origin request; empty for all others. */
export async function corsHeaders(
  facts: AccessFacts,
  bucket: string,
  method: string,
  origin: string | undefined,
): Promise<Header[]> {
  if (origin === undefined || bucket === '' || method === 'OPTIONS') return []
  const rules = await rulesOf(facts, bucket)
  if (typeof rules === 'string') return []
  return allowHeaders(rules, { origin, method, headers: [] }) ?? []
}
