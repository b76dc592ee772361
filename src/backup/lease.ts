/**
 * A backup on the server side: one snapshot of the records, and a guarantee that every byte it references stays in
 * place until the backup ends. A client that falls silent loses its lease, so that reclamation is not blocked for long.
 */
import { DamagedBlob } from '../blobs/blobs.ts'
import { EMPTY, keySuccessor } from '../lib/bytes.ts'
import type { Snapshot } from '../meta/meta.ts'
import { blobFormat } from '../model/content.ts'
import { Fault } from '../model/faults.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { blobPieces } from './blob-row.ts'
import { EntryStreamWriter } from './entries.ts'

/** Maximum time between two calls; longer than a client needs to store the result of one. */
const LEASE_MS = 5 * 60_000
const PAGE = 256

interface Lease {
  readonly id: string
  readonly takenAt: string
  readonly snapshot: Snapshot
  readonly release: () => void
  /** Monotonic time of the last data sent to the client. */
  usedAt: number
  stopTimer: () => void
  read: boolean
  sentBytes: number
}

export interface BackupProgress {
  readonly takenAt: string
  /** The part that the client reads next, or is reading. */
  readonly phase: 'records' | 'blobs'
  readonly sentBytes: number
  /** Since the client last read something. */
  readonly idleSeconds: number
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

  /** At most one lease exists at a time. */
  async start(): Promise<{ readonly backup: string; readonly takenAt: string }> {
    if (this.#lease !== undefined || this.#starting) {
      throw new Fault('OperationAborted', { reason: 'Another backup is in progress.' })
    }
    this.#starting = true
    try {
      return await this.#begin()
    } finally {
      this.#starting = false
    }
  }

  async #begin(): Promise<{ readonly backup: string; readonly takenAt: string }> {
    const { reclamationLock, random, clock } = this.#context
    const release = await reclamationLock.hold()
    try {
      const snapshot = await this.#snapshot()
      const id = random.bytes(16).toString('hex')
      const takenAt = new Date(clock.now()).toISOString()
      const begun = { id, takenAt, snapshot, release, usedAt: clock.elapsed(), sentBytes: 0 }
      const lease: Lease = { ...begun, stopTimer: () => {}, read: false }
      this.#lease = lease
      this.#startTimer(lease, LEASE_MS)
      return { backup: id, takenAt }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The backup in progress; undefined without one. */
  get progress(): BackupProgress | undefined {
    if (this.#lease === undefined) return undefined
    const { takenAt, sentBytes, usedAt, read } = this.#lease
    const idleSeconds = Math.round((this.#context.clock.elapsed() - usedAt) / 1000)
    return { takenAt, phase: read ? 'blobs' : 'records', sentBytes, idleSeconds }
  }

  #startTimer(lease: Lease, ms: number): void {
    const { clock } = this.#context
    lease.stopTimer = clock.after(ms, () => {
      const left = LEASE_MS - (clock.elapsed() - lease.usedAt)
      if (left > 0) this.#startTimer(lease, left)
      else void this.#end(lease)
    })
  }

  #requireLease(id: string): Lease {
    const lease = this.#lease
    if (lease === undefined || lease.id !== id) throw leaseEnded()
    lease.usedAt = this.#context.clock.elapsed()
    return lease
  }

  /** Data read after the lease has ended is not sent. */
  async *#whileLeased(lease: Lease, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      if (this.#lease !== lease) throw leaseEnded()
      lease.usedAt = this.#context.clock.elapsed()
      lease.sentBytes += piece.length
      yield piece
    }
  }

  /** All records of the snapshot, once. */
  records(id: string): AsyncGenerator<Buffer> {
    const lease = this.#requireLease(id)
    if (lease.read) throw new Fault('InvalidRequest', { reason: 'The records of this backup have already been read.' })
    lease.read = true
    return this.#whileLeased(lease, recordPieces(lease.snapshot))
  }

  /** These blobs as stored. Each must be referenced by the snapshot. */
  blobs(id: string, blobs: readonly Buffer[]): AsyncGenerator<Buffer> {
    return this.#whileLeased(this.#requireLease(id), this.#blobPieces(blobs))
  }

  async *#blobPieces(ids: readonly Buffer[]): AsyncGenerator<Buffer> {
    const { meta, blobs } = this.#context
    for (const id of ids) {
      // The current location: compaction may have moved the blob, but it cannot have been freed.
      const entry = await meta.get(recordKey.blob(id))
      if (entry === undefined) throw new Fault('NoSuchEntity', { reason: 'There is no such blob.' })
      const { volume, offset, storedLength: length, frameBytes } = blobFormat.decode(entry.value)
      const bytes = blobs.read(id, { volume, offset, length, frameBytes }, 0, length)
      yield* blobPieces({ id, length, frameBytes }, bytes, damageIn)
    }
  }

  /** Renews the lease of a client that is busy. */
  keep(id: string): void {
    this.#requireLease(id)
  }

  async end(id: string): Promise<void> {
    await this.#end(this.#requireLease(id))
  }

  async #end(lease: Lease): Promise<void> {
    if (this.#lease !== lease) return
    this.#lease = undefined
    lease.stopTimer()
    lease.release()
    await lease.snapshot.end()
  }

  /** Called before the store is closed. */
  async stop(): Promise<void> {
    if (this.#lease !== undefined) await this.#end(this.#lease)
  }
}

const leaseEnded = (): Fault => new Fault('NoSuchEntity', { reason: 'This backup has ended: start another one.' })

async function* recordPieces(snapshot: Snapshot): AsyncGenerator<Buffer> {
  const entries = new EntryStreamWriter()
  yield EntryStreamWriter.title('holdfast records 1')
  for (let start = EMPTY; ; ) {
    const page = await snapshot.scan({ start, end: undefined }, PAGE)
    const last = page.at(-1)
    if (last === undefined) break
    for (const { key, value } of page) {
      const piece = entries.add(key, value)
      if (piece !== undefined) yield piece
    }
    if (last.key.compare(start) < 0) throw new Error('the records are out of order: the metadata are damaged')
    start = keySuccessor(last.key)
  }
  yield entries.end()
  // The records have been sent, so the engine need not keep the snapshot.
  await snapshot.end()
}

/** An unreadable sector is damage too. */
function damageIn(error: unknown): string | undefined {
  const isDamage = error instanceof DamagedBlob || (error as NodeJS.ErrnoException).code === 'EIO'
  return isDamage ? (error as Error).message : undefined
}
