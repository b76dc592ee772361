/** Retention of a version: its end, and whether it can be bypassed (G19). */
import { BadXml, childText, childWord, onlyChildren, rootNamed, type XmlNode } from '../../lib/xml.ts'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { LockMode } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Lock } from '../../model/version.ts'
import { conditionsFromRetention, KEYS_FROM_RETENTION } from '../../rules/access/condition-values.ts'
import { formatTimestamp, parseTimestamp } from '../../rules/http-date.ts'
import type { OperationContext } from '../context.ts'
import { checkIntegrityHeaders } from '../integrity.ts'
import { refuseDeleteMarker } from '../object/refuse-delete-marker.ts'
import { wantsBypass } from '../object/removal.ts'
import { operation, requires } from '../operation.ts'
import { readXml, wholeBody } from '../whole-body.ts'

/** D7, R113. Checked before anything about the object: without object lock on the bucket the key does not matter. */
export function needLocks({ bucket, behavior }: OperationContext): void {
  if (bucket.lockEnabled) return
  const code = behavior.locks.withoutObjectLock
  if (code === 'InvalidRequest') throw new Fault(code, { reason: 'Bucket is missing Object Lock Configuration' })
  throw new Fault(code, { BucketName: bucket.name })
}

const MODES: Readonly<Record<'GOVERNANCE' | 'COMPLIANCE', LockMode>> = {
  GOVERNANCE: 'governance',
  COMPLIANCE: 'compliance',
}

/** An empty document removes the retention; an incomplete one is refused. */
function readRetention(root: XmlNode): Lock['retention'] {
  onlyChildren(rootNamed(root, 'Retention'), 'Mode', 'RetainUntilDate')
  const mode = childWord(root, 'Mode', ['GOVERNANCE', 'COMPLIANCE'] as const)
  const date = childText(root, 'RetainUntilDate')
  if (mode === undefined && date === undefined) return undefined
  const until = date === undefined ? undefined : parseTimestamp(date)
  if (mode === undefined || until === undefined) throw new BadXml('mode and date come together')
  return { mode: MODES[mode], until }
}

export const PutObjectRetention = operation({
  name: 'PutObjectRetention',
  match: { method: 'PUT', on: 'object', requires: ['?retention'] },
  permission: requires('PutObjectRetention'),
  deferredKeys: KEYS_FROM_RETENTION,
  input: {},
  async run(ctx) {
    checkIntegrityHeaders(ctx)
    needLocks(ctx)
    const asksBypass = wantsBypass(ctx)
    await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    const retention = readXml(await wholeBody(ctx, { proof: 'checksum' }), readRetention)
    const conditions = conditionsFromRetention(retention, ctx.store.context.clock.now())
    await ctx.authorizeDeferred(conditions)
    const bypass = asksBypass && (await ctx.isAllowed('BypassGovernanceRetention', ctx.target, conditions))
    await refuseDeleteMarker(() => ctx.store.objects.setRetention(ctx.target, retention, { bypass }))
    return {}
  },
})

export const GetObjectRetention = operation({
  name: 'GetObjectRetention',
  match: { method: 'GET', on: 'object', requires: ['?retention'] },
  permission: requires('GetObjectRetention'),
  input: {},
  async run(ctx) {
    needLocks(ctx)
    const { retention } = (await ctx.store.objects.head(ctx.target)).lock
    if (retention === undefined) throw new Fault('NoSuchObjectLockConfiguration')
    return {
      body: {
        root: 'Retention',
        write(to: XmlWriter) {
          to.leaf('Mode', retention.mode.toUpperCase())
          to.leaf('RetainUntilDate', formatTimestamp(retention.until))
        },
      },
    }
  },
})
