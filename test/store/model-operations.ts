/** The operations of a random sequence, each with its weight. */
import assert from 'node:assert/strict'
import { below, collect, OWNER, oneOf, PART_BYTES_MIN, payload } from './fixture.ts'
import { type Condition, type ModelLock, type ModelRetention, md5, NO_LOCK } from './model.ts'
import { listObjects, listUploads, listVersions } from './model-list-operations.ts'
import { customerKeyOf, encryptionOf, type Run } from './model-run.ts'

const BIG = payload(PART_BYTES_MIN, 99)

const versioningOf = (run: Run, bucket: string) => run.model.buckets.get(bucket)?.versioning ?? 'off'

function lockWish(run: Run): ModelLock {
  if (run.chance(0.8)) return NO_LOCK
  const retention: ModelRetention = run.chance(0.5) ? { mode: mode(run), until: until(run) } : undefined
  return { hold: oneOf(run.random, [undefined, true, false]), retention }
}

const mode = (run: Run) => oneOf(run.random, ['governance', 'compliance'] as const)
const until = (run: Run): number => run.clock.now() + below(run.random, 3000) - 300

const lockPart = (lock: ModelLock): { lock?: ModelLock } => (lock === NO_LOCK ? {} : { lock })

function precondition(run: Run, bucket: string, key: string): Condition {
  if (run.chance(0.7)) return {}
  const etag = run.model.buckets.get(bucket)?.keys.get(key)?.[0]?.etag ?? 'none'
  const tags = oneOf(run.random, [['*'], [etag], ['0'.repeat(32)], [etag, 'x']])
  return oneOf<Condition>(run.random, [
    { ifMatch: tags },
    { ifNoneMatch: tags },
    { ifMatch: [etag], ifNoneMatch: tags },
  ])
}

const conditionPart = ({ ifMatch, ifNoneMatch }: Condition) =>
  ifMatch === undefined && ifNoneMatch === undefined ? {} : { precondition: { ifMatch, ifNoneMatch } }

async function putObject(run: Run): Promise<void> {
  const [bucket, key, bytes, seal] = [run.bucket(), run.key(), run.bytes(), run.seal()]
  const when = precondition(run, bucket, key)
  const lock = 'ifMatch' in when || 'ifNoneMatch' in when ? NO_LOCK : lockWish(run)
  const tags = run.chance(0.3) ? [['n', String(below(run.random, 100))] as const] : []
  run.note(`put ${bucket}/${key} ${bytes.length} ${seal?.by} ${JSON.stringify(when)} ${JSON.stringify(lock)}`)
  const attributes = { headers: [], metadata: [], tags, grants: [], redirect: undefined, storageClass: undefined }
  const request = { bucket, key, owner: OWNER, body: [bytes], attributes }
  const done = await run.both(
    () => run.store.objects.put({ ...request, ...encryptionOf(seal), ...conditionPart(when), ...lockPart(lock) }),
    () => run.model.put(bucket, key, { bytes, seal, tags, lock }, when),
  )
  if (done !== undefined) run.adopt(done.real, done.model, versioningOf(run, bucket))
}

async function getRange(run: Run): Promise<void> {
  const [bucket, key] = [run.bucket(), run.key()]
  const versionId = run.versionId(bucket, key)
  run.note(`get ${bucket}/${key}@${versionId}`)
  const seal = run.model.buckets
    .get(bucket)
    ?.keys.get(key)
    ?.find((v, i) => (versionId ? v.id === versionId : i === 0))?.seal
  const customerKey = customerKeyOf(seal)
  const done = await run.both(
    () => run.store.objects.open({ bucket, key, versionId }, customerKey),
    () => run.model.find(bucket, key, versionId),
  )
  if (done === undefined) return
  run.same(done.real.version, done.model)
  const start = below(run.random, done.model.bytes.length + 1)
  const end = start + below(run.random, done.model.bytes.length - start + 1)
  const bytes = await collect(done.real.read(start, end))
  assert.ok(bytes.equals(done.model.bytes.subarray(start, end)), `range ${start}–${end} has other bytes`)
}

async function copyObject(run: Run): Promise<void> {
  const from = { bucket: run.bucket(), key: run.key(), versionId: undefined as string | undefined }
  if (run.chance(0.3)) from.versionId = run.versionId(from.bucket, from.key)
  // Often onto itself: then one commit has both source and target.
  const to = run.chance(0.2) ? { bucket: from.bucket, key: from.key } : { bucket: run.bucket(), key: run.key() }
  const seal = run.seal()
  const lock = lockWish(run)
  const when = lock === NO_LOCK ? precondition(run, to.bucket, to.key) : {}
  run.note(`copy ${JSON.stringify(from)} to ${to.bucket}/${to.key} ${seal?.by} ${JSON.stringify(lock)}`)
  const versions = run.model.buckets.get(from.bucket)?.keys.get(from.key)
  const source = from.versionId === undefined ? versions?.[0] : versions?.find(({ id }) => id === from.versionId)
  const customerKey = customerKeyOf(source?.seal)
  const request = { from, to, owner: OWNER, ...(customerKey === undefined ? {} : { customerKey }) }
  const done = await run.both(
    () => run.store.copies.copy({ ...request, ...encryptionOf(seal), ...lockPart(lock), ...conditionPart(when) }),
    () => run.model.copy(from, { ...to, seal, lock }, when),
  )
  if (done !== undefined) run.adopt(done.real.version, done.model, versioningOf(run, to.bucket))
}

async function removeObject(run: Run): Promise<void> {
  const [bucket, key] = [run.bucket(), run.key()]
  const versionId = run.versionId(bucket, key)
  const when = versionId === undefined ? precondition(run, bucket, key) : {}
  const [bypass, keepHeld] = [run.chance(0.3), run.chance(0.3)]
  run.note(`remove ${bucket}/${key}@${versionId} bypass ${bypass} keepHeld ${keepHeld}`)
  const request = { bucket, key, versionId, owner: OWNER, rights: { bypass }, keepHeld, ...conditionPart(when) }
  const done = await run.both(
    () => run.store.objects.remove(request),
    () => run.model.remove(bucket, key, { versionId, bypass, keepHeld, precondition: when }),
  )
  if (done === undefined) return
  assert.equal(done.real.removed?.id, done.model.removed?.id)
  assert.equal(done.real.marker === undefined, done.model.marker === undefined)
  if (done.real.marker !== undefined) run.adopt(done.real.marker, done.model.marker!, versioningOf(run, bucket))
}

async function changeLock(run: Run): Promise<void> {
  const [bucket, key] = [run.chance(0.7) ? 'locked' : run.bucket(), run.key()]
  const versionId = run.versionId(bucket, key)
  const which = { bucket, key, versionId }
  if (run.chance(0.5)) {
    const hold = run.chance(0.5)
    run.note(`hold ${hold} ${bucket}/${key}@${versionId}`)
    await run.both(
      () => run.store.objects.setHold(which, hold),
      () => run.model.setHold(bucket, key, versionId, hold),
    )
    return
  }
  const retention = run.chance(0.2) ? undefined : { mode: mode(run), until: until(run) }
  const bypass = run.chance(0.4)
  run.note(`retain ${bucket}/${key}@${versionId} ${JSON.stringify(retention)} bypass ${bypass}`)
  await run.both(
    () => run.store.objects.setRetention(which, retention, { bypass }),
    () => run.model.setRetention(bucket, key, versionId, { retention, bypass }),
  )
}

async function changeTags(run: Run): Promise<void> {
  const [bucket, key] = [run.bucket(), run.key()]
  const versionId = run.versionId(bucket, key)
  const tags = [['t', String(below(run.random, 100))] as const]
  run.note(`tag ${bucket}/${key}@${versionId}`)
  await run.both(
    () => run.store.objects.setTags({ bucket, key, versionId }, tags),
    () => run.model.setTags(bucket, key, versionId, tags),
  )
}

async function changeBucket(run: Run): Promise<void> {
  const bucket = run.bucket()
  const what = oneOf(run.random, ['create', 'create', 'remove', 'on', 'suspended', 'default'] as const)
  run.note(`bucket ${what} ${bucket}`)
  const { buckets } = run.store
  const { model } = run
  const lockEnabled = bucket === 'locked'
  if (what === 'create') {
    await run.both(
      () => buckets.create({ name: bucket, owner: OWNER, lockEnabled }),
      () => model.createBucket(bucket, lockEnabled),
    )
  } else if (what === 'remove') {
    await run.both(
      () => buckets.remove(bucket),
      () => model.removeBucket(bucket),
    )
  } else if (what === 'default') {
    const days = oneOf(run.random, [undefined, undefined, 1])
    const retention = days === undefined ? undefined : { mode: 'governance' as const, days }
    // The other buckets have no object lock, so that suspended versioning occurs too.
    await run.both(
      () => buckets.setLock('locked', retention),
      () => model.setDefaultRetention('locked', days),
    )
  } else {
    await run.both(
      () => buckets.setVersioning(bucket, what),
      () => model.setVersioning(bucket, what),
    )
  }
}

/** Usually an upload in progress; else ids that no upload has. */
function someUpload(run: Run): { bucket: string; key: string; id: string } {
  const all = [...run.model.buckets.values()].flatMap(bucket => bucket.uploads)
  if (all.length > 0 && run.chance(0.9)) {
    const { bucket, key, id } = oneOf(run.random, all)
    return { bucket, key: run.chance(0.05) ? run.key() : key, id }
  }
  return { bucket: run.bucket(), key: run.key(), id: oneOf(run.random, ['e'.repeat(32), 'no-upload']) }
}

async function createUpload(run: Run): Promise<void> {
  const [bucket, key, seal, lock] = [run.bucket(), run.key(), run.seal(), lockWish(run)]
  run.note(`upload ${bucket}/${key} ${seal?.by}`)
  const request = { bucket, key, initiator: OWNER, owner: OWNER, ...encryptionOf(seal), ...lockPart(lock) }
  const done = await run.both(
    () => run.store.uploads.create(request),
    () => run.model.createUpload(bucket, key, { seal, lock }),
  )
  if (done !== undefined) done.model.id = done.real.id.toString('hex')
}

function sealOfUpload(run: Run, { bucket, id }: { bucket: string; id: string }) {
  return run.model.buckets.get(bucket)?.uploads.find(upload => upload.id === id)?.seal
}

async function putPart(run: Run): Promise<void> {
  const { bucket, key, id } = someUpload(run)
  const number = 1 + below(run.random, 3)
  const bytes = run.long && run.chance(0.15) ? BIG : run.bytes()
  const seal = sealOfUpload(run, { bucket, id })
  const customerKey = customerKeyOf(seal)
  run.note(`part ${number} of ${bucket}/${key} ${bytes.length}`)
  const request = { bucket, key, uploadId: id, number, body: [bytes], bytesExpected: bytes.length }
  const done = await run.both(
    () => run.store.uploads.putPart({ ...request, ...(customerKey === undefined ? {} : { customerKey }) }),
    () => run.model.upload(bucket, key, id),
  )
  if (done === undefined) return
  assert.equal(done.real.size, bytes.length)
  if (seal === undefined || seal.by === 'service') assert.equal(done.real.etag, md5(bytes))
  done.model.parts.set(number, { bytes, etag: done.real.etag })
}

async function copyPart(run: Run): Promise<void> {
  const { bucket, key, id } = someUpload(run)
  const number = 1 + below(run.random, 3)
  const from = { bucket: run.bucket(), key: run.key() }
  const source = run.model.buckets.get(from.bucket)?.keys.get(from.key)?.[0]
  const size = source?.bytes.length ?? 0
  const start = run.chance(0.5) ? 0 : below(run.random, size + 1)
  const end = run.chance(0.6) ? size : start + below(run.random, size - start + 1)
  const range = run.chance(0.4) ? undefined : { start, end: run.chance(0.05) ? size + 1 : end }
  const keys = {
    sourceCustomerKey: customerKeyOf(source?.seal),
    customerKey: customerKeyOf(sealOfUpload(run, { bucket, id })),
  }
  run.note(`part ${number} of ${bucket}/${key} from ${from.bucket}/${from.key} ${JSON.stringify(range)}`)
  const request = { bucket, key, uploadId: id, number, from, ...(range === undefined ? {} : { range }) }
  const done = await run.both(
    () => run.store.uploads.copyPart({ ...request, ...given(keys) }),
    () => ({ upload: run.model.upload(bucket, key, id), bytes: run.model.range(from, range) }),
  )
  if (done === undefined) return
  assert.equal(done.real.size, done.model.bytes.length)
  done.model.upload.parts.set(number, { bytes: done.model.bytes, etag: done.real.etag })
}

function given(keys: { sourceCustomerKey: Buffer | undefined; customerKey: Buffer | undefined }) {
  return {
    ...(keys.sourceCustomerKey === undefined ? {} : { sourceCustomerKey: keys.sourceCustomerKey }),
    ...(keys.customerKey === undefined ? {} : { customerKey: keys.customerKey }),
  }
}

async function complete(run: Run): Promise<void> {
  const name = someUpload(run)
  const stored = run.model.buckets.get(name.bucket)?.uploads.find(upload => upload.id === name.id)?.parts
  const numbers = [...(stored?.keys() ?? [])].sort((a, b) => a - b).filter(() => run.chance(0.8))
  if (run.chance(0.05)) numbers.reverse()
  if (run.chance(0.05)) numbers.push(9)
  const parts = numbers.map(number => ({ number, etag: stored?.get(number)?.etag ?? 'x' }))
  const when = precondition(run, name.bucket, name.key)
  run.note(`complete ${name.bucket}/${name.key} [${numbers}] ${JSON.stringify(when)}`)
  const request = { bucket: name.bucket, key: name.key, uploadId: name.id, parts }
  const done = await run.both(
    () => run.store.completion.complete({ ...request, ...conditionPart(when) }),
    () => run.model.complete(name, parts, when),
  )
  if (done !== undefined) run.adopt(done.real, done.model, versioningOf(run, name.bucket))
}

async function abort(run: Run): Promise<void> {
  const { bucket, key, id } = someUpload(run)
  run.note(`abort ${bucket}/${key}`)
  await run.both(
    () => run.store.uploads.abort({ bucket, key, uploadId: id }),
    () => run.model.abort(bucket, key, id),
  )
}

/** A first part long enough to be followed by others, created without moving its bytes twice. */
async function bigObject(run: Run): Promise<void> {
  if (!run.long) return
  const [bucket, key] = [run.bucket(), run.key()]
  run.note(`put big ${bucket}/${key}`)
  const done = await run.both(
    () => run.store.objects.put({ bucket, key, owner: OWNER, body: [BIG] }),
    () => run.model.put(bucket, key, { bytes: BIG, seal: undefined, tags: [], lock: NO_LOCK }),
  )
  if (done !== undefined) run.adopt(done.real, done.model, versioningOf(run, bucket))
}

async function openRead(run: Run): Promise<void> {
  const [bucket, key] = [run.bucket(), run.key()]
  const versionId = run.versionId(bucket, key)
  run.note(`open ${bucket}/${key}@${versionId}`)
  await run.openRead(bucket, key, versionId)
}

async function moveClock(run: Run): Promise<void> {
  // Also backwards: locks must not end early, and nothing acknowledged may be lost.
  run.tick(oneOf(run.random, [1, 500, 2000, 86_400_000, -400, -5000]))
}

export const OPERATIONS: readonly (readonly [number, (run: Run) => Promise<void>])[] = [
  [20, putObject],
  [6, getRange],
  [10, copyObject],
  [12, removeObject],
  [6, changeLock],
  [2, changeTags],
  [5, changeBucket],
  [5, createUpload],
  [7, putPart],
  [6, copyPart],
  [6, complete],
  [1, abort],
  [2, bigObject],
  [3, listObjects],
  [4, listVersions],
  [2, listUploads],
  [5, openRead],
  [3, run => run.finishRead()],
  [10, run => run.work()],
  [3, moveClock],
]

const TOTAL = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0)

export async function step(run: Run): Promise<void> {
  let left = run.random.fraction() * TOTAL
  run.tick(1)
  for (const [weight, operation] of OPERATIONS) {
    left -= weight
    if (left < 0) return operation(run)
  }
}
