/** The route of a bucket's locked versions. */

import { isLockCursor, type LockedVersion, lockedVersions } from '../../maintenance/locked-versions.ts'
import { Fault } from '../../model/faults.ts'
import type { LockOrigin } from '../../store/ledger/ledger.ts'
import { anyText, path, positiveInteger, query, textField } from '../input.ts'
import { isPermitted, requirePermission } from '../permitted.ts'
import { type AdminContext, route } from '../route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

const PAGE_MAX = 1000
const PAGE_DEFAULT = 100

const iso = (ms: number): string => new Date(ms).toISOString()

const sinceShown = ({ time, by: { account, user, accessKey }, sequence }: LockOrigin) => ({
  time,
  by: { account, user, accessKey },
  sequence,
})

async function shown(ctx: AdminContext, bucket: string, version: LockedVersion, now: number) {
  const { key, versionId, size, modifiedAt, latest, lock } = version
  const { ledger } = ctx.store
  const until = lock.retention && iso(lock.retention.until)
  const held = lock.hold === true ? await ledger.heldSince(bucket, { key, versionId }) : undefined
  const retained = until === undefined ? undefined : await ledger.retainedSince(bucket, { key, versionId }, until)
  return {
    key,
    versionId,
    size,
    lastModified: iso(modifiedAt),
    latest,
    hold: lock.hold === true,
    heldSince: held && sinceShown(held),
    retention: lock.retention && {
      mode: lock.retention.mode,
      until: iso(lock.retention.until),
      inForce: lock.retention.until > now,
    },
    retainedSince: retained && sinceShown(retained),
  }
}

async function mayRead(ctx: AdminContext, bucket: string, { key, versionId }: LockedVersion): Promise<boolean> {
  for (const action of ['GetObjectLegalHold', 'GetObjectRetention']) {
    if (!(await isPermitted(ctx, { action, bucket, key, versionId }))) return false
  }
  return true
}

const SINCE = objectOf({
  time: TIME,
  by: objectOf({ account: TEXT, 'user?': TEXT, 'accessKey?': TEXT }),
  sequence: COUNT,
})

export const ListHeldVersions = route({
  name: 'ListHeldVersions',
  method: 'GET',
  path: '/v1/buckets/{bucket}/held',
  summary:
    'List versions with a legal hold or a retention: current ones first. A page may be empty and have a next one',
  permission: 'signed-in',
  input: {
    bucket: path('Name of the bucket'),
    prefix: query(anyText, 'Only keys that begin with this'),
    after: query(textField, 'The cursor that the page before returned as next'),
    limit: query(positiveInteger, `${PAGE_MAX} at most, ${PAGE_DEFAULT} when absent`),
  },
  answer: objectOf({
    versions: listOf(
      objectOf({
        key: TEXT,
        versionId: TEXT,
        size: COUNT,
        lastModified: TIME,
        latest: YES_OR_NO,
        hold: YES_OR_NO,
        'heldSince?': SINCE,
        'retention?': objectOf({ mode: oneOfWords('governance', 'compliance'), until: TIME, inForce: YES_OR_NO }),
        'retainedSince?': SINCE,
      }),
    ),
    'next?': TEXT,
  }),
  async run(ctx, { bucket, prefix = '', after, limit = PAGE_DEFAULT }) {
    if (after !== undefined && !isLockCursor(after)) {
      throw new Fault('InvalidArgument', { ArgumentName: 'after', reason: 'after is not a cursor of this list' })
    }
    await ctx.store.buckets.get(bucket)
    await requirePermission(ctx, { action: 'ListBucketVersions', bucket })
    const { context } = ctx.store
    const page = await lockedVersions(context, { bucket, prefix, after, limit: Math.min(limit, PAGE_MAX) })
    const now = await context.lockClock.now()
    const versions: object[] = []
    for (const version of page.versions) {
      if (await mayRead(ctx, bucket, version)) versions.push(await shown(ctx, bucket, version, now))
    }
    return { versions, next: page.next }
  },
})
