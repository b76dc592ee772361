/**
 * A small model of locks, and random scenarios that run on it and on the real store. It does not share the store's
 * decisions: the lock rules are implemented here again, from the specification. The same scenarios run against the
 * store and over HTTP.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'

export interface ModelLock {
  hold: 'ON' | 'OFF' | null
  retention: { mode: 'governance' | 'compliance'; until: number } | null
}

export interface Wish {
  readonly hold: 'ON' | 'OFF' | null
  readonly retention: { readonly mode: 'governance' | 'compliance'; readonly hours: number } | null
}

/** A version as the scenario sees it. */
export interface Seen {
  readonly key: string
  readonly id: string
  readonly marker: boolean
}

/** The system that a scenario runs against. A refusal resolves to its code, everything else to `ok` or an id. */
export interface Stage {
  /** D10. Whether a held object can be hidden, where the scenario does not decide that. */
  readonly keepsHeld?: boolean
  now(): number
  /** The time if the clock had never been set back. */
  lived(): number
  put(key: string, bytes: Buffer, lock: ModelLock | undefined): Promise<string>
  copy(from: Seen, key: string): Promise<string>
  complete(key: string, bytes: Buffer, lock: ModelLock | undefined): Promise<string>
  hide(key: string, keepHeld: boolean): Promise<string>
  remove(version: Seen, bypass: boolean): Promise<string>
  removeAll(versions: readonly Seen[], bypass: boolean): Promise<string[]>
  hold(version: Seen, hold: 'ON' | 'OFF'): Promise<string>
  retain(version: Seen, retention: ModelLock['retention'], bypass: boolean): Promise<string>
  configure(retention: { mode: 'governance' | 'compliance'; days: number } | undefined): Promise<string>
  suspend(): Promise<string>
  removeBucket(): Promise<string>
  /** The lock of a version, and its bytes. */
  look(version: Seen): Promise<{ lock: ModelLock; bytes: Buffer }>
  versions(): Promise<Seen[]>
  /** Runs lifecycle rules that remove everything due and unlocked. */
  expire(): Promise<void>
  /** Reclaims and compacts. */
  maintenance(): Promise<void>
  /** Cuts the power and restarts. */
  crash(): Promise<void>
  move(ms: number): void
  /** Records the lock clock, as maintenance does every minute. */
  mark(): Promise<void>
  /** Sets the clock. */
  jump(ms: number): void
  /** Called at the end with every version's lock: the ledger must agree. */
  audit(locks: ReadonlyMap<string, ModelLock>): Promise<void>
}

const HOUR = 3_600_000
const KEYS = ['a', 'b'] as const

interface Held extends Seen {
  readonly bytes: Buffer
  lock: ModelLock
}

type Command =
  | { readonly do: 'put' | 'complete'; readonly key: string; readonly lock: Wish | null }
  | { readonly do: 'copy'; readonly pick: number; readonly key: string }
  | { readonly do: 'hide'; readonly key: string; readonly keepHeld: boolean }
  | { readonly do: 'remove'; readonly pick: number; readonly bypass: boolean }
  | { readonly do: 'removeAll'; readonly bypass: boolean }
  | { readonly do: 'hold'; readonly pick: number; readonly hold: 'ON' | 'OFF' }
  | { readonly do: 'retain'; readonly pick: number; readonly retention: Wish['retention']; readonly bypass: boolean }
  | { readonly do: 'configure'; readonly days: number; readonly mode: 'governance' | 'compliance' }
  | { readonly do: 'move'; readonly hours: number }
  | { readonly do: 'suspend' | 'removeBucket' | 'expire' | 'maintenance' | 'crash' | 'jump' }

const key = fc.constantFrom(...KEYS)
const pick = fc.nat(50)
const mode = fc.constantFrom('governance' as const, 'compliance' as const)
const retention = fc.option(fc.record({ mode, hours: fc.integer({ min: -2, max: 60 }) }), { nil: null, freq: 4 })
const wish = fc.option(fc.record({ hold: fc.constantFrom('ON' as const, 'OFF' as const, null), retention }), {
  nil: null,
})
const bypass = fc.boolean()

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), key, lock: wish }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('complete' as const), key, lock: wish }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('copy' as const), pick, key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hide' as const), key, keepHeld: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('remove' as const), pick, bypass }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('removeAll' as const), bypass }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hold' as const), pick, hold: fc.constantFrom('ON', 'OFF') }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('retain' as const), pick, retention, bypass }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('configure' as const), days: fc.nat(2), mode }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), hours: fc.integer({ min: -20, max: 50 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('suspend' as const, 'removeBucket', 'expire', 'maintenance', 'crash', 'jump'),
    }),
  },
) as fc.Arbitrary<Command>

export const stories = fc.array(command, { minLength: 5, maxLength: 40 })

export class LockModel {
  readonly #stage: Stage
  readonly #versions: Held[] = []
  /** The final lock of every version that ever existed. */
  #default: { mode: 'governance' | 'compliance'; days: number } | undefined
  #made = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async play(story: readonly Command[]): Promise<void> {
    for (const step of story) {
      await this.#step(step)
      await this.#compare(false)
    }
    await this.#stage.maintenance()
    await this.#compare(true)
    await this.#stage.audit(new Map(this.#versions.map(({ key, id, lock }) => [`${key}@${id}`, lock])))
  }

  /** G19, implemented again. */
  #refusesRemoval({ lock, marker }: Held, bypassing: boolean): boolean {
    if (marker) return false
    if (lock.hold === 'ON') return true
    const { retention } = lock
    if (retention === null || retention.until <= this.#stage.now()) return false
    return retention.mode === 'compliance' || !bypassing
  }

  #picked(index: number, objectsOnly = false): Held | undefined {
    const all = objectsOnly ? this.#versions.filter(({ marker }) => !marker) : this.#versions
    return all[index % Math.max(1, all.length)]
  }

  /** Newest first. */
  #of(name: string): Held[] {
    return this.#versions.filter(version => version.key === name).reverse()
  }

  #lockOf(asked: Wish | null): ModelLock | undefined {
    if (asked === null || (asked.hold === null && asked.retention === null)) return undefined
    const until = this.#stage.now() + (asked.retention?.hours ?? 0) * HOUR
    return { hold: asked.hold, retention: asked.retention && { mode: asked.retention.mode, until } }
  }

  async #adopt(name: string, id: string, bytes: Buffer, asked: ModelLock | undefined): Promise<void> {
    const seen = { key: name, id, marker: false }
    const retention = asked?.retention ?? (await this.#given(seen)) ?? null
    this.#versions.push({ ...seen, bytes, lock: { hold: asked?.hold ?? null, retention } })
  }

  /** P19, P26. A default starts now, or at the latest time reached before the clock was set back. */
  async #given(version: Seen): Promise<ModelLock['retention'] | undefined> {
    if (this.#default === undefined) return undefined
    const { mode, days } = this.#default
    const until = (await this.#stage.look(version)).lock.retention?.until ?? 0
    const from = until - days * 24 * HOUR
    assert(from >= this.#stage.now() && from <= this.#stage.lived(), `counts from ${new Date(from).toISOString()}`)
    return { mode, until }
  }

  #bytes(): Buffer {
    return Buffer.from(`version ${++this.#made} `.repeat(this.#made % 3 === 0 ? 900 : 3))
  }

  async #step(step: Command): Promise<void> {
    const stage = this.#stage
    switch (step.do) {
      case 'put':
      case 'complete': {
        const [bytes, lock] = [this.#bytes(), this.#lockOf(step.lock)]
        const said = await stage[step.do](step.key, bytes, lock)
        const isPast = lock !== undefined && lock.retention !== null && lock.retention.until <= stage.now()
        if (isPast) assert.equal(said, 'InvalidArgument')
        else await this.#adopt(step.key, this.#isId(said), bytes, lock)
        return
      }
      case 'copy': {
        const from = this.#picked(step.pick, true)
        if (from === undefined) return
        await this.#adopt(step.key, this.#isId(await stage.copy(from, step.key)), from.bytes, undefined)
        return
      }
      case 'hide':
        return this.#hide(step.key, stage.keepsHeld ?? step.keepHeld)
      case 'remove':
        return this.#remove(step.pick, step.bypass)
      case 'removeAll': {
        const all = [...this.#versions]
        if (all.length === 0) return
        const expected = all.map(version => (this.#refusesRemoval(version, step.bypass) ? 'AccessDenied' : 'ok'))
        assert.deepEqual(await stage.removeAll(all, step.bypass), expected)
        for (const [i, version] of all.entries()) if (expected[i] === 'ok') this.#forget(version)
        return
      }
      case 'hold': {
        const version = this.#picked(step.pick, true)
        if (version === undefined) return
        assert.equal(await stage.hold(version, step.hold), 'ok')
        version.lock = { ...version.lock, hold: step.hold }
        return
      }
      case 'retain':
        return this.#retain(step.pick, step.retention, step.bypass)
      case 'configure':
        this.#default = step.days === 0 ? undefined : { mode: step.mode, days: step.days }
        assert.equal(await stage.configure(this.#default), 'ok')
        return
      case 'suspend':
        assert.equal(await stage.suspend(), 'InvalidBucketState')
        return
      case 'removeBucket':
        if (this.#versions.length > 0) assert.equal(await stage.removeBucket(), 'BucketNotEmpty')
        return
      case 'expire':
        return this.#expire()
      case 'jump':
        return this.#jump()
      case 'move':
        stage.move(step.hours * HOUR)
        return stage.mark()
      default:
        return stage[step.do]()
    }
  }

  #isId(said: string): string {
    assert.match(said, /^([0-9a-f]{32}|null)$/)
    return said
  }

  #forget(version: Held): void {
    this.#versions.splice(this.#versions.indexOf(version), 1)
  }

  async #hide(name: string, keepHeld: boolean): Promise<void> {
    const [current] = this.#of(name)
    const isKept = keepHeld && current?.lock.hold === 'ON'
    const said = await this.#stage.hide(name, keepHeld)
    if (isKept) assert.equal(said, 'AccessDenied')
    else {
      const lock = { hold: null, retention: null }
      this.#versions.push({ key: name, id: this.#isId(said), marker: true, bytes: Buffer.alloc(0), lock })
    }
  }

  async #remove(index: number, bypassing: boolean): Promise<void> {
    const version = this.#picked(index)
    if (version === undefined) return
    const isRefused = this.#refusesRemoval(version, bypassing)
    assert.equal(await this.#stage.remove(version, bypassing), isRefused ? 'AccessDenied' : 'ok')
    if (!isRefused) this.#forget(version)
  }

  async #retain(index: number, asked: Wish['retention'], bypassing: boolean): Promise<void> {
    const version = this.#picked(index, true)
    if (version === undefined) return
    const now = this.#stage.now()
    const wanted = asked && { mode: asked.mode, until: now + asked.hours * HOUR }
    const said = await this.#stage.retain(version, wanted, bypassing)
    const before = version.lock.retention
    const inForce = before !== null && before.until > now
    const extends_ = wanted !== null && wanted.mode === before?.mode && wanted.until >= before.until
    if (wanted !== null && wanted.until <= now) assert.equal(said, 'InvalidArgument')
    else if (inForce && !extends_ && (before.mode === 'compliance' || !bypassing)) assert.equal(said, 'AccessDenied')
    else {
      assert.equal(said, 'ok')
      version.lock = { ...version.lock, retention: wanted }
    }
  }

  /** P11. Locked versions remain; removed ones were unlocked. */
  async #expire(): Promise<void> {
    await this.#stage.expire()
    const left = await this.#stage.versions()
    for (const version of [...this.#versions]) {
      if (left.some(({ key: name, id }) => name === version.key && id === version.id)) continue
      assert(!this.#refusesRemoval(version, false), `lifecycle took the locked ${version.key}@${version.id}`)
      this.#forget(version)
    }
    const isNew = (one: Seen): boolean => !this.#versions.some(({ key: name, id }) => name === one.key && id === one.id)
    for (const made of left.filter(isNew)) {
      assert(made.marker, 'lifecycle made a version')
      const [current] = this.#of(made.key)
      assert(current?.lock.hold !== 'ON', 'lifecycle hid what is held')
      this.#versions.push({ ...made, bytes: Buffer.alloc(0), lock: { hold: null, retention: null } })
    }
  }

  /** P19. Setting the clock ahead unlocks nothing. */
  async #jump(): Promise<void> {
    const locked = this.#versions.filter(version => this.#refusesRemoval(version, true))
    this.#stage.jump(1000 * 24 * HOUR)
    for (const version of locked) assert.equal(await this.#stage.remove(version, true), 'AccessDenied')
    this.#stage.jump(-1000 * 24 * HOUR)
  }

  async #compare(withBytes: boolean): Promise<void> {
    const names = (all: readonly Seen[]): string[] => all.map(one => `${one.key}@${one.id} ${one.marker}`).sort()
    assert.deepEqual(names(await this.#stage.versions()), names(this.#versions))
    for (const version of this.#versions) {
      if (version.marker || !(withBytes || version === this.#versions.at(-1))) continue
      const { lock, bytes } = await this.#stage.look(version)
      assert.deepEqual(lock, version.lock, `${version.key}@${version.id}`)
      assert(bytes.equals(version.bytes), `${version.key}@${version.id}: other bytes`)
    }
  }
}
