/** The full check of a store in use: as fsck, over a snapshot, beside changes and maintenance. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ManualClock, systemClock } from '../../src/lib/clock.ts'
import { Pacer, Stopped } from '../../src/lib/pacer.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { blobFormat } from '../../src/model/content.ts'
import { openFolder, openMemory, type ServerParts } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import { gate, makeBucket, OWNER, PART_BYTES_MIN, payload, put, remove, turn, withFolder } from './fixture.ts'
import { amidChanges, change, check, maintain, multipart } from './online-fsck.ts'

/** Contents of every kind, copies, an upload in progress, garbage, a hold and its ledger. */
async function fill(store: Store): Promise<void> {
  await makeBucket(store, 'bucket')
  await makeBucket(store, 'locked', 'locked')
  for (const size of [0, 100, 5000, 70_000, 1_500_000]) await put(store, 'bucket', `size-${size}`, payload(size))
  await multipart(store, 'parts', [PART_BYTES_MIN, PART_BYTES_MIN, PART_BYTES_MIN, PART_BYTES_MIN, 900])
  const to = { bucket: 'bucket', key: 'copy' }
  await store.copies.copy({ from: { bucket: 'bucket', key: 'parts' }, to, owner: OWNER })
  const { id } = await store.uploads.create({ bucket: 'bucket', key: 'open', initiator: OWNER, owner: OWNER })
  const upload = { bucket: 'bucket', key: 'open', uploadId: id.toString('hex') }
  await store.uploads.putPart({ ...upload, number: 1, body: [payload(80_000, 2)] })
  await put(store, 'bucket', 'size-5000', payload(6000))
  await put(store, 'locked', 'held', payload(9000))
  await store.objects.setHold({ bucket: 'locked', key: 'held' }, true)
  await remove(store, 'locked', 'held')
}

async function onParts(name: 'memory' | 'lmdb', use: (parts: ServerParts, folder: string) => Promise<void>) {
  await withFolder(async folder => {
    const parts = name === 'memory' ? await openMemory() : await openFolder({ folder, durability: 'os' })
    try {
      await use(parts, folder)
    } finally {
      await parts.close()
    }
  })
}

for (const engine of ['memory', 'lmdb'] as const) {
  test(`${engine}: an intact store has no findings, and a damaged one has those of fsck`, () =>
    onParts(engine, async parts => {
      const { store } = parts
      await fill(store)
      const whole = await check(parts)
      assert.deepEqual([whole.problems, whole.damage], [[], []])
      assert.equal(store.context.reclamationLock.isHeld, false)
      assert.deepEqual(whole.held, (await fsck(store.context)).held)
      let changed = 0
      for await (const { key, value } of recordsOf(store.context, 'b')) {
        const blob = blobFormat.decode(value)
        const wrong = blobFormat.encode({ ...blob, referenceCount: blob.referenceCount + 1 })
        // One is removed, one counts wrong, the others stay.
        const writes = [{ key, value: changed === 0 ? undefined : wrong }]
        if (changed++ < 2) await store.context.meta.commit({ checks: [], writes })
      }
      const { problems } = await fsck(store.context)
      assert.match(problems.join('\n'), /is referenced, but has no record/)
      assert.match(problems.join('\n'), /2 references recorded, 1 counted/)
      assert.deepEqual((await check(parts, { deep: false })).problems, problems)
    }))
}

test('counting in small ranges finds the same as counting all at once', () =>
  onParts('memory', async ({ store }) => {
    await fill(store)
    const { context } = store
    for await (const { key, value } of recordsOf(context, 'b')) {
      const blob = blobFormat.decode(value)
      const isSolo = blob.volume === undefined
      const wrong = isSolo ? undefined : blobFormat.encode({ ...blob, referenceCount: 7, offset: 0 })
      await context.meta.commit({ checks: [], writes: [{ key, value: wrong }] })
    }
    const all = await fsck(context)
    for (const text of [/no record/, /7 references recorded/, /overlap/]) assert.match(all.problems.join('\n'), text)
    for (const windowRecords of [1, 2, 5]) {
      const { problems, ...rest } = await fsck(context, { windowRecords })
      assert.deepEqual({ ...rest, problems: [...problems].sort() }, { ...all, problems: [...all.problems].sort() })
    }
  }))

test('a missing file is found, with the object it affects', () =>
  onParts('lmdb', async (parts, folder) => {
    await fill(parts.store)
    const solos: string[] = []
    for await (const id of parts.store.context.blobs.solos()) solos.push(id.toString('hex'))
    const files = readdirSync(join(folder, 'blobs'), { recursive: true, encoding: 'utf8' })
    const single = await soloOf(parts.store, 'size-1500000')
    assert(solos.includes(single))
    rmSync(join(folder, 'blobs', files.find(file => file.endsWith(single))!))
    const { problems, damage } = await check(parts)
    assert.deepEqual(problems, [`blob ${single}: its file is missing`])
    assert.deepEqual(
      damage.flatMap(({ objects }) => objects),
      [{ bucket: 'bucket', key: 'size-1500000', versionId: 'null' }],
    )
  }))

async function soloOf(store: Store, key: string): Promise<string> {
  const { version } = await store.objects.open({ bucket: 'bucket', key })
  assert(version.content.kind === 'slices')
  return version.content.slices[0]!.id.toString('hex')
}

test('changes and maintenance during a check are no findings', () =>
  onParts('lmdb', async parts => {
    const { store } = parts
    await makeBucket(store, 'bucket', 'on')
    await store.buckets.setVersioning('bucket', 'suspended')
    const clients = [1, 2, 3].map(seed => (stopped: () => Promise<boolean>) => change(store, seed, stopped))
    const maintenance = (stopped: () => Promise<boolean>): Promise<void> => maintain(store, stopped)
    await amidChanges([...clients, maintenance], { rounds: 8, changes: 10 }, async round => {
      const { problems, damage } = await check(parts)
      assert.deepEqual([problems, damage], [[], []], `round ${round}`)
    })
  }))

test('nothing is freed between the snapshot and the end of the records, and a stopped check frees the lock', () =>
  onParts('lmdb', async parts => {
    const { store } = parts
    await fill(store)
    const stopper = new AbortController()
    const wait = gate()
    const snapshot = async () => {
      assert.equal(store.context.reclamationLock.isHeld, true)
      await wait.opened
      return parts.snapshot()
    }
    const stopped = check({ ...parts, snapshot }, { signal: stopper.signal })
    const refused = assert.rejects(stopped, Stopped)
    stopper.abort()
    wait.open()
    await refused
    assert.equal(store.context.reclamationLock.isHeld, false)
    assert.deepEqual((await check(parts)).problems, [])
  }))

test('other work proceeds during a check', () =>
  onParts('lmdb', async parts => {
    await makeBucket(parts.store, 'bucket')
    await Promise.all(Array.from({ length: 3000 }, (_, i) => put(parts.store, 'bucket', `key-${i}`, 'x')))
    let turns = 0
    let isOver = false
    const counting = (async () => {
      for (; !isOver; turns++) await turn()
    })()
    await check(parts, { deep: false })
    isOver = true
    await counting
    assert(turns > 2, `${turns} turns`)
  }))

test('a pacer lets work run in slices and ends it when it is stopped', async () => {
  const clock = new ManualClock()
  const stopper = new AbortController()
  const pacer = new Pacer(clock, stopper.signal)
  assert.equal(pacer.pace(), undefined)
  clock.move(3)
  const pause = pacer.pace()
  assert(pause instanceof Promise)
  await pause
  assert.equal(clock.elapsed(), 6)
  assert.equal(pacer.pace(), undefined)
  stopper.abort()
  assert.throws(() => pacer.pace(), Stopped)
  assert.equal(new Pacer(systemClock, new AbortController().signal).pace(), undefined)
})
