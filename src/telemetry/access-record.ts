/** Formats a request as a line of an S3 server access log. */
import { wireName } from '../edge/dialect.ts'
import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { headerValue, headerValues, splitTarget } from '../http/raw-request.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Match } from '../operations/operation.ts'
import { userArn } from '../rules/access/names.ts'

const NONE = '-'
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

const two = (value: number): string => String(value).padStart(2, '0')

function timeOf(now: number): string {
  const at = new Date(now)
  const day = `${two(at.getUTCDate())}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}`
  return `[${day}:${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())} +0000]`
}

/** Percent-encodes characters that would end a field or the line. */
const escaped = (text: string, unsafe: RegExp): string =>
  text.replace(unsafe, c =>
    Array.from(Buffer.from(c), byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )

const quoted = (text: string | undefined): string =>
  text === undefined || text === '' ? '"-"' : `"${escaped(text, /[^\x20\x21\x23-\x7e]/gu)}"`

const word = (text: string | undefined): string =>
  text === undefined || text === '' ? NONE : escaped(text, /[^\x21\x23-\x7e]/gu)

const keyWord = (key: string): string => (key === '' ? NONE : escaped(key, /[^\x21\x23\x24\x26-\x7e]/gu))

/** A reader of the log could reuse a link that contains these. */
const SECRET = /(^|-)(signature|security-token|customer-key)$/i

function withoutSecrets(target: string): string {
  const { path, query } = splitTarget(target)
  if (query === '') return target
  const pairs = query.split('&').map(pair => {
    const [name = '', ...rest] = pair.split('=')
    return rest.length > 0 && SECRET.test(decoded(name)) ? `${name}=REDACTED` : pair
  })
  return `${path}?${pairs.join('&')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** `REST.GET.OBJECT`: the verb and the resource or sub-resource. */
function operationOf(match: Match | undefined, method: string): string {
  if (match === undefined) return `REST.${word(method)}.UNKNOWN`
  const needs = match.requires ?? []
  const verb = needs.includes(':copy-source') ? 'COPY' : match.method
  const query = needs.find(need => need.startsWith('?'))?.slice(1)
  if (needs.includes('?partNumber')) return `REST.${verb}.PART`
  if (query === 'uploadId') return `REST.${verb}.UPLOAD`
  if (query === 'delete') return `REST.${verb}.MULTI_OBJECT_DELETE`
  const isList = query === undefined || query.startsWith('list-type')
  return `REST.${verb}.${isList ? match.on.toUpperCase() : query.toUpperCase().replace(/[^A-Z]/g, '_')}`
}

function requesterOf(caller: Caller | undefined): string {
  if (caller === undefined || caller.kind === 'anonymous') return NONE
  const { accountId, canonicalId } = caller.account
  return caller.kind === 'user' ? userArn(accountId, caller.user.name) : canonicalId
}

function objectBytes({ response, body }: RequestState, { request, status }: ExchangeRecord, isObject: boolean): string {
  if (!isObject || status >= 300) return NONE
  // Without the frames of a body in chunks.
  if (request.method === 'PUT') return String(body.length ?? NONE)
  const header = (name: string): string | undefined => response.headers.find(([sent]) => sent === name)?.[1]
  return header('content-range')?.split('/')[1] ?? header('content-length') ?? NONE
}

function authenticationOf(
  { caller, signatureVersion }: RequestState,
  { request }: ExchangeRecord,
): readonly [version: string, type: string] {
  if (caller === undefined || caller.kind === 'anonymous') return [NONE, NONE]
  const version = signatureVersion === 'AWS' ? 'SigV2' : 'SigV4'
  return [version, headerValues(request, 'authorization').length > 0 ? 'AuthHeader' : 'QueryString']
}

export function accessRecord(bucket: Bucket, state: RequestState, exchange: ExchangeRecord, now: number): string {
  const { request, requestId, hostId, status, tls } = exchange
  const key = state.resource.slice(bucket.name.length + 2)
  const match = state.operation?.match
  const isPlainObject = match?.on === 'object' && (match.requires ?? []).length === 0
  const [signature, type] = authenticationOf(state, exchange)
  const versionId = state.response.headers.find(([name]) => name === wireName(state.dialect, ':version-id'))?.[1]
  const fields = [
    bucket.owner,
    bucket.name,
    timeOf(now),
    word(exchange.remoteAddress.replace(/^::ffff:/, '')),
    word(requesterOf(state.caller)),
    requestId,
    match === undefined && state.operationName !== 'unknown'
      ? `WEBSITE.${word(request.method)}.OBJECT`
      : operationOf(match, request.method),
    keyWord(key),
    quoted(`${request.method} ${withoutSecrets(request.target)} HTTP/1.1`),
    String(status),
    state.code === 'ok' ? NONE : word(state.code),
    exchange.sentBytes === 0 ? NONE : String(exchange.sentBytes),
    objectBytes(state, exchange, isPlainObject),
    String(Math.round(exchange.totalMilliseconds)),
    String(Math.round(exchange.milliseconds)),
    // The page may have been opened by a presigned URL itself.
    quoted(withoutSecrets(headerValue(request, 'referer') ?? '')),
    quoted(headerValue(request, 'user-agent')),
    word(versionId),
    word(hostId),
    signature,
    word(tls?.cipher),
    type,
    word(headerValue(request, 'host')),
    tls?.version === undefined ? NONE : `TLSv${tls.version}`,
    NONE,
    NONE,
  ]
  return `${fields.join(' ')}\n`
}
