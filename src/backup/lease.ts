/**
 * A backup as the server sees it: one snapshot of the records, and a promise that every byte it names stays where it is
 * until the backup ends. Whoever makes it and falls silent loses it: nobody can keep bytes from being freed for long.
 */
import { DamagedBlob } from '../blobs/blobs.ts'
import { EMPTY, keySuccessor } from '../lib/bytes.ts'
import type { Snapshot } from '../meta/meta.ts'
import { blobFormat } from '../model/content.ts'
import { Fault } from '../model/faults.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { blobPieces } from './blob-row.ts'
import { EntryRow } from './entries.ts'

/** Between two calls. Longer than a client needs to store what one call brought it. */
const SILENCE_MS_MAX = 5 * 60_000
const PAGE = 256

interface Lease {
  readonly id: string
  readonly snapshot: Snapshot
  readonly letGo: () => void
  /** When something was last given to whoever makes it, on the clock that nobody sets. */
  usedAt: number
  stopWatch: () => void
  read: boolean
}

export class BackupLeases {
  readonly #context: StoreContext
  readonly #snapshot: () => Promise<Snapshot>
  #lease: Lease | undefined
  #starting = false

  constructor(context: StoreContext, snapshot: () => Promise<Snapshot>) {
    this.#context = context
    this.#snapshot = snapshot
  }

  /** One at a time. */
  async start(): Promise<{ readonly backup: string; readonly takenAt: string }> {
    if (this.#lease !== undefined || this.#starting) {
      throw new Fault('OperationAborted', { reason: 'Another backup is under way.' })
    }
    this.#starting = true
    const { reclamationLock: freeing, random, clock } = this.#context
    const letGo = await freeing.hold()
    try {
      const snapshot = await this.#snapshot()
      const id = random.bytes(16).toString('hex')
      const lease: Lease = { id, snapshot, letGo, usedAt: clock.elapsed(), stopWatch: () => {}, read: false }
      this.#lease = lease
      this.#watch(lease, SILENCE_MS_MAX)
      return { backup: id, takenAt: new Date(clock.now()).toISOString() }
    } catch (error) {
      letGo()
      throw error
    } finally {
      this.#starting = false
    }
  }

  #watch(lease: Lease, ms: number): void {
    const { clock } = this.#context
    lease.stopWatch = clock.after(ms, () => {
      const left = SILENCE_MS_MAX - (clock.elapsed() - lease.usedAt)
      if (left > 0) this.#watch(lease, left)
      else void this.#end(lease)
    })
  }

  #leased(id: string): Lease {
    const lease = this.#lease
    if (lease === undefined || lease.id !== id) throw ended()
    lease.usedAt = this.#context.clock.elapsed()
    return lease
  }

  /** Nothing is given away that was read after the lease had ended. */
  async *#during(lease: Lease, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      if (this.#lease !== lease) throw ended()
      lease.usedAt = this.#context.clock.elapsed()
      yield piece
    }
  }

  /** All records of the snapshot, once. */
  records(id: string): AsyncGenerator<Buffer> {
    const lease = this.#leased(id)
    if (lease.read) throw new Fault('InvalidRequest', { reason: 'The records of this backup were read already.' })
    lease.read = true
    return this.#during(lease, recordPieces(lease.snapshot))
  }

  /** These blobs as they are stored. Each must be one that the snapshot names. */
  blobs(id: string, blobs: readonly Buffer[]): AsyncGenerator<Buffer> {
    return this.#during(this.#leased(id), this.#blobPieces(blobs))
  }

  async *#blobPieces(ids: readonly Buffer[]): AsyncGenerator<Buffer> {
    const { meta, blobs } = this.#context
    for (const id of ids) {
      // Where it lies now: compaction may have moved it since, but nobody can have freed it.
      const entry = await meta.get(recordKey.blob(id))
      if (entry === undefined) throw new Fault('NoSuchEntity', { reason: 'There is no such blob.' })
      const { volume, offset, storedLength: length, frameBytes } = blobFormat.decode(entry.value)
      const bytes = blobs.read(id, { volume, offset, length, frameBytes }, 0, length)
      yield* blobPieces({ id, length, frameBytes }, bytes, damageIn)
    }
  }

  /** Whoever makes it is busy, not gone. */
  keep(id: string): void {
    this.#leased(id)
  }

  async end(id: string): Promise<void> {
    await this.#end(this.#leased(id))
  }

  async #end(lease: Lease): Promise<void> {
    if (this.#lease !== lease) return
    this.#lease = undefined
    lease.stopWatch()
    lease.letGo()
    await lease.snapshot.end()
  }

  /** Before the store is closed. */
  async stop(): Promise<void> {
    if (this.#lease !== undefined) await this.#end(this.#lease)
  }
}

const ended = (): Fault => new Fault('NoSuchEntity', { reason: 'This backup has ended: begin another one.' })

async function* recordPieces(snapshot: Snapshot): AsyncGenerator<Buffer> {
  const row = new EntryRow()
  yield EntryRow.title('holdfast records 1')
  for (let start = EMPTY; ; ) {
    const page = await snapshot.scan({ start, end: undefined }, PAGE)
    const last = page.at(-1)
    if (last === undefined) break
    for (const { key, value } of page) {
      const piece = row.add(key, value)
      if (piece !== undefined) yield piece
    }
    if (last.key.compare(start) < 0) throw new Error('the records are out of order: the metadata are damaged')
    start = keySuccessor(last.key)
  }
  yield row.end()
  // From here on the bytes are enough: the engine need not keep old records any longer.
  await snapshot.end()
}

/** A sector that the disk cannot read any more is damage too. */
function damageIn(error: unknown): string | undefined {
  const isDamage = error instanceof DamagedBlob || (error as NodeJS.ErrnoException).code === 'EIO'
  return isDamage ? (error as Error).message : undefined
}
