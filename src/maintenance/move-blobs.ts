/**
 * Moves every blob from one place to another while both are used. A blob is read against its checksums, written to the
 * target, read back and compared, and only then named there; the source frees it when no reader can be using it.
 * Nothing is remembered between two runs: whatever the source still has and a record names is left to be moved.
 */
import { type BlobLocation, type Blobs, DamagedBlob, MissingBlob, type MovingPlaces } from '../blobs/blobs.ts'
import type { Entry } from '../meta/meta.ts'
import { type BlobRecord, blobFormat } from '../model/content.ts'
import { keyRanges, recordKey } from '../store/commit/record-keys.ts'
import { transact } from '../store/commit/transaction.ts'
import { type BlobsMove, readBlobsMove, writeBlobsMove } from '../store/content/blobs-move.ts'
import { whileCopying } from '../store/reclaim/copying.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { readPage } from './records.ts'

const RECORDS_PER_STEP = 256
/** Packed blobs of up to this size in total are held in memory and written together. */
const GROUP_BYTES = 4 * 2 ** 20
const SOLOS_PER_STEP = 8
const RECORD_PROGRESS_MS = 2_000

interface Round {
  /** Volumes of the source. */
  readonly volumes: ReadonlySet<string>
  readonly solos: AsyncIterator<Buffer>
  /** The next record to read; undefined after the last. */
  next: Buffer | undefined
  /** Blobs that were still in the source. */
  found: number
  damaged: number
}

/** Solo blobs that the source can free once its readers have left. */
interface Removal {
  readonly ids: readonly Buffer[]
  readonly epoch: Epoch
}

interface PackedBlob {
  readonly entry: Entry
  readonly record: BlobRecord
}

export class BlobMover implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #places: MovingPlaces
  /** As this process found it first: the places of a process never change. */
  #move: BlobsMove | undefined
  #round: Round | undefined
  #removals: Removal[] = []
  /** Copied and not yet recorded. */
  #unrecorded = { blobs: 0, bytes: 0 }
  #recordedAt = Number.NEGATIVE_INFINITY
  /** Since this process started. */
  readonly copied = { blobs: 0, bytes: 0 }
  damaged = 0

  constructor(context: StoreContext, places: MovingPlaces) {
    this.#context = context
    this.#places = places
  }

  /** True when it waits for readers or a backup and should run again soon. */
  get isWaiting(): boolean {
    return this.#removals.length > 0
  }

  async step(): Promise<'busy' | 'idle'> {
    const move = (await readBlobsMove(this.#context.meta))?.move
    if (move?.state !== 'moving') return 'idle'
    this.#move ??= move
    if (!isSameMove(move, this.#move)) return 'idle'
    // A lost record may name any blob of the source: until it is rebuilt, the move cannot be complete.
    if (this.#context.losses.isAny) return 'idle'
    this.#round ??= await this.#begin()
    try {
      return await this.#advance(this.#round)
    } catch (error) {
      // Blobs that were being copied would be passed over, so that the next step begins a new round.
      this.#round = undefined
      throw error
    }
  }

  async #advance(round: Round): Promise<'busy' | 'idle'> {
    await this.#freeCopied()
    if (round.next !== undefined) await this.#movePage(round, round.next)
    else if (!(await this.#copySolos(round))) return this.#end(round)
    await this.#recordProgress({})
    return 'busy'
  }

  async #begin(): Promise<Round> {
    const { source } = this.#places
    const volumes = new Set((await source.volumes()).map(({ name }) => name))
    const solos = source.solos()[Symbol.asyncIterator]()
    return { volumes, solos, next: keyRanges.kind('b').start, found: 0, damaged: 0 }
  }

  /** The move is complete when a whole round has found nothing that is named in the source. */
  async #end(round: Round): Promise<'busy' | 'idle'> {
    await this.#freeCopied()
    if (this.#removals.length > 0) return 'idle'
    this.#round = undefined
    this.damaged = round.damaged
    const isComplete = round.found === 0
    await this.#recordProgress({ damaged: round.damaged, ...(isComplete ? { state: 'moved' } : {}) })
    return round.found > round.damaged ? 'busy' : 'idle'
  }

  async #recordProgress(change: Partial<BlobsMove>): Promise<void> {
    const { meta, clock } = this.#context
    const isDue = clock.elapsed() - this.#recordedAt >= RECORD_PROGRESS_MS
    if (!isDue && Object.keys(change).length === 0) return
    const read = await readBlobsMove(meta)
    if (read === undefined) return
    const { blobs, bytes } = this.#unrecorded
    const { move } = read
    const progress = { ...move, ...change, blobs: move.blobs + blobs, bytes: move.bytes + bytes }
    if (!(await writeBlobsMove(meta, read.entry, progress))) return
    this.#unrecorded = { blobs: 0, bytes: 0 }
    this.#recordedAt = clock.elapsed()
  }

  /**
   * Throws unless this process may still remove copies. Names of solo blobs are the same in both places: a process that
   * was suspended while another went on, or while the move was reversed, could remove the only copy. Committing the
   * record as it is fails for a process that was expelled.
   */
  async #confirmMove(): Promise<void> {
    const { meta } = this.#context
    for (;;) {
      const read = await readBlobsMove(meta)
      if (read?.move.state !== 'moving' || !isSameMove(read.move, this.#move!)) {
        throw new Error('the move of the blobs was completed or reversed by another process')
      }
      if (await writeBlobsMove(meta, read.entry, read.move)) return
    }
  }

  #count(bytes: number): void {
    for (const counters of [this.copied, this.#unrecorded]) {
      counters.blobs++
      counters.bytes += bytes
    }
  }

  async #movePage(round: Round, start: Buffer): Promise<void> {
    const page = await readPage(this.#context, { start, end: keyRanges.kind('b').end }, RECORDS_PER_STEP)
    // An unreadable record may name any blob of the source: until it is repaired, the move cannot be complete.
    if (page.damaged !== undefined) throw page.damaged
    let group: PackedBlob[] = []
    let bytes = 0
    for (const entry of page.entries) {
      const record = blobFormat.decode(entry.value)
      if (record.volume === undefined || !round.volumes.has(record.volume)) continue
      group.push({ entry, record })
      bytes += record.storedLength
      if (bytes < GROUP_BYTES) continue
      await this.#moveGroup(round, group)
      group = []
      bytes = 0
    }
    await this.#moveGroup(round, group)
    round.next = page.next
  }

  async #moveGroup(round: Round, group: readonly PackedBlob[]): Promise<void> {
    round.found += group.length
    await whileCopying(this.#context, async () => {
      // All bodies are read first, so that their writes arrive together and share a batch.
      const bodies = await allDone(group.map(blob => this.#bodyOf(round, blob)))
      await allDone(group.map((blob, index) => this.#movePacked(blob, bodies[index])))
    })
  }

  async #bodyOf(round: Round, { entry, record }: PackedBlob): Promise<Buffer | undefined> {
    try {
      return await wholeOf(this.#places.source, entry.key.subarray(1), locationOf(record))
    } catch (error) {
      await this.#judge(round, error, entry.key, record)
      return undefined
    }
  }

  /** Damage counts unless the blob was freed or moved meanwhile. */
  async #judge(round: Round, error: unknown, key: Buffer, record: BlobRecord): Promise<void> {
    // An unreadable sector is damage too.
    if (!(error instanceof DamagedBlob) && (error as NodeJS.ErrnoException).code !== 'EIO') throw error
    const now = await this.#context.meta.get(key)
    if (now === undefined || !isSamePlace(blobFormat.decode(now.value), record)) round.found--
    else round.damaged++
  }

  async #movePacked({ entry, record }: PackedBlob, body: Buffer | undefined): Promise<void> {
    if (body === undefined) return
    const id = entry.key.subarray(1)
    const { target } = this.#places
    const location = await target.write(id, [body], record.frameBytes)
    if (!(await wholeOf(target, id, location)).equals(body)) throw new DamagedBlob(id, 'was not copied as it is')
    await this.#name(entry.key, record, location)
    this.#count(body.length)
  }

  async #name(key: Buffer, from: BlobRecord, { volume, offset }: BlobLocation): Promise<void> {
    await transact(this.#context, async tx => {
      const now = await tx.get(key)
      const current = now && blobFormat.decode(now.value)
      if (current === undefined || !isSamePlace(current, from)) return
      tx.put(key, blobFormat.encode({ ...current, volume, offset }))
    })
  }

  /** False when the source has no more solo blobs. */
  async #copySolos(round: Round): Promise<boolean> {
    const ids: Buffer[] = []
    while (ids.length < SOLOS_PER_STEP) {
      const next = await round.solos.next()
      if (next.done === true) break
      ids.push(next.value)
    }
    if (ids.length === 0) return false
    const isCopied = await allDone(ids.map(id => whileCopying(this.#context, () => this.#copySolo(round, id))))
    const copied = ids.filter((_, index) => isCopied[index])
    if (copied.length > 0) {
      this.#removals.push({ ids: copied, epoch: this.#context.reclamation.epoch('readers') })
    }
    return true
  }

  /** True when the source's bytes are not needed any more. Files without a record are left to the sweep. */
  async #copySolo(round: Round, id: Buffer): Promise<boolean> {
    const key = recordKey.blob(id)
    const entry = await this.#context.meta.get(key)
    if (entry === undefined) return false
    const record = blobFormat.decode(entry.value)
    round.found++
    // An earlier run has named it in a volume of the target.
    if (record.volume !== undefined) return true
    try {
      await this.#copyWhole(id, key, record)
      this.#count(record.storedLength)
      return true
    } catch (error) {
      await this.#judge(round, error, key, record)
      return false
    }
  }

  async #copyWhole(id: Buffer, key: Buffer, record: BlobRecord): Promise<void> {
    const { source, target } = this.#places
    const location = locationOf(record)
    const before = await soundnessOf(target, id, location)
    if (before === 'whole') return
    // A torn copy is replaced only by a whole one.
    if (before === 'damaged') await readThrough(source, id, location)
    await this.#confirmMove()
    // A copy that was missing is not removed: if there is one now, another mover has made it.
    if (before === 'damaged') await target.remove(id, location)
    const body = source.read(id, location, 0, location.length)
    // Another mover may have taken over and made a whole copy: a torn one is replaced in the next round.
    const copy = await target.write(id, body, record.frameBytes, 'keep')
    await readThrough(target, id, copy)
    if (copy.volume !== undefined) await this.#name(key, record, copy)
  }

  /** Frees what was copied, as far as its readers have left. */
  async #freeCopied(): Promise<void> {
    const { source } = this.#places
    const passed = this.#removals.filter(({ epoch }) => epoch.hasPassed())
    if (passed.length === 0) return
    const isFreed = await this.#context.reclamationLock.free(async () => {
      for (const { ids } of passed) {
        await this.#confirmMove()
        await allDone(ids.map(id => source.remove(id, SOLO)))
      }
    })
    if (isFreed) this.#removals = this.#removals.filter(removal => !passed.includes(removal))
  }
}

/** Enough for a driver to remove a file. */
const SOLO: BlobLocation = { volume: undefined, offset: 0, length: 0, frameBytes: 0 }

/** Like `Promise.all`, but nothing is still going on when it rejects. */
async function allDone<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

const locationOf = ({ volume, offset, storedLength, frameBytes }: BlobRecord): BlobLocation => ({
  ...{ volume, offset, frameBytes },
  length: storedLength,
})

const isSameMove = (one: BlobsMove, other: BlobsMove): boolean =>
  one.from.id.equals(other.from.id) && one.to.id.equals(other.to.id)

const isSamePlace = (one: BlobRecord, other: BlobRecord): boolean =>
  one.volume === other.volume && one.offset === other.offset

async function wholeOf(blobs: Blobs, id: Buffer, location: BlobLocation): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of blobs.read(id, location, 0, location.length)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Throws unless every frame matches its checksum. */
async function readThrough(blobs: Blobs, id: Buffer, location: BlobLocation): Promise<void> {
  for await (const _ of blobs.read(id, location, 0, location.length));
}

async function soundnessOf(blobs: Blobs, id: Buffer, location: BlobLocation): Promise<'whole' | 'missing' | 'damaged'> {
  try {
    await readThrough(blobs, id, location)
    return 'whole'
  } catch (error) {
    if (error instanceof MissingBlob) return 'missing'
    if (error instanceof DamagedBlob) return 'damaged'
    throw error
  }
}
