import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { Fault } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { checkRead, rangeApplies } from '../../rules/conditional-requests.ts'
import { contentRange, requestedRange } from '../../rules/range.ts'
import type { ObjectHandle } from '../../store/objects/objects.ts'
import type { Header, OperationContext } from '../context.ts'
import { type Decoder, invalidArgument, operation, partNumber, requiresForVersion, versionId } from '../operation.ts'
import { checksumHeaders, describe, expirationHeaders, hasLifecycle, isLocked, lockHeaders } from './attributes.ts'
import { customerKey, noEncryption } from './encryption.ts'

const OVERRIDES = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
].map(name => [name, `response-${name}`] as const)

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

const responseHeaders: Decoder<readonly Header[]> = {
  decode(request) {
    const headers: Header[] = []
    for (const [name, parameter] of OVERRIDES) {
      const value = request.query(parameter)
      if (value === undefined) continue
      // CR or LF would inject a header.
      if (CONTROL.test(value)) throw invalidArgument(parameter, value)
      // Node writes header values as one byte per character.
      headers.push([name, Buffer.from(value, 'utf8').toString('latin1')])
    }
    return headers
  },
}

/** A slow client holds no more memory than a stream would, which buffers at least two frames. */
const WHOLE_BYTES_MAX = 128 * 1024

interface ReadPlan {
  readonly headers: Header[]
  readonly status: number
  readonly start: number
  readonly end: number
}

interface ReadInput {
  readonly versionId: string | undefined
  readonly partNumber: number | undefined
  readonly overrides: readonly Header[]
}

type ByteSelection = Pick<ReadPlan, 'status' | 'start' | 'end'> & { readonly headers: readonly Header[] }

const wantsChecksum = ({ request }: OperationContext): boolean =>
  request.header(':checksum-mode')?.toUpperCase() === 'ENABLED'

/** One part of a completed upload. An object stored in one piece is its own first part. */
async function partRead(ctx: OperationContext, handle: ObjectHandle, number: number): Promise<ByteSelection> {
  const { version } = handle
  if (ctx.request.header('range') !== undefined) {
    throw new Fault('InvalidRequest', { reason: 'Cannot specify both Range header and partNumber query parameter' })
  }
  const part = version.parts === 0 ? undefined : await handle.part(number)
  if (part === undefined && (version.parts > 0 || number > 1)) {
    throw new Fault('InvalidPartNumber', { PartNumberRequested: number, ActualPartCount: Math.max(1, version.parts) })
  }
  const { start, end } = part ?? { start: 0, end: version.size }
  const headers: Header[] = [[':mp-parts-count', version.parts === 0 ? undefined : version.parts]]
  // Content-Range cannot express an empty range, and 206 requires one.
  const status = end > start ? 206 : 200
  if (status === 206) headers.push(['content-range', contentRange({ start, end }, version.size)])
  const { checksum } = version
  if (wantsChecksum(ctx)) {
    if (part === undefined) headers.push(...checksumHeaders(version))
    // A copy may have a checksum of another algorithm than its parts.
    else if (checksum !== undefined && part.algorithm === checksum.algorithm && part.checksum !== undefined) {
      headers.push([`:checksum-${checksum.algorithm.toLowerCase()}`, part.checksum], [':checksum-type', checksum.type])
    }
  }
  return { status, start, end, headers }
}

/**
 * The whole object or one range. The checksum covers the whole; with a range, clients would compare it with the part
 * they got.
 */
function rangeRead(ctx: OperationContext, version: Version): ByteSelection {
  const { request } = ctx
  const rangeHeader = rangeApplies(request.header('if-range'), version) ? request.header('range') : undefined
  const range = rangeHeader === undefined ? undefined : requestedRange(rangeHeader, version.size)
  if (range !== undefined) {
    return { status: 206, ...range, headers: [['content-range', contentRange(range, version.size)]] }
  }
  return { status: 200, start: 0, end: version.size, headers: wantsChecksum(ctx) ? checksumHeaders(version) : [] }
}

/** The headers that describe an object, with the overrides of the request. */
function objectHeaders({ bucket }: OperationContext, version: Version, overrides: readonly Header[]): Header[] {
  const headers = describe(version, bucket.versioning !== 'off')
  if (overrides.length === 0) return headers
  const overridden = new Set(overrides.map(([name]) => name))
  return [...headers.filter(([name]) => !overridden.has(name)), ...overrides]
}

const NOT_MODIFIED_HEADERS = new Set(['etag', 'last-modified', 'cache-control', 'expires', ':version-id'])

/** RFC 9110, 15.4.5: a 304 repeats the validators and caching headers. */
function checkConditions(ctx: OperationContext, version: Version, overrides: readonly Header[]): void {
  const { request } = ctx
  const conditions = {
    ifMatch: request.header('if-match'),
    ifNoneMatch: request.header('if-none-match'),
    ifModifiedSince: request.header('if-modified-since'),
    ifUnmodifiedSince: request.header('if-unmodified-since'),
  }
  if (checkRead(conditions, version) === 'wanted') return
  const headers = objectHeaders(ctx, version, overrides).filter(([name]) => NOT_MODIFIED_HEADERS.has(name))
  throw new Fault('NotModified', {}, headers)
}

/** Headers that depend on further permissions or on the bucket's lifecycle rules. */
async function lockAndExpirationHeaders(
  ctx: OperationContext,
  version: Version,
  input: ReadInput,
): Promise<readonly Header[]> {
  const headers = isLocked(version) ? await lockHeaders(ctx, version) : []
  if (input.versionId === undefined && hasLifecycle(ctx)) {
    const expiring = { ...version, key: ctx.target.key, tags: version.attributes.tags }
    headers.push(...(await expirationHeaders(ctx, expiring)))
  }
  return headers
}

/** Evaluates conditions and range: the bytes to read, and the headers that describe them. */
export function planRead(ctx: OperationContext, handle: ObjectHandle, input: ReadInput): MaybePromise<ReadPlan> {
  const { version } = handle
  checkConditions(ctx, version, input.overrides)
  if (input.partNumber !== undefined || isLocked(version) || hasLifecycle(ctx))
    return planWithLookups(ctx, handle, input)
  const range = rangeRead(ctx, version)
  const headers = objectHeaders(ctx, version, input.overrides)
  for (const header of range.headers) headers.push(header)
  return { status: range.status, start: range.start, end: range.end, headers }
}

/** The slow path, which reads the part table, permissions or lifecycle rules. */
async function planWithLookups(ctx: OperationContext, handle: ObjectHandle, input: ReadInput): Promise<ReadPlan> {
  const { version } = handle
  const { partNumber: number, overrides } = input
  const { status, start, end, headers } =
    number === undefined ? rangeRead(ctx, version) : await partRead(ctx, handle, number)
  const all = objectHeaders(ctx, version, overrides)
  if (isLocked(version) || hasLifecycle(ctx)) all.push(...(await lockAndExpirationHeaders(ctx, version, input)))
  return { status, start, end, headers: [...all, ...headers] }
}

/**
 * A short body is read before the response starts, so that it is sent in one write. A long one is streamed after its
 * first chunk: damage found before any byte was sent becomes an error response.
 */
export function bodyOf(
  handle: ObjectHandle,
  start: number,
  end: number,
  wholeBytesMax = WHOLE_BYTES_MAX,
): MaybePromise<Buffer | AsyncIterable<Buffer>> {
  const inline = handle.inline(start, end)
  if (inline !== undefined) return inline
  return end - start <= wholeBytesMax ? handle.whole(start, end) : handle.readAhead(start, end)
}

/** GetObject and HeadObject have the same input. */
export const readInput = { versionId, partNumber, overrides: responseHeaders, key: customerKey, noEncryption }

export function checkOverrides(ctx: OperationContext, overrides: readonly Header[]): void {
  if (overrides.length > 0 && ctx.caller.kind === 'anonymous') {
    throw new Fault('InvalidRequest', {
      reason: 'Request specific response headers cannot be used for anonymous GET requests.',
    })
  }
}

export const GetObject = operation({
  name: 'GetObject',
  match: { method: 'GET', on: 'object' },
  permission: requiresForVersion('GetObject', 'GetObjectVersion'),
  input: readInput,
  async run(ctx, input) {
    checkOverrides(ctx, input.overrides)
    const handle = await ctx.store.objects.open(ctx.target, input.key?.key)
    try {
      let plan = planRead(ctx, handle, input)
      if (plan instanceof Promise) plan = await plan
      const { headers, status, start, end } = plan
      let body = bodyOf(handle, start, end)
      if (body instanceof Promise) body = await body
      return { status, headers, body, length: end - start }
    } catch (error) {
      handle.close()
      throw error
    }
  },
})
