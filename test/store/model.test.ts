import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { BucketIndexer } from '../../src/maintenance/index-buckets.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { type Meta, OutcomeUnknown } from '../../src/meta/meta.ts'
import { blobFormat } from '../../src/model/content.ts'
import { openFolder } from '../../src/server/compose.ts'
import { shortOrLong } from '../long.ts'
import {
  assertWhole,
  below,
  chance,
  freshStore,
  makeBucket,
  OWNER,
  openOn,
  payload,
  put,
  settle,
  turn,
  withFolder,
} from './fixture.ts'
import { step } from './model-operations.ts'
import { BUCKETS, Run } from './model-run.ts'

const STEPS = 60
const LONG_EVERY = 5
const RUNS = shortOrLong(50, 600, 'HOLDFAST_RUNS')
const LMDB_RUNS = Math.max(2, Math.floor(RUNS / 40))
const SEED = process.env.HOLDFAST_SEED
/** Fixed: with daily seeds a failure could not be reproduced the next day. */
const FIRST_SEED = 1

function seeds(runs: number): number[] {
  return SEED === undefined ? Array.from({ length: runs }, (_, i) => FIRST_SEED + i) : [Number(SEED)]
}

/** Runs one sequence; a failure reports how to reproduce it and the operations before it. */
async function replayable(seed: number, run: Run, sequence: () => Promise<void>): Promise<void> {
  try {
    await sequence()
  } catch (error) {
    const last = run.log.slice(-25).join('\n  ')
    throw new Error(`HOLDFAST_SEED=${seed} fails at step ${run.log.length}:\n  ${last}\n${(error as Error).stack}`)
  }
}

async function begin(run: Run): Promise<void> {
  await runUntilIdle(new BucketIndexer(run.store.context))
  for (const bucket of BUCKETS) {
    const lockEnabled = bucket === 'locked'
    await run.store.buckets.create({ name: bucket, owner: OWNER, lockEnabled })
    run.model.createBucket(bucket, lockEnabled)
  }
  run.tick(0)
}

async function end(run: Run): Promise<void> {
  await run.finishReads()
  await run.compareAll()
  await settle(run.store)
  await assertWhole(run.store)
  await run.compareAll()
}

/** A process that lost its power: its later commits never reach the engine. */
class Fenced {
  #down = false
  readonly meta: Meta

  constructor(inner: Meta) {
    this.meta = {
      get: key => inner.get(key),
      scan: (range, limit, reverse) => inner.scan(range, limit, reverse),
      scanMap: (range, limit, make) => inner.scanMap(range, limit, make),
      commit: async tx => {
        if (this.#down) throw new OutcomeUnknown(undefined)
        return inner.commit(tx)
      },
      close: () => inner.close(),
    }
  }

  cut(): void {
    this.#down = true
  }
}

/** An in-memory store whose power can be cut in the middle of a write. */
class Machine {
  readonly #meta: Meta
  readonly #seed: number
  #disk = new MemoryDisk({ crashable: true })
  #process: Fenced
  readonly clock = new ManualClock()
  readonly run: Run

  private constructor(seed: number, meta: Meta, first: Fenced, disk: MemoryDisk, run: Run) {
    this.#seed = seed
    this.#meta = meta
    this.#process = first
    this.#disk = disk
    this.run = run
    this.clock = run.clock
  }

  static async start(seed: number): Promise<Machine> {
    const meta = await openMemoryMeta()
    const [disk, first, clock, random] = [
      new MemoryDisk({ crashable: true }),
      new Fenced(meta),
      new ManualClock(),
      chance(seed),
    ]
    const store = await openOn({ disk, meta: first.meta, clock, random: chance(seed + 1_000_000) })
    return new Machine(seed, meta, first, disk, new Run(store, random, clock, seed % LONG_EVERY === 0))
  }

  /** Cuts the power during a put, which must have happened completely or not at all. */
  async powerCut(): Promise<void> {
    const { run } = this
    const [bucket, key, bytes, seal] = [run.bucket(), run.key(), run.bytes(), undefined]
    run.note(`power cut during put ${bucket}/${key} ${bytes.length}`)
    const putting = run.store.objects.put({ bucket, key, owner: OWNER, body: [bytes] }).then(
      version => version,
      () => undefined,
    )
    for (let turns = below(run.random, 6); turns > 0; turns--) await turn()
    this.#process.cut()
    const after = this.#disk.powerCut(run.random)
    const made = await putting
    this.#disk = after
    this.#process = new Fenced(this.#meta)
    const random = chance(this.#seed + run.log.length * 7919)
    run.take(await openOn({ disk: after, meta: this.#process.meta, clock: run.clock, random }))
    if (made === undefined) return
    const lock = { hold: undefined, retention: undefined }
    run.adopt(made, run.model.put(bucket, key, { bytes, seal, tags: [], lock }), run.model.bucket(bucket).versioning)
  }
}

test(`the store matches its model, through ${RUNS} sequences with maintenance and power cuts`, async () => {
  for (const seed of seeds(RUNS)) {
    const machine = await Machine.start(seed)
    const { run } = machine
    await replayable(seed, run, async () => {
      await begin(run)
      for (let steps = 0; steps < STEPS; steps++) {
        if (run.chance(0.02)) await machine.powerCut()
        else await step(run)
      }
      await end(run)
    })
  }
})

test(`the store over LMDB matches its model, through ${LMDB_RUNS} sequences with restarts`, async () => {
  for (const seed of seeds(LMDB_RUNS)) {
    await withFolder(async folder => {
      const clock = new ManualClock()
      let parts = await openFolder({ folder, durability: 'os', clock })
      try {
        const run = new Run(parts.store, chance(seed), clock, seed % LONG_EVERY === 0)
        await replayable(seed, run, async () => {
          await begin(run)
          for (let steps = 0; steps < STEPS; steps++) {
            if (run.chance(0.03)) {
              run.note('restart')
              await run.finishReads()
              await parts.close()
              parts = await openFolder({ folder, durability: 'os', clock })
              run.take(parts.store)
            } else await step(run)
          }
          await end(run)
        })
      } finally {
        await parts.close()
      }
    })
  }
})

/** Known bad: loses one write of a commit now and then, and reports success. */
class Forgetful {
  lost = 0
  readonly meta: Meta

  constructor(inner: Meta, share: number, random: Random) {
    this.meta = {
      get: key => inner.get(key),
      scan: (range, limit, reverse) => inner.scan(range, limit, reverse),
      scanMap: (range, limit, make) => inner.scanMap(range, limit, make),
      commit: tx => {
        // The next commit of a usage counter writes the whole sum again: a lost write of it heals by itself.
        const losable = tx.writes.filter(({ key }) => key[0] !== 'U'.charCodeAt(0)).length
        if (losable === 0 || random.fraction() >= share) return inner.commit(tx)
        this.lost++
        const lost = below(random, losable)
        return inner.commit({ checks: tx.checks, writes: tx.writes.filter((_, i) => i !== lost) })
      },
      close: () => inner.close(),
    }
  }
}

test('control: an engine that loses one write in twenty commits is detected', async () => {
  const outcomes: boolean[] = []
  for (let seed = 1; outcomes.length < 8; seed++) {
    assert.ok(seed < 100, 'nothing was lost')
    let engine: Forgetful | undefined
    const { store, clock } = await freshStore(seed, meta => {
      engine = new Forgetful(meta, 1 / 20, chance(seed + 77))
      return engine.meta
    })
    const run = new Run(store, chance(seed), clock)
    const noticed = await (async () => {
      await begin(run)
      for (let steps = 0; steps < STEPS; steps++) await step(run)
      await end(run)
    })().then(
      () => false,
      () => true,
    )
    if (engine!.lost > 0) outcomes.push(noticed)
    else assert.ok(!noticed, `sequence ${seed} failed although nothing was lost`)
  }
  // Sometimes the next write overwrites the lost one, and there is nothing to notice.
  assert.ok(outcomes.filter(noticed => noticed).length >= 6, `noticed: ${outcomes}`)
})

test('control: a reference count that is off by one is detected', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', payload(10_000))
  await store.copies.copy({
    from: { bucket: 'bucket', key: 'key' },
    to: { bucket: 'bucket', key: 'copy' },
    owner: OWNER,
  })
  assert.deepEqual((await fsck(store.context)).problems, [])
  for await (const entry of recordsOf(store.context, 'b')) {
    const record = blobFormat.decode(entry.value)
    assert.equal(record.referenceCount, 2)
    const value = blobFormat.encode({ ...record, referenceCount: 3 })
    await store.context.meta.commit({ checks: [], writes: [{ key: entry.key, value }] })
  }
  const { problems } = await fsck(store.context)
  assert.equal(problems.length, 1)
  assert.match(problems[0]!, /3 references recorded, 2 counted/)
})
