/**
 * Brings back the space of packed bytes that nothing points at: what lives in a half-dead volume moves to the open one,
 * and the emptied file goes when its last reader has left. Nothing is changed in place; a crash repeats the round.
 *
 * What lives is told by the records alone. A volume is never given up because a walk through it found nothing: one
 * damaged head would hide everything behind it.
 */
import { DamagedBlob, DiskFull, type VolumeState } from '../blobs/blobs.ts'
import type { DamagedRecord, Entry } from '../meta/meta.ts'
import { type BlobRecord, blobFormat } from '../model/content.ts'
import { garbageFormat } from '../model/garbage.ts'
import { transact } from '../store/commit/transaction.ts'
import { addGarbage } from '../store/content/reference-counts.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store/store-context.ts'
import { recordsOf } from './records.ts'
import type { Worker } from './worker.ts'

/** Moving less live data than is freed: each volume is rewritten at most once for every halving of what lives in it. */
const DEAD_SHARE_MIN = 0.5
const VOLUMES_PER_COMMIT = 100

export class Compactor implements Worker {
  readonly #context: StoreContext
  readonly #deadShareMin: number
  /**
   * For each closed volume, a line behind the drafts that were under way when it was first seen so: one may yet get its
   * name in it.
   */
  readonly #waitingFor = new Map<string, Epoch>()
  /** Payload bytes of closed volumes, live or not; they never change. */
  readonly #payload = new Map<string, number>()
  /** Blobs that the last round could not move because their bytes do not match their checksum. */
  damaged: Error[] = []

  constructor(context: StoreContext, deadShareMin = DEAD_SHARE_MIN) {
    this.#context = context
    this.#deadShareMin = deadShareMin
  }

  /** One round over all volumes. Busy when it emptied any. */
  async step(): Promise<'busy' | 'idle'> {
    this.damaged = []
    // What it empties could not be freed now, and would only take up more room.
    if (this.#context.reclamationLock.isHeld) return 'idle'
    const closed = await this.#closedVolumes()
    if (closed.length === 0) return 'idle'
    const live = await this.#liveBytes()
    const worthIt = new Set<string>()
    for (const volume of closed) {
      if (await this.#isWorthIt(volume, live.get(volume.name) ?? 0)) worthIt.add(volume.name)
    }
    if (worthIt.size === 0) return 'idle'
    // Those with nothing in them need no room elsewhere, so they go first, also when the disk is full.
    const dead = [...worthIt].filter(name => !live.has(name))
    await this.#giveUp(dead)
    const kept = await this.#moveOut(worthIt)
    const emptied = [...worthIt].filter(name => live.has(name) && !kept.has(name))
    await this.#giveUp(emptied)
    return dead.length + emptied.length > 0 ? 'busy' : 'idle'
  }

  async #giveUp(volumes: readonly string[]): Promise<void> {
    for (let from = 0; from < volumes.length; from += VOLUMES_PER_COMMIT) {
      await transact(this.#context, async tx => {
        for (const name of volumes.slice(from, from + VOLUMES_PER_COMMIT)) {
          addGarbage(this.#context, tx, { kind: 'volume', name })
        }
      })
    }
  }

  /** Volumes that nobody appends to, in which no draft can get its name any more, and that are not on their way out. */
  async #closedVolumes(): Promise<VolumeState[]> {
    const { blobs, reclamation: company } = this.#context
    const leaving = new Set<string>()
    for await (const entry of recordsOf(this.#context, 'g')) {
      const garbage = garbageFormat.decode(entry.value)
      if (garbage.kind === 'volume') leaving.add(garbage.name)
    }
    const all = await blobs.volumes()
    const isClosed = ({ open, newest, writer }: VolumeState) => !open && !(newest && company.isPeerWriter(writer))
    // What was noted about a volume that is gone, or is being appended to after all, says nothing any more.
    const settled = new Set(all.filter(isClosed).map(({ name }) => name))
    for (const known of [this.#waitingFor, this.#payload]) {
      for (const name of known.keys()) if (!settled.has(name)) known.delete(name)
    }
    const closed = all.filter(({ name }) => settled.has(name) && !leaving.has(name))
    const fresh = closed.filter(({ name }) => !this.#waitingFor.has(name))
    if (fresh.length > 0) {
      const line = company.epoch('drafts')
      for (const { name } of fresh) this.#waitingFor.set(name, line)
    }
    return closed.filter(({ name }) => this.#waitingFor.get(name)!.hasPassed())
  }

  async #liveBytes(): Promise<Map<string, number>> {
    const live = new Map<string, number>()
    for await (const entry of recordsOf(this.#context, 'b', refuse)) {
      const { volume, storedLength } = blobFormat.decode(entry.value)
      if (volume !== undefined) live.set(volume, (live.get(volume) ?? 0) + storedLength)
    }
    return live
  }

  /**
   * Heads and padding are not dead: only payload is compared, and it is counted only where the file size suggests it.
   */
  async #isWorthIt({ name, bytes }: VolumeState, live: number): Promise<boolean> {
    if (live === 0) return true
    if (live > bytes * (1 - this.#deadShareMin)) return false
    let payload = this.#payload.get(name)
    if (payload === undefined) {
      payload = await this.#payloadOf(name)
      this.#payload.set(name, payload)
    }
    return live < payload && live <= payload * (1 - this.#deadShareMin)
  }

  /** Of a volume that cannot be walked to its end it is what was found: too little, so that it is left alone. */
  async #payloadOf(volume: string): Promise<number> {
    let payload = 0
    try {
      for await (const { place } of this.#context.blobs.records(volume)) payload += place.length
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
      this.damaged.push(error as Error)
    }
    return payload
  }

  /** Moves everything that lives in these volumes; returns those in which something had to stay. */
  async #moveOut(volumes: ReadonlySet<string>): Promise<Set<string>> {
    const kept = new Set<string>()
    for await (const entry of recordsOf(this.#context, 'b', refuse)) {
      const record = blobFormat.decode(entry.value)
      if (record.volume === undefined || !volumes.has(record.volume)) continue
      try {
        await this.#move(entry, record)
      } catch (error) {
        kept.add(record.volume)
        if (error instanceof DiskFull) continue
        // A sector that the disk cannot read any more is damage too.
        if (!(error instanceof DamagedBlob) && (error as NodeJS.ErrnoException).code !== 'EIO') throw error
        this.damaged.push(error as Error)
      }
    }
    return kept
  }

  /** Reading checks every frame, so damage is never carried along. */
  async #move(entry: Entry, { volume, offset, storedLength, frameBytes }: BlobRecord): Promise<void> {
    const { blobs, readers } = this.#context
    const id = entry.key.subarray(1)
    const place = { volume, offset, length: storedLength, frameBytes }
    // As a reader: it may be freed at any moment, and its volume with it.
    const ticket = readers.enter()
    try {
      const moved = await blobs.write(id, blobs.read(id, place, 0, storedLength), frameBytes)
      await transact(this.#context, async tx => {
        const now = await tx.get(entry.key)
        const record = now && blobFormat.decode(now.value)
        if (record === undefined || record.volume !== volume || record.offset !== offset) return
        tx.put(entry.key, blobFormat.encode({ ...record, volume: moved.volume, offset: moved.offset }))
      })
    } finally {
      readers.leave(ticket)
    }
  }
}

/** A blob record that cannot be read may point into any volume: until it is mended, none is given up. */
function refuse(damaged: DamagedRecord): never {
  throw damaged
}
