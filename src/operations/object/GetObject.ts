import { andFinally, andThen, type MaybePromise, orElse } from '../../lib/maybe-promise.ts'
import { Fault } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { checkRead, rangeApplies } from '../../rules/conditions.ts'
import { contentRange, requestedRange } from '../../rules/range.ts'
import type { ObjectHandle } from '../../store/objects/object-handle.ts'
import type { OperationScope } from '../context.ts'
import { partNumber, versionId } from '../inputs.ts'
import { type Header, needsVersion, type OperationResponse, operation } from '../operation.ts'
import { checksumHeaders, describe, isLocked, lockHeaders } from './attributes.ts'
import { customerKey } from './customer-key.ts'
import { noSealing } from './encryption.ts'
import { expirationHeaders, hasLifecycle } from './lifecycle.ts'
import { responseHeaders } from './response-headers.ts'

/** A client that takes its time keeps no more in memory than by a stream, which has two frames at least. */
const WHOLE_BYTES_MAX = 128 * 1024

interface Reading {
  readonly headers: Header[]
  readonly status: number
  readonly start: number
  readonly end: number
}

interface Asked {
  readonly versionId: string | undefined
  readonly partNumber: number | undefined
  readonly overrides: readonly Header[]
}

type Stretch = Pick<Reading, 'status' | 'start' | 'end'> & { readonly headers: readonly Header[] }

const wantsChecksum = ({ request }: OperationScope): boolean =>
  request.header(':checksum-mode')?.toUpperCase() === 'ENABLED'

/** One part of a completed upload. An object that came in one piece is its own first part. */
async function partRead(ctx: OperationScope, handle: ObjectHandle, number: number): Promise<Stretch> {
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
  // A range of no bytes cannot be written down.
  if (end > start) headers.push(['content-range', contentRange({ start, end }, version.size)])
  const { checksum } = version
  if (wantsChecksum(ctx)) {
    if (part === undefined) headers.push(...checksumHeaders(version))
    // A copy may have got a checksum by another algorithm, of which its parts have none.
    else if (checksum !== undefined && part.algorithm === checksum.algorithm && part.checksum !== undefined) {
      headers.push([`:checksum-${checksum.algorithm.toLowerCase()}`, part.checksum], [':checksum-type', checksum.type])
    }
  }
  return { status: 206, start, end, headers }
}

/** All of it or one range. A checksum is of the whole: with a range, clients would hold it against the piece. */
function rangeRead(ctx: OperationScope, version: Version): Stretch {
  const { request } = ctx
  const asked = rangeApplies(request.header('if-range'), version) ? request.header('range') : undefined
  const range = asked === undefined ? undefined : requestedRange(asked, version.size)
  if (range !== undefined) {
    return { status: 206, ...range, headers: [['content-range', contentRange(range, version.size)]] }
  }
  return { status: 200, start: 0, end: version.size, headers: wantsChecksum(ctx) ? checksumHeaders(version) : [] }
}

/** What is said about an object, with what the asker wants said instead. */
function described({ bucket }: OperationScope, version: Version, overrides: readonly Header[]): Header[] {
  const headers = describe(version, bucket.versioning !== 'off')
  if (overrides.length === 0) return headers
  const overridden = new Set(overrides.map(([name]) => name))
  return [...headers.filter(([name]) => !overridden.has(name)), ...overrides]
}

const OF_UNCHANGED = new Set(['etag', 'last-modified', 'cache-control', 'expires', ':version-id'])

/** RFC 9110, 15.4.5: a client that has the object learns anew which one it is, and how long it may be kept. */
function checkConditions(ctx: OperationScope, version: Version, overrides: readonly Header[]): void {
  const { request } = ctx
  const conditions = {
    ifMatch: request.header('if-match'),
    ifNoneMatch: request.header('if-none-match'),
    ifModifiedSince: request.header('if-modified-since'),
    ifUnmodifiedSince: request.header('if-unmodified-since'),
  }
  if (checkRead(conditions, version) === 'wanted') return
  const said = described(ctx, version, overrides).filter(([name]) => OF_UNCHANGED.has(name))
  throw new Fault('NotModified', {}, said)
}

/** What is said of it that takes a look elsewhere: at permissions, or at the bucket's rules. */
async function lookedUp(ctx: OperationScope, version: Version, asked: Asked): Promise<readonly Header[]> {
  const headers = isLocked(version) ? await lockHeaders(ctx, version) : []
  if (asked.versionId === undefined && hasLifecycle(ctx)) {
    const expiring = { ...version, key: ctx.target.key, tags: version.attributes.tags }
    headers.push(...(await expirationHeaders(ctx, expiring)))
  }
  return headers
}

/** Conditions and range: what of the object is read, and what is said about it. */
function reading(ctx: OperationScope, handle: ObjectHandle, asked: Asked): MaybePromise<Reading> {
  const { version } = handle
  const { partNumber: number, overrides } = asked
  checkConditions(ctx, version, overrides)
  return andThen(number === undefined ? rangeRead(ctx, version) : partRead(ctx, handle, number), stretch => {
    const { status, start, end } = stretch
    const headers = described(ctx, version, overrides)
    if (!isLocked(version) && !hasLifecycle(ctx)) {
      for (const header of stretch.headers) headers.push(header)
      return { status, start, end, headers }
    }
    return andThen(lookedUp(ctx, version, asked), more => {
      headers.push(...more, ...stretch.headers)
      return { status, start, end, headers }
    })
  })
}

/**
 * A short body is read before the answer begins, so that it goes out in one piece. A long one is read while it is
 * sent, but for its first piece: damage that is found before any byte was sent is answered with an error.
 */
function bodyOf(
  handle: ObjectHandle,
  start: number,
  end: number,
): MaybePromise<NonNullable<OperationResponse['body']>> {
  const inline = handle.inline(start, end)
  if (inline !== undefined) return inline
  return end - start <= WHOLE_BYTES_MAX ? handle.whole(start, end) : handle.readAhead(start, end)
}

const input = { versionId, partNumber, overrides: responseHeaders, key: customerKey, noSealing }

function checkOverrides(ctx: OperationScope, overrides: readonly Header[]): void {
  if (overrides.length > 0 && ctx.caller.kind === 'anonymous') {
    throw new Fault('InvalidRequest', {
      reason: 'Request specific response headers cannot be used for anonymous GET requests.',
    })
  }
}

export const GetObject = operation({
  name: 'GetObject',
  match: { method: 'GET', on: 'object' },
  permission: needsVersion('GetObject', 'GetObjectVersion'),
  input,
  run(ctx, asked): MaybePromise<OperationResponse> {
    checkOverrides(ctx, asked.overrides)
    return andThen(ctx.store.objects.reach(ctx.target, asked.key?.key), handle =>
      orElse(
        () =>
          andThen(reading(ctx, handle, asked), ({ headers, status, start, end }) =>
            andThen(bodyOf(handle, start, end), body => ({ status, headers, body, length: end - start })),
          ),
        error => {
          handle.close()
          throw error
        },
      ),
    )
  },
})

export const HeadObject = operation({
  name: 'HeadObject',
  match: { method: 'HEAD', on: 'object' },
  permission: needsVersion('GetObject', 'GetObjectVersion'),
  input,
  run(ctx, asked): MaybePromise<OperationResponse> {
    checkOverrides(ctx, asked.overrides)
    // Opened as for reading: the key must be right, and the table of parts must stay while it is looked at.
    return andThen(ctx.store.objects.reach(ctx.target, asked.key?.key), handle =>
      andFinally(
        () =>
          andThen(reading(ctx, handle, asked), ({ headers, status, start, end }) => {
            headers.push(['content-length', end - start])
            return { status, headers }
          }),
        () => handle.close(),
      ),
    )
  },
})
