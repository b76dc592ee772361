/** Clients that write down what was acknowledged, and complain about what no order of calls explains. */
import { DamagedBlob } from '../../src/blobs/blobs.ts'
import type { Random } from '../../src/lib/random.ts'
import { Fault } from '../../src/model/faults.ts'
import type { Store } from '../../src/store/store.ts'
import { below, bytesOf, oneOf, payload, put, remove } from '../store/fixture.ts'
import type { Gateway } from './gateway.ts'
import { ABSENT, History } from './history.ts'
import type { Scheduler } from './scheduler.ts'

export const PLAIN = 'plain'
export const LOCKED = 'locked'
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
/** Stored in a record, packed into a volume, in a file of its own. */
const SIZES = [40, 6_000, 12_000, 40_000]
const PATIENCE_MS = 6_000
const PAUSE_MS = 250

class TimedOut extends Error {}

export class Clients {
  readonly history = new History()
  /** Everything that must never happen. */
  readonly violations: string[] = []
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #gateways: () => readonly Gateway[]
  readonly #written = new Map<number, Buffer>()
  /** Versions whose hold was acknowledged. */
  readonly #held = new Map<string, { readonly key: string; readonly value: number }>()
  #writes = 0
  isOver = false

  constructor(scheduler: Scheduler, random: Random, gateways: () => readonly Gateway[]) {
    this.#scheduler = scheduler
    this.#random = random
    this.#gateways = gateways
  }

  get heldCount(): number {
    return this.#held.size
  }

  async run(): Promise<void> {
    while (!this.isOver) {
      await this.#scheduler.sleep(this.#random.fraction() * PAUSE_MS)
      const gateways = this.#gateways()
      if (gateways.length === 0) continue
      const gateway = oneOf(this.#random, gateways)
      const key = oneOf(this.#random, KEYS)
      const what = this.#random.fraction()
      if (what < 0.4) await this.#put(gateway, key)
      else if (what < 0.75) await this.#get(gateway, key)
      else if (what < 0.85) await this.#remove(gateway, key)
      else if (what < 0.93) await this.#hold(gateway, key)
      else await this.#breakHold(gateway)
    }
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    const timeout = this.#scheduler.sleep(PATIENCE_MS).then(() => {
      throw new TimedOut()
    })
    timeout.catch(() => {})
    work.catch(() => {})
    return Promise.race([work, timeout])
  }

  #newValue(): number {
    const value = ++this.#writes
    const bytes = payload(oneOf(this.#random, SIZES), value)
    bytes.writeUInt32BE(value, 0)
    this.#written.set(value, bytes)
    return value
  }

  /** A write that failed may still take effect, unless it was refused. */
  async #write(key: string, value: number, work: () => Promise<unknown>): Promise<void> {
    const start = this.history.begin(this.#scheduler.now)
    try {
      await this.#within(work())
      this.history.write(key, start, this.#scheduler.now, value)
    } catch {
      this.history.write(key, start, Number.POSITIVE_INFINITY, value)
    }
  }

  #put({ store }: Gateway, key: string): Promise<void> {
    const value = this.#newValue()
    return this.#write(key, value, () => put(store, PLAIN, key, this.#written.get(value)!))
  }

  #remove({ store }: Gateway, key: string): Promise<void> {
    return this.#write(key, ABSENT, () => remove(store, PLAIN, key))
  }

  async #get(gateway: Gateway, key: string): Promise<void> {
    const start = this.history.begin(this.#scheduler.now)
    try {
      const value = await this.#within(this.#valueOf(gateway.store, key))
      this.history.read(key, start, this.#scheduler.now, value)
    } catch (error) {
      // Bytes may be freed under the reader of an expelled gateway, which then gets an error.
      const isAllowed =
        gateway.isExpelled || !gateway.membership.view?.members.has(gateway.membership.id.toString('hex'))
      if (error instanceof DamagedBlob && !isAllowed && !(await this.#wasExpelled(gateway))) {
        this.violations.push(`a read of ${key} through a member failed: ${error.message}`)
      }
    }
  }

  /** Whether the gateway was a member to the end of its read: asked of the records, since it may not know yet. */
  async #wasExpelled({ membership }: Gateway): Promise<boolean> {
    return (await this.membersNow()).every(id => id !== membership.id.toString('hex'))
  }

  /** Set by the world: the members according to the records. */
  membersNow: () => Promise<readonly string[]> = async () => []

  async #valueOf(store: Store, key: string, bucket = PLAIN, versionId?: string): Promise<number> {
    try {
      const bytes = await bytesOf(store, { bucket, key, ...(versionId === undefined ? {} : { versionId }) })
      const value = bytes.readUInt32BE(0)
      if (this.#written.get(value)?.equals(bytes) !== true) this.violations.push(`${key} has bytes that nobody wrote`)
      return value
    } catch (error) {
      if (error instanceof Fault && error.code === 'NoSuchKey') return ABSENT
      throw error
    }
  }

  /** Writes a version and holds it. */
  async #hold({ store }: Gateway, key: string): Promise<void> {
    const value = this.#newValue()
    try {
      const { id } = await this.#within(put(store, LOCKED, key, this.#written.get(value)!))
      await this.#within(store.objects.setHold({ bucket: LOCKED, key, versionId: id }, true))
      this.#held.set(id, { key, value })
    } catch {}
  }

  async #breakHold({ store }: Gateway): Promise<void> {
    if (this.#held.size === 0) return
    const [versionId, { key }] = [...this.#held][below(this.#random, this.#held.size)]!
    try {
      await this.#within(remove(store, LOCKED, key, versionId))
      this.violations.push(`the held version ${versionId} of ${key} was deleted`)
    } catch {}
  }

  /** Reads everything once more, when nothing goes on any more. */
  async readAll(store: Store): Promise<void> {
    for (const key of KEYS) {
      const start = this.history.begin(this.#scheduler.now)
      this.history.read(key, start, this.#scheduler.now + 1, await this.#valueOf(store, key))
    }
    for (const [versionId, { key, value }] of this.#held) {
      const found = await this.#valueOf(store, key, LOCKED, versionId).catch((error: Error) => error.message)
      if (found !== value) this.violations.push(`the held version ${versionId} of ${key} is gone: ${found}`)
    }
  }
}
