/** The route that previews lifecycle rules. */
import { BadXml } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import { type LifecycleCandidate, LifecycleCandidates } from '../../maintenance/lifecycle-candidates.ts'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { readLifecycle } from '../../rules/documents/lifecycle.ts'
import type { LifecycleRule } from '../../rules/lifecycle.ts'
import { mayRemove } from '../../rules/lock.ts'
import { anyText, optionalField, path, positiveInteger } from '../input.ts'
import { requirePermission } from '../permitted.ts'
import { type AdminContext, route } from '../route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

const DAY_MS = 86_400_000
const DAYS_MAX = 36_500
const SHOWN_MAX = 1000
/** Bounds the work of one preview. */
const RECORDS_MAX = 100_000

const iso = (ms: number): string => new Date(ms).toISOString()

async function rulesOf(ctx: AdminContext, bucket: string, document: string | undefined) {
  if (document === undefined) return ctx.store.documents.lifecycleRules(bucket)
  try {
    return readLifecycle(parseXml(document))
  } catch (error) {
    if (error instanceof BadXml) throw new Fault('MalformedXML', { reason: error.message })
    throw error
  }
}

/** A legal hold keeps the current version visible; older versions are also kept by retention. */
function isLocked(found: LifecycleCandidate, { versioning }: Bucket, at: number): boolean {
  if (found.what === 'upload') return false
  const { lock } = found.version
  if (found.what === 'current' && versioning !== 'off') return lock.hold === true
  return mayRemove(lock, at, false) !== undefined
}

const ACTIONS = [
  'delete object',
  'add delete marker',
  'remove version',
  'remove delete marker',
  'abort upload',
] as const

function actionOf({ what }: LifecycleCandidate, { versioning }: Bucket): (typeof ACTIONS)[number] {
  if (what === 'upload') return 'abort upload'
  if (what === 'current') return versioning === 'off' ? 'delete object' : 'add delete marker'
  return what === 'lone marker' ? 'remove delete marker' : 'remove version'
}

function shown(found: LifecycleCandidate, bucket: Bucket, at: number) {
  const name = found.what === 'upload' ? { uploadId: found.uploadId } : { versionId: found.version.id }
  return {
    action: actionOf(found, bucket),
    key: found.key,
    ...name,
    size: found.what === 'upload' ? undefined : found.version.size,
    rule: found.due.ruleId,
    due: iso(found.due.at),
    locked: isLocked(found, bucket, at),
  }
}

/** Counts everything that is due, and shows the first of it. */
async function preview(ctx: AdminContext, bucket: Bucket, rules: readonly LifecycleRule[], at: number) {
  const candidates = new LifecycleCandidates(
    ctx.store.context,
    async () => at,
    () => {},
  )
  const actions: ReturnType<typeof shown>[] = []
  const totals = { actions: 0, bytes: 0, locked: 0 }
  let records = 0
  for await (const page of candidates.of({ bucket: bucket.name, rules })) {
    for (const found of page.candidates) {
      const one = shown(found, bucket, at)
      if (one.locked) totals.locked++
      else {
        totals.actions++
        totals.bytes += one.action === 'add delete marker' ? 0 : (one.size ?? 0)
      }
      if (actions.length < SHOWN_MAX) actions.push(one)
    }
    records += page.records
    if (records >= RECORDS_MAX) return { actions, totals, complete: false }
    // An in-memory engine answers synchronously: without a pause a long scan would block requests.
    await ctx.clock.sleep(0)
  }
  return { actions, totals, complete: true }
}

export const PreviewLifecycle = route({
  name: 'PreviewLifecycle',
  method: 'POST',
  path: '/v1/buckets/{bucket}/lifecycle/preview',
  summary: 'Preview what lifecycle rules would do to existing objects, now or in some days, without applying them',
  permission: 'signed-in',
  input: {
    bucket: path('Name of the bucket'),
    document: optionalField(anyText, 'The rules as XML; those in force when absent'),
    days: optionalField(positiveInteger, `In so many days, ${DAYS_MAX} at most; now when absent`),
  },
  answer: objectOf({
    at: TIME,
    actions: listOf(
      objectOf({
        action: oneOfWords(...ACTIONS),
        key: TEXT,
        'versionId?': TEXT,
        'uploadId?': TEXT,
        'size?': COUNT,
        rule: TEXT,
        due: TIME,
        locked: { ...YES_OR_NO, description: 'A lock protects it' },
      }),
    ),
    totals: objectOf({ actions: COUNT, bytes: COUNT, locked: COUNT }),
    complete: { ...YES_OR_NO, description: `False when more than ${RECORDS_MAX} records would have to be read` },
  }),
  async run(ctx, { bucket: name, document, days = 0 }) {
    if (days > DAYS_MAX) throw new Fault('InvalidArgument', { ArgumentName: 'days', reason: `${DAYS_MAX} at most` })
    const bucket = await ctx.store.buckets.get(name)
    await requirePermission(ctx, { action: 'GetLifecycleConfiguration', bucket: name })
    await requirePermission(ctx, { action: 'ListBucketVersions', bucket: name })
    const at = ctx.clock.now() + days * DAY_MS
    const rules = await rulesOf(ctx, name, document)
    return { at: iso(at), ...(await preview(ctx, bucket, rules, at)) }
  },
})
