/**
 * G17. Buckets as websites. On the website host every caller is anonymous, only GET, HEAD and preflights are served,
 * and errors are HTML pages. On a bucket's own host only redirects of objects apply.
 */

import { STATUS_CODES } from 'node:http'
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { ParseCache } from '../lib/parse-cache.ts'
import { parseXml } from '../lib/xml-reader.ts'
import { Fault } from '../model/faults.ts'
import type { Header } from '../operations/context.ts'
import type { OperationResponse } from '../operations/operation.ts'
import { readWebsite, type Website } from '../rules/documents/website.ts'
import {
  folderIndex,
  objectRedirect,
  type Pages,
  pageKey,
  type Redirection,
  redirectBeforeLookup,
  redirectOnError,
  redirectToFolder,
  type WebsiteVisit,
} from '../rules/website.ts'
import type { AccessFacts } from './authorize.ts'
import { preflight } from './cors.ts'
import { DIALECTS, type Dialect, wireName } from './dialect.ts'
import type { Exchange, WireResponse } from './exchange.ts'
import { faultInDialect } from './faults-in-dialect.ts'
import type { RequestState } from './request-state.ts'
import { DecodedRequest, decodeTarget, encodeFault } from './wire-form.ts'

export interface WebsiteHosts {
  /** Websites are served at `<bucket>.<host>` for each host. */
  readonly hosts: readonly string[]
  /** R28. Redirects of objects also apply on a bucket's own host. */
  readonly onBucketHost: boolean
}

/** Reads an object as an anonymous caller. */
export type FetchPage = (request: Omit<RawRequest, 'target'>, key: string) => Promise<OperationResponse>

interface WebsiteRequest {
  readonly request: RawRequest
  readonly bucket: string
  readonly key: string
  readonly secure: boolean
  readonly facts: AccessFacts
  readonly fetch: FetchPage
  readonly dialect: Dialect
}

const METHODS = ['GET', 'HEAD', 'OPTIONS']

const REDIRECT = ':website-redirect-location'
/** The headers of a visitor's request that count; credentials and all others are dropped. */
const FORWARDED = new Set([
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'referer',
  'user-agent',
])
/** Headers kept of an error document; its ETag and date are not those of the requested object. */
const OF_ERRORS = new Set(['content-encoding', 'content-language', 'content-length', 'content-type'])

const read = new ParseCache(text => readWebsite(parseXml(text)))

/** The requested key, empty for the root of the site. */
export function websiteKey({ target }: RawRequest): string {
  const { path } = splitTarget(target)
  if (!path.startsWith('/')) throw new Fault('InvalidURI')
  return decodeTarget(path.slice(1))
}

async function websiteOf(facts: AccessFacts, bucket: string): Promise<Website> {
  const { documents } = await facts.bucket(bucket)
  const text = documents.includes('website') ? await facts.document(bucket, 'website') : undefined
  if (text === undefined) throw new Fault('NoSuchWebsiteConfiguration', { BucketName: bucket })
  return read.get(text)
}

const away = ({ status, location }: Redirection): OperationResponse => ({ status, headers: [['location', location]] })

const headerIn = ({ headers = [] }: OperationResponse, wanted: string): string | undefined => {
  const value = headers.find(([name]) => name === wanted)?.[1]
  return value === undefined ? undefined : String(value)
}

/** Releases a body that is not sent. */
async function giveUp({ body }: OperationResponse): Promise<void> {
  if (body !== undefined && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.()
}

/** R28. The object, or its redirect. */
async function honoured(response: OperationResponse): Promise<OperationResponse> {
  const redirect = headerIn(response, REDIRECT)
  if (redirect === undefined) return response
  await giveUp(response)
  return away(objectRedirect(Buffer.from(redirect, 'latin1').toString('utf8')))
}

const faultIn = (error: unknown): Fault => {
  if (error instanceof Fault) return error
  throw error
}

/** The response to a visitor, and the code of the fault behind an error document or redirect. */
export async function serveWebsite(
  visit: WebsiteRequest,
): Promise<{ readonly response: OperationResponse; readonly code: string }> {
  const { request, bucket, key, secure, facts, fetch } = visit
  const { method } = request
  if (!METHODS.includes(method)) throw new Fault('MethodNotAllowed', { Method: method })
  const website = await websiteOf(facts, bucket)
  if (method === 'OPTIONS') {
    const decoded = new DecodedRequest(request, visit.dialect)
    return { response: { headers: await preflight(facts, { bucket, key, style: 'host' }, decoded) }, code: 'ok' }
  }
  const headers = request.headers.filter(([name]) => FORWARDED.has(name.toLowerCase()))
  const host = headers.find(([name]) => name.toLowerCase() === 'host')![1]
  const visited: WebsiteVisit = {
    key,
    host,
    scheme: secure ? 'https' : 'http',
    query: splitTarget(request.target).query,
  }
  const first = redirectBeforeLookup(website, visited)
  if (first !== undefined) return { response: away(first), code: 'ok' }
  const pages = website as Pages
  try {
    return { response: await honoured(await fetch({ method, headers }, pageKey(pages, key))), code: 'ok' }
  } catch (error) {
    const fault = faultIn(error)
    if (fault.status < 400) throw fault
    return { response: await inPlaceOf(fault, pages, visited, visit), code: fault.code }
  }
}

async function inPlaceOf(
  fault: Fault,
  pages: Pages,
  visited: WebsiteVisit,
  visit: WebsiteRequest,
): Promise<OperationResponse> {
  const { request, fetch, dialect } = visit
  const { status } = fault
  const { key, host } = visited
  const headers = [['host', host]] as const
  const isMissing = status === 404 || status === 403
  if (isMissing && key !== '' && !key.endsWith('/')) {
    const index = await fetch({ method: 'HEAD', headers }, folderIndex(pages, key)).catch(faultIn)
    if (!(index instanceof Fault)) return away(redirectToFolder(visited))
  }
  const redirection = redirectOnError(pages, visited, status)
  if (redirection !== undefined) return away(redirection)
  if (pages.errorKey === undefined || status >= 500) throw fault
  const document = await fetch({ method: request.method, headers }, pages.errorKey).catch(faultIn)
  if (document instanceof Fault) throw fault
  const ownHeaders = (document.headers ?? []).filter(([name]) => OF_ERRORS.has(name))
  return { ...document, status, headers: [...ownHeaders, ...headersOf(fault), ...errorHeaders(fault, dialect)] }
}

/** The error code for programs, beside the HTML page. Visitors sign nothing, so both dialects are sent. */
function errorHeaders(fault: Fault, dialect: Dialect): [string, string][] {
  const { code, message } = faultInDialect(fault, dialect, undefined)
  const text = message.replace(/[^\x20-\x7e]/g, '?')
  return Object.values(DIALECTS).flatMap(one => [
    [wireName(one, ':error-code'), code],
    [wireName(one, ':error-message'), text],
  ])
}

const headersOf = ({ detail }: Fault): Header[] =>
  detail.ActualObjectSize === undefined ? [] : [['content-range', `bytes */${detail.ActualObjectSize}`]]

/** R28. On a bucket's own host, an anonymous plain read follows the object's redirect. */
export async function redirectOnBucketHost(
  response: OperationResponse,
  { bucket, request, facts }: Pick<WebsiteRequest, 'bucket' | 'request' | 'facts'>,
): Promise<OperationResponse> {
  if (headerIn(response, REDIRECT) === undefined || splitTarget(request.target).query !== '') return response
  let isWebsite: boolean
  try {
    isWebsite = (await facts.bucket(bucket)).documents.includes('website')
  } catch (error) {
    await giveUp(response)
    throw error
  }
  return isWebsite ? honoured(response) : response
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A80. A name is rendered as text, whatever its characters. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, sign => ESCAPES[sign]!)

/** A fault as an HTML page. */
export function faultPage(fault: Fault, exchange: Exchange, state: RequestState): WireResponse {
  const plain = encodeFault(fault, exchange, state)
  if (plain.status < 400) return plain
  const { code, message, details } = faultInDialect(fault, state.dialect, undefined)
  const title = `${plain.status} ${STATUS_CODES[plain.status] ?? ''}`.trim()
  const facts = [['Code', code], ['Message', message], ...details, ['RequestId', exchange.requestId]]
  const items = [...facts, ['HostId', exchange.hostId]].map(([name, value]) => `<li>${name}: ${escaped(value!)}</li>`)
  const body = Buffer.from(
    `<!DOCTYPE html>\n<html><head><title>${title}</title></head>\n<body><h1>${title}</h1>\n` +
      `<ul>\n${items.join('\n')}\n</ul></body></html>\n`,
  )
  const kept = plain.headers.filter(([name]) => !['content-type', 'content-length', 'allow'].includes(name))
  const errors = errorHeaders(fault, state.dialect)
  const headers: [string, string][] = [...kept, ['content-type', 'text/html; charset=utf-8'], ...errors]
  if (fault.code === 'MethodNotAllowed') headers.push(['allow', METHODS.join(', ')])
  const isHead = exchange.request.method === 'HEAD'
  if (!isHead) headers.push(['content-length', String(body.length)])
  return { ...plain, headers, body: isHead ? undefined : body }
}
