import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { ClockCheckpointer } from '../../src/maintenance/clock-checkpointer.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { Fault } from '../../src/model/faults.ts'
import type { Lock } from '../../src/model/version.ts'
import type { Store } from '../../src/store/store.ts'
import { shortOrLong } from '../long.ts'
import { bytesOf, chance, openOn, settle } from './fixture.ts'
import { auditLedger, RULES } from './lock-audit.ts'
import { LockModel, type ModelLock, type Seen, type Stage, stories } from './lock-model.ts'

const RUNS = shortOrLong(40, 300, 'HOLDFAST_ROUNDS')
const OWNER = 'owner'
const BUCKET = 'bucket'

const asLock = (lock: ModelLock): Lock => ({
  hold: lock.hold === null ? undefined : lock.hold === 'ON',
  retention: lock.retention ?? undefined,
})

const asModel = ({ hold, retention }: Lock): ModelLock => ({
  hold: hold === undefined ? null : hold ? 'ON' : 'OFF',
  retention: retention ?? null,
})

const code = (error: unknown): string => {
  if (error instanceof Fault) return error.code
  throw error
}

const told = (promise: Promise<unknown>): Promise<string> => promise.then(() => 'ok', code)

class StoreStage implements Stage {
  readonly #clock = new ManualClock()
  readonly #meta = openMemoryMeta()
  readonly #random = chance(1)
  #disk = new MemoryDisk({ crashable: true })
  #store: Store | undefined

  async start(): Promise<this> {
    await this.crash()
    await this.store.buckets.create({ name: BUCKET, owner: OWNER, lockEnabled: true })
    await this.store.documents.put(BUCKET, 'lifecycle', RULES)
    return this
  }

  get store(): Store {
    return this.#store!
  }

  async crash(): Promise<void> {
    if (this.#store !== undefined) this.#disk = this.#disk.powerCut(this.#random)
    const ground = { disk: this.#disk, meta: await this.#meta, clock: this.#clock, random: this.#random }
    this.#store = await openOn(ground)
    // As every server does at its start.
    await this.mark()
  }

  now = (): number => this.#clock.now()
  lived = (): number => new ManualClock().now() + this.#clock.elapsed()
  move = (ms: number): void => this.#clock.move(ms)
  jump = (ms: number): void => this.#clock.jump(ms)

  put(key: string, bytes: Buffer, lock: ModelLock | undefined): Promise<string> {
    const asked = lock === undefined ? {} : { lock: asLock(lock) }
    return this.store.objects.put({ bucket: BUCKET, key, owner: OWNER, body: [bytes], ...asked }).then(v => v.id, code)
  }

  copy(from: Seen, key: string): Promise<string> {
    const source = { bucket: BUCKET, key: from.key, versionId: from.id }
    const to = { bucket: BUCKET, key }
    return this.store.copies.copy({ from: source, to, owner: OWNER }).then(({ version }) => version.id, code)
  }

  async complete(key: string, bytes: Buffer, lock: ModelLock | undefined): Promise<string> {
    const asked = lock === undefined ? {} : { lock: asLock(lock) }
    const { uploads, completion } = this.store
    try {
      const begun = await uploads.create({ bucket: BUCKET, key, initiator: OWNER, owner: OWNER, ...asked })
      const upload = { bucket: BUCKET, key, uploadId: begun.id.toString('hex') }
      const part = await uploads.putPart({ ...upload, number: 1, body: [bytes] })
      return (await completion.complete({ ...upload, parts: [part] })).id
    } catch (error) {
      return code(error)
    }
  }

  hide(key: string, keepHeld: boolean): Promise<string> {
    const request = { bucket: BUCKET, key, owner: OWNER, keepHeld }
    return this.store.objects.remove(request).then(({ marker }) => marker!.id, code)
  }

  remove({ key, id }: Seen, bypass: boolean): Promise<string> {
    const request = { bucket: BUCKET, key, versionId: id, owner: OWNER, rights: { bypass } }
    return told(this.store.objects.remove(request))
  }

  removeAll(versions: readonly Seen[], bypass: boolean): Promise<string[]> {
    return Promise.all(versions.map(version => this.remove(version, bypass)))
  }

  hold({ key, id }: Seen, hold: 'ON' | 'OFF'): Promise<string> {
    return told(this.store.objects.setHold({ bucket: BUCKET, key, versionId: id }, hold === 'ON'))
  }

  retain({ key, id }: Seen, retention: ModelLock['retention'], bypass: boolean): Promise<string> {
    const which = { bucket: BUCKET, key, versionId: id }
    return told(this.store.objects.setRetention(which, retention ?? undefined, { bypass }))
  }

  configure = (retention: Parameters<Stage['configure']>[0]): Promise<string> =>
    told(this.store.buckets.setLock(BUCKET, retention))
  suspend = (): Promise<string> => told(this.store.buckets.setVersioning(BUCKET, 'suspended'))
  removeBucket = (): Promise<string> => told(this.store.buckets.remove(BUCKET))

  async look({ key, id }: Seen): Promise<{ lock: ModelLock; bytes: Buffer }> {
    const which = { bucket: BUCKET, key, versionId: id }
    const { lock } = await this.store.objects.head(which)
    return { lock: asModel(lock), bytes: await bytesOf(this.store, which) }
  }

  async versions(): Promise<Seen[]> {
    const { items } = await this.store.listing.versions({ bucket: BUCKET, limit: 1000 })
    return items.map(({ key, version }) => ({ key, id: version.id, marker: version.marker }))
  }

  async expire(): Promise<void> {
    const lifecycle = new Lifecycle(this.store.context)
    await runUntilIdle(lifecycle)
    assert.equal(lifecycle.failures, 0)
  }

  maintenance = (): Promise<void> => settle(this.store)
  mark = (): Promise<void> => new ClockCheckpointer(this.store.context, () => {}).step().then(() => undefined)

  audit = (locks: ReadonlyMap<string, ModelLock>): Promise<void> => auditLedger(this.store, BUCKET, locks)
}

test(`P1–P6 P8–P16 P19 P21 P22 P26 P27 P31: ${RUNS} stories of locks, maintenance, lifecycle, power cuts`, async () => {
  await fc.assert(
    fc.asyncProperty(stories, async story => {
      const stage = await new StoreStage().start()
      await new LockModel(stage).play(story)
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  )
})
