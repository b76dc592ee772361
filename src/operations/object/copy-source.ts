/** The source of a copy: its name, permissions and conditions. */
import { Fault } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import { checkCopySource, type ReadConditions } from '../../rules/conditional-requests.ts'
import { type CopySource, copySourceOf, parseCopySource } from '../../rules/copy-source.ts'
import { formatHttpDate, parseHttpDate, parseTimestamp } from '../../rules/http-date.ts'
import { LIMITS } from '../../rules/limits.ts'
import { isBucketName } from '../../rules/naming.ts'
import type { Header, OperationContext, RequestView } from '../context.ts'
import type { Decoder, RequiredPermission } from '../operation.ts'
import { checkExpectedOwner, invalidArgument } from '../operation.ts'

export const copySource: Decoder<CopySource> = { decode: request => copySourceOf(request.header(':copy-source') ?? '') }

/** R60. Empty for a source that names no object: decoding refuses it later. */
export function sourcePermissions(request: RequestView): readonly RequiredPermission[] {
  const on = parseCopySource(request.header(':copy-source') ?? '')
  if (on === undefined || !isBucketName(on.bucket)) return []
  return [{ action: on.versionId === undefined ? 'GetObject' : 'GetObjectVersion', on }]
}

/** A date in header or document format. HTTP ignores conditions with an invalid date; a write must not. */
function sourceDate(request: RequestView, name: string): string | undefined {
  const sent = request.header(`:${name}`)
  if (sent === undefined || parseHttpDate(sent) !== undefined) return sent
  const at = parseTimestamp(sent)
  if (at === undefined)
    throw invalidArgument(headerName(name), sent, `The value of ${headerName(name)} is not a valid date.`)
  return formatHttpDate(at)
}

/** R49. */
export const sourceConditions: Decoder<ReadConditions> = {
  decode: request => ({
    ifMatch: request.header(':copy-source-if-match'),
    ifNoneMatch: request.header(':copy-source-if-none-match'),
    ifModifiedSince: sourceDate(request, 'copy-source-if-modified-since'),
    ifUnmodifiedSince: sourceDate(request, 'copy-source-if-unmodified-since'),
  }),
}

interface CopySourceBucket {
  readonly isVersioned: boolean
  /** R8. The caller pays for the read, and the target does not already cause the header that says so. */
  readonly isCharged: boolean
}

/** R7, R8. Checks the owner of the source's bucket, and that a caller who must pay agreed to. */
export async function enterSource(ctx: OperationContext, source: CopySource): Promise<CopySourceBucket> {
  const bucket = await ctx.store.buckets.get(source.bucket)
  checkExpectedOwner(ctx.request.header(':source-expected-bucket-owner'), bucket.owner, ctx)
  const pays = bucket.requesterPays && bucket.owner !== ctx.callerId
  if (pays && (ctx.caller.kind === 'anonymous' || ctx.request.header(':request-payer') !== 'requester')) {
    throw new Fault('AccessDenied')
  }
  const paysTarget = ctx.bucket.requesterPays && ctx.bucket.owner !== ctx.callerId
  return { isVersioned: bucket.versioning !== 'off', isCharged: pays && !paysTarget }
}

export const sourceHeaders = ({ isVersioned, isCharged }: CopySourceBucket, source: Version): Header[] => [
  [':copy-source-version-id', isVersioned ? source.id : undefined],
  [':request-charged', isCharged ? 'requester' : undefined],
]

/** R49, R54, R58. Refuses a source that must not be copied. */
export function checkSource(conditions: ReadConditions, hasKey: boolean, source: Version): void {
  checkCopySource(conditions, source)
  const isCustomers = source.encryption?.by === 'customer'
  if (isCustomers !== hasKey) {
    const reason = isCustomers
      ? 'The object was stored using a form of Server Side Encryption. The correct parameters must be provided.'
      : 'The encryption parameters are not applicable to this object.'
    throw new Fault('InvalidRequest', { reason })
  }
}

/** R58, D6. */
export function checkSourceSize(ctx: OperationContext, size: number): void {
  const max = LIMITS.copyBytesMax
  if (size <= max) return
  if (ctx.behavior.copyTooLarge === 'EntityTooLarge') {
    throw new Fault('EntityTooLarge', { ProposedSize: size, MaxSizeAllowed: max })
  }
  const reason = `The specified copy source is larger than the maximum allowable size for a copy source: ${max}`
  throw new Fault('InvalidRequest', { reason })
}

/** R44. A delete marker is not a valid source. */
export async function readingSource<T>(copy: () => Promise<T>): Promise<T> {
  try {
    return await copy()
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'MethodNotAllowed' && error.detail.deleteMarker === true))
      throw error
    const reason = 'The source of a copy request may not specifically refer to a delete marker by version id.'
    throw new Fault('InvalidRequest', { reason })
  }
}
