import { Fault, notImplemented } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import { checksumAlgorithm } from '../../rules/checksum.ts'
import { LIMITS } from '../../rules/limits.ts'
import { contentRange } from '../../rules/range.ts'
import type { OperationContext, RequestView } from '../context.ts'
import { checkIntegrityHeaders, integrityChecks } from '../integrity.ts'
import { operation, writePrecondition } from '../operation.ts'
import {
  checkLock,
  checksumHeaders,
  newObjectInputs,
  newObjectPermissions,
  newVersionHeaders,
  ownerAndGrants,
  tagSet,
} from './attributes.ts'
import { effectiveEncryption } from './encryption.ts'

/** R72. The length of an object's or part's body; one that is too long is refused before it is read. */
export function bodyLength(ctx: OperationContext, max: number): number {
  const { length } = ctx.body
  if (length === undefined) throw new Fault('MissingContentLength')
  if (length > max) throw new Fault('EntityTooLarge', { ProposedSize: length, MaxSizeAllowed: max })
  return length
}

/** A request with copy headers but no source must not store its body instead. */
export function refuseMissingSource(request: RequestView): void {
  const [orphan] = request.headersUnder(':copy-source-')
  if (orphan === undefined) return
  const [sent, missing] = [headerName(`copy-source-${orphan[0]}`), headerName('copy-source')]
  throw new Fault('InvalidRequest', { reason: `${sent} requires ${missing}.` })
}

/** RFC 9110, 14.5. The rest of an upload that a client resumes must not take the place of the whole object. */
function refuseRest({ request }: OperationContext, length: number): void {
  const sent = request.header('content-range')
  if (sent === undefined || sent === contentRange({ start: 0, end: length }, length)) return
  throw notImplemented('header', 'content-range')
}

const inputs = { ...newObjectInputs, tags: tagSet, precondition: writePrecondition }

type PutInput = { readonly [K in keyof typeof inputs]: ReturnType<(typeof inputs)[K]['decode']> }

/** Stores the body as one object, for PutObject and PostObject. */
export async function putObject(
  ctx: OperationContext,
  input: PutInput,
  bytesExpected: number | undefined,
): Promise<Version> {
  const { requestedEncryption, lock, precondition, headers, metadata, tags, redirect, storageClass } = input
  const { owner, grants } = ownerAndGrants(ctx)
  checkLock(ctx, lock)
  checkIntegrityHeaders(ctx)
  const algorithm = ctx.request.header(':checksum-algorithm')
  const inspection = integrityChecks(
    ctx.request,
    ctx.body,
    algorithm === undefined ? undefined : checksumAlgorithm(algorithm),
  )
  // A locked object cannot be replaced, so its bytes must be verified.
  const isRetained = lock.retention !== undefined || ctx.bucket.defaultRetention !== undefined
  if ((isRetained || lock.hold !== undefined) && !inspection.proven) {
    const either = `Content-MD5 OR ${headerName('checksum-')}`
    const reason = `${either} HTTP header is required for Put Object requests with Object Lock parameters`
    throw new Fault('InvalidRequest', { reason })
  }
  const encryption = await effectiveEncryption(ctx, requestedEncryption)
  return ctx.store.objects.put({
    bucket: ctx.target.bucket,
    key: ctx.target.key,
    owner,
    body: ctx.body.stream,
    bytesExpected,
    attributes: { headers, metadata, tags, grants, redirect, storageClass },
    lock,
    encryption,
    precondition,
    inspection,
  })
}

export const PutObject = operation({
  name: 'PutObject',
  match: { method: 'PUT', on: 'object' },
  permission: newObjectPermissions,
  createsObject: true,
  storesTagsAndLock: true,
  input: inputs,
  async run(ctx, input) {
    refuseMissingSource(ctx.request)
    const length = bodyLength(ctx, LIMITS.objectPutBytesMax)
    refuseRest(ctx, length)
    const version = await putObject(ctx, input, length)
    return { headers: [...(await newVersionHeaders(ctx, version)), ...checksumHeaders(version)] }
  },
})
