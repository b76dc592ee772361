/**
 * One random sequence of operations on the store and on the model. Every result is compared, and values that only the
 * store can choose (version and upload ids, keyed ETags) are copied into the model and must not change afterwards.
 */
import assert from 'node:assert/strict'
import type { ManualClock } from '../../src/lib/clock.ts'
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { Fault } from '../../src/model/faults.ts'
import type { ShownVersion } from '../../src/model/shown-version.ts'
import type { Version } from '../../src/model/version.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { ObjectHandle } from '../../src/store/objects/objects.ts'
import type { Store } from '../../src/store/store.ts'
import { ANY_DEAD, below, collect, oneOf, payload } from './fixture.ts'
import { Model, type ModelSeal, type ModelVersion, Refusal } from './model.ts'

export const BUCKETS = ['first', 'second', 'locked'] as const
/** In UTF-16 order the last two would be swapped. */
export const KEYS = ['a', 'a/b', 'a/c/d', 'b', 'ü/1', '\u{ffff}', '\u{10000}'] as const
const SIZES = [0, 1, 10, 4096, 4097, 5000, 65_536, 70_000] as const

const CONTEXT = Buffer.from('{"dossier":"12"}')
const CUSTOMER_KEYS: Readonly<Record<string, Buffer>> = {
  one: Buffer.alloc(32, 1),
  two: Buffer.alloc(32, 2),
}

export function choiceOf(seal: ModelSeal): KeyChoice {
  if (seal.by === 'service') return { by: 'service' }
  if (seal.by === 'named') return { by: 'named', name: seal.name, context: CONTEXT, bucketKey: false }
  return { by: 'customer', key: CUSTOMER_KEYS[seal.name]!, md5: seal.name }
}

export const customerKeyOf = (seal: ModelSeal | undefined): Buffer | undefined =>
  seal?.by === 'customer' ? CUSTOMER_KEYS[seal.name] : undefined

export const encryptionOf = (seal: ModelSeal | undefined): { encryption?: KeyChoice } =>
  seal === undefined ? {} : { encryption: choiceOf(seal) }

/** A read that continues later, whatever happens to its object. */
interface OpenRead {
  readonly handle: ObjectHandle
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

export class Run {
  readonly random: Random
  readonly clock: ManualClock
  readonly model = new Model()
  readonly log: string[] = []
  /** Includes parts long enough to be followed by others, which take most of the time. */
  readonly long: boolean
  store: Store
  #reads: OpenRead[] = []
  #workers: { step(): Promise<'busy' | 'idle'> }[] = []
  readonly #seen = new Set<string>()
  /** The initial time of the clock. */
  readonly #start: number
  #payloads = 0
  /** Few per sequence, so that operations meet on the same keys; the next sequence has others. */
  readonly #keys: readonly string[]

  constructor(store: Store, random: Random, clock: ManualClock, long = false) {
    this.long = long
    this.random = random
    this.clock = clock
    this.#start = clock.now() - clock.elapsed()
    this.store = store
    this.#keys = [oneOf(random, KEYS), oneOf(random, KEYS), oneOf(random, KEYS)]
    this.take(store)
  }

  /** Continues with a reopened store; open reads belonged to the old process. */
  take(store: Store): void {
    this.store = store
    this.#reads = []
    const { context: engine } = store
    this.#workers = [new Reclaimer(engine), new Compactor(engine, ANY_DEAD), new Sweeper(engine)]
  }

  note(text: string): void {
    this.log.push(text)
  }

  tick(ms: number): void {
    this.clock.move(ms)
    this.model.now = this.clock.now()
  }

  chance(share: number): boolean {
    return this.random.fraction() < share
  }

  bucket(): string {
    return oneOf(this.random, BUCKETS)
  }

  key(): string {
    return oneOf(this.random, this.#keys)
  }

  bytes(): Buffer {
    return payload(oneOf(this.random, SIZES), ++this.#payloads)
  }

  seal(): ModelSeal | undefined {
    return oneOf<ModelSeal | undefined>(this.random, [
      undefined,
      undefined,
      undefined,
      { by: 'service', name: '' },
      { by: 'named', name: 'k1' },
      { by: 'named', name: 'k2' },
      { by: 'customer', name: 'one' },
    ])
  }

  /** Usually the id of an existing version; else none, `null`, an unused id, or an invalid one. */
  versionId(bucket: string, key: string): string | undefined {
    const versions = this.model.buckets.get(bucket)?.keys.get(key) ?? []
    if (versions.length > 0 && this.chance(0.6)) return oneOf(this.random, versions).id
    return oneOf(this.random, [undefined, undefined, 'null', 'f'.repeat(32), 'no-such-name'])
  }

  /** Runs both: they must fail with the same code, or both succeed. */
  async both<T, M>(real: () => Promise<T>, model: () => M): Promise<{ real: T; model: M } | undefined> {
    let expected: { model: M } | { code: string }
    try {
      expected = { model: model() }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      expected = { code: error.code }
    }
    const got = await real().then(
      value => ({ value }),
      (error: unknown) => {
        if (error instanceof Fault) return { code: error.code as string }
        throw error
      },
    )
    const said = 'code' in got ? got.code : 'ok'
    assert.equal(said, 'code' in expected ? expected.code : 'ok', `the store says ${said}`)
    return 'value' in got && 'model' in expected ? { real: got.value, model: expected.model } : undefined
  }

  /** The version that the store created must be the one that the model expects. */
  adopt(real: Version, model: ModelVersion, versioning: 'off' | 'on' | 'suspended'): void {
    if (versioning === 'on') {
      assert.match(real.id, /^[0-9a-f]{32}$/)
      assert.ok(!this.#seen.has(real.id), 'a version name came twice')
      this.#seen.add(real.id)
      model.id = real.id
    }
    if (model.etag === undefined) {
      assert.match(real.etag, /^[0-9a-f]{32}(-\d+)?$/)
      model.etag = real.etag
    }
    model.parts ??= real.parts
    if (this.model.byDefault.has(model.lock)) this.#adoptDefault(real, model)
    this.same(real, model)
  }

  /** P19. A default starts now, or at the latest time reached before the clock was set back. */
  #adoptDefault(real: Version, model: ModelVersion): void {
    const { mode, until } = model.lock.retention!
    const setBack = this.#start + this.clock.elapsed() - this.clock.now()
    const given = real.lock.retention?.until ?? 0
    assert.ok(given >= until && given <= until + setBack, `a default until ${given} instead of ${until}`)
    model.lock = { hold: model.lock.hold, retention: { mode, until: given } }
  }

  same(real: Version, model: ModelVersion): void {
    this.sameShown(real, model)
    const { parts, lock, attributes, encryption } = real
    assert.deepEqual(
      { parts, lock, tags: attributes.tags, by: encryption?.by },
      { parts: model.parts, lock: model.lock, tags: model.tags, by: model.seal?.by },
    )
  }

  sameShown({ id, marker, size, etag, modifiedAt }: Omit<ShownVersion, 'storageClass'>, model: ModelVersion): void {
    assert.deepEqual(
      { id, marker, size, etag, modifiedAt },
      {
        id: model.id,
        marker: model.marker,
        size: model.bytes.length,
        etag: model.etag,
        modifiedAt: model.modifiedAt,
      },
    )
  }

  async openRead(bucket: string, key: string, versionId: string | undefined): Promise<void> {
    const done = await this.both(
      () => this.store.objects.open({ bucket, key, versionId }, this.#keyFor(bucket, key, versionId)),
      () => this.model.find(bucket, key, versionId),
    )
    if (done === undefined) return
    const { bytes } = done.model
    const start = below(this.random, bytes.length + 1)
    const end = start + below(this.random, bytes.length - start + 1)
    this.same(done.real.version, done.model)
    this.#reads.push({ handle: done.real, bytes, start, end })
  }

  #keyFor(bucket: string, key: string, versionId: string | undefined): Buffer | undefined {
    const versions = this.model.buckets.get(bucket)?.keys.get(key)
    const version = versionId === undefined ? versions?.[0] : versions?.find(({ id }) => id === versionId)
    return customerKeyOf(version?.seal)
  }

  async finishRead(): Promise<void> {
    const read = this.#reads.splice(below(this.random, this.#reads.length), 1)[0]
    if (read === undefined) return
    const bytes = await collect(read.handle.read(read.start, read.end))
    assert.ok(bytes.equals(read.bytes.subarray(read.start, read.end)), 'a read that was open got other bytes')
  }

  async finishReads(): Promise<void> {
    while (this.#reads.length > 0) await this.finishRead()
  }

  async work(): Promise<void> {
    if (this.chance(0.3)) await this.store.context.blobs.closeVolume()
    const worker = oneOf(this.random, this.#workers)
    for (let steps = 1 + below(this.random, 4); steps > 0; steps--) await worker.step()
  }

  /** Compares every version of every key, by its record and by its bytes. */
  async compareAll(): Promise<void> {
    for (const bucket of this.model.buckets.values()) {
      for (const [key, versions] of bucket.keys) {
        for (const version of versions) {
          if (version.marker) continue
          const which = { bucket: bucket.name, key, versionId: version.id }
          const handle = await this.store.objects.open(which, customerKeyOf(version.seal))
          this.same(handle.version, version)
          assert.ok((await collect(handle.read())).equals(version.bytes), `${bucket.name}/${key}: other bytes`)
        }
      }
    }
  }
}
