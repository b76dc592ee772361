/** G12. Shared by DeleteObject and DeleteObjects. */
import { headerName } from '../../rules/access/names.ts'
import type { RemovalPrecondition } from '../../rules/conditional-requests.ts'
import { parseHttpDate, parseTimestamp } from '../../rules/http-date.ts'
import type { RemovalResult } from '../../store/objects/objects.ts'
import type { ObjectName, OperationContext } from '../context.ts'
import { invalidArgument } from '../operation.ts'

const BYPASS = 'bypass-governance-retention'

/** P12. The caller asks to bypass governance retention; permission is checked separately. */
export function wantsBypass({ request }: OperationContext): boolean {
  const sent = request.header(`:${BYPASS}`)
  if (sent === undefined) return false
  const word = sent.toLowerCase()
  if (word !== 'true' && word !== 'false') throw invalidArgument(headerName(BYPASS), sent)
  return word === 'true'
}

/** Bypass without object lock is a mistake, but DeleteObjects does not refuse it. */
export function checkBypassApplies({ request, bucket }: OperationContext): void {
  const sent = request.header(`:${BYPASS}`)
  if (sent !== undefined && !bucket.lockEnabled) {
    const reason = `${headerName(BYPASS)} is only applicable to Object Lock enabled buckets.`
    throw invalidArgument(headerName(BYPASS), sent, reason)
  }
}

/** A date in header or document format. */
export function ifModifiedAt(value: string, name: string): number {
  const at = parseHttpDate(value.trim()) ?? parseTimestamp(value.trim())
  if (at === undefined) throw invalidArgument(name, value, `The value of ${name} is not a valid date.`)
  return at
}

export function ifSize(value: string, name: string): number {
  const size = Number(value.trim())
  if (/^\d{1,15}$/.test(value.trim())) return size
  throw invalidArgument(name, value, `The value of ${name} is not a valid size.`)
}

interface RemovalInput {
  readonly name: ObjectName
  readonly precondition: RemovalPrecondition
  /** Requested, and permitted for this object. */
  readonly bypass: boolean
}

export const removeOne = (
  ctx: OperationContext,
  { name, precondition, bypass }: RemovalInput,
): Promise<RemovalResult> =>
  ctx.store.objects.remove({
    bucket: name.bucket,
    key: name.key,
    versionId: name.versionId,
    owner: ctx.callerId,
    precondition: { ...precondition, ifNoneMatch: undefined },
    rights: { bypass },
    keepHeld: ctx.behavior.keepHeld,
  })
