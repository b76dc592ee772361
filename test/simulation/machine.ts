/**
 * One simulated machine and its network: it can be suspended, die, or be cut off from the metadata or the bytes. What
 * it has sent travels on regardless: a request of a suspended or dead machine takes effect when it arrives.
 */
import type { Disk, DiskFile } from '../../src/lib/disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { type Meta, type Minitransaction, OutcomeUnknown } from '../../src/meta/meta.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine that is cut off gives up a call after this. */
const UNREACHABLE_MS = 3_000
const DELAY_MS = 4
/** Now and then a message takes so long that members are expelled meanwhile. */
const LATE_SHARE = 0.004
const LATE_MS = 9_000

export class Unreachable extends Error {}

export class Machine {
  readonly #scheduler: Scheduler
  readonly #random: Random
  #isSuspended = false
  #isDead = false
  readonly #waiting: (() => void)[] = []
  /** Cut off from the metadata, or from the bytes. */
  readonly isCutOff = { meta: false, disk: false }

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler
    this.#random = random
  }

  get isDead(): boolean {
    return this.#isDead
  }

  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Nothing on it goes on; only messages that it has sent do. */
  die(): void {
    this.#isDead = true
  }

  /** Resolves when the machine runs; never on a dead one. */
  async awake(): Promise<void> {
    if (this.#isDead) return new Promise(() => {})
    while (this.#isSuspended) await new Promise<void>(resolve => this.#waiting.push(resolve))
    if (this.#isDead) return new Promise(() => {})
  }

  async #travel(): Promise<void> {
    const isLate = this.#random.fraction() < LATE_SHARE
    await this.#scheduler.sleep(this.#random.fraction() * (isLate ? LATE_MS : DELAY_MS))
  }

  /** A call to `what`: the request travels, takes effect, and the response travels back. */
  async call<T>(what: 'meta' | 'disk', run: () => Promise<T>): Promise<T> {
    await this.awake()
    if (this.isCutOff[what]) {
      await this.#scheduler.sleep(UNREACHABLE_MS * this.#random.fraction())
      await this.awake()
      if (this.isCutOff[what]) throw new Unreachable(`the ${what} cannot be reached`)
    }
    await this.#travel()
    const result = await run()
    await this.#travel()
    await this.awake()
    return result
  }

  async #commit(meta: Meta, tx: Minitransaction): Promise<boolean> {
    const isCommitted = await this.call('meta', () => meta.commit(tx))
    // The response is lost with the connection.
    if (this.isCutOff.meta && this.#random.fraction() < 0.5) throw new OutcomeUnknown(new Unreachable('no response'))
    return isCommitted
  }

  /** Buffers belong to the engine until a commit has resolved, so a late one needs copies. */
  meta(meta: Meta): Meta {
    const copied = ({ checks, writes }: Minitransaction): Minitransaction => ({
      checks: checks.map(({ key, stamp }) => ({ key: Buffer.from(key), stamp })),
      writes: writes.map(({ key, value }) => ({ key: Buffer.from(key), value: value && Buffer.from(value) })),
    })
    return {
      get: key => this.call('meta', async () => meta.get(key)),
      scan: (range, limit, reverse) => this.call('meta', () => meta.scan(range, limit, reverse)),
      scanMap: (range, limit, make) => this.call('meta', () => meta.scanMap(range, limit, make)),
      commit: tx => this.#commit(meta, copied(tx)),
      close: async () => {},
    }
  }

  disk(disk: Disk): Disk {
    const far = <T>(run: () => Promise<T>): Promise<T> => this.call('disk', run)
    return {
      open: async (path, how) => this.#file(await far(() => disk.open(path, how))),
      makeFolder: path => far(() => disk.makeFolder(path)),
      syncFolder: path => far(() => disk.syncFolder(path)),
      list: path => far(() => disk.list(path)),
      rename: (from, to) => far(() => disk.rename(from, to)),
      remove: path => far(() => disk.remove(path)),
      free: path => disk.free(path),
    }
  }

  #file(file: DiskFile): DiskFile {
    const far = <T>(run: () => Promise<T>): Promise<T> => this.call('disk', run)
    return {
      write: (pieces, position) => far(() => file.write(pieces, position)),
      read: (into, position) => far(() => file.read(into, position)),
      datasync: () => far(() => file.datasync()),
      size: () => far(() => file.size()),
      close: () => file.close(),
    }
  }
}
