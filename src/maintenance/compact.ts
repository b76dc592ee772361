/**
 * Reclaims the space of packed bytes that nothing references: live blobs of a mostly dead volume move to the open one,
 * and the emptied file is removed when its last reader has left. Nothing is changed in place; a crash repeats the
 * round.
 * Only records decide which blobs are live. A volume is never removed because a walk through it found nothing: one
 * damaged header would hide every blob after it.
 */
import { type Body, DamagedBlob, DiskFull, type VolumeState } from '../blobs/blobs.ts'
import type { DamagedRecord, Entry } from '../meta/meta.ts'
import { type BlobRecord, blobFormat } from '../model/content.ts'
import { garbageFormat } from '../model/garbage.ts'
import { transact } from '../store/commit/transaction.ts'
import { addGarbage } from '../store/content/reference-counts.ts'
import { whileCopying } from '../store/reclaim/copying.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { recordsOf } from './records.ts'

/** Less live data is moved than is freed: a volume is rewritten at most once per halving of its live data. */
const DEAD_SHARE_MIN = 0.5
const VOLUMES_PER_COMMIT = 100
/** Fewer small volumes are not merged: each merge must leave far fewer than it found. */
const MERGED_VOLUMES_MIN = 16
/**
 * Blobs that are moved at once: small ones share a batch, its padding and its sync. Where each of them is a read of its
 * own, few enough that requests do not wait long behind them for a thread that reads.
 */
const APPENDED = { blobsMax: 64, bytes: 2 ** 20 }
const MERGED_BLOBS_MAX = 1000

interface LiveBlob {
  readonly entry: Entry
  readonly record: BlobRecord
}

export class Compactor implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #deadShareMin: number
  /**
   * Per closed volume, an epoch after the drafts that were active when it was first seen closed, since one of them may
   * still be named in it.
   */
  readonly #draftEpochs = new Map<string, Epoch>()
  /** Payload bytes of closed volumes, live or dead; they never change. */
  readonly #payload = new Map<string, number>()
  /** Blobs that the last round could not move because they do not match their checksums. */
  damaged: Error[] = []
  /** How long the last round took to find out what is closed and what is live, or to fail at it. */
  surveyMs = 0

  constructor(context: StoreContext, deadShareMin = DEAD_SHARE_MIN) {
    this.#context = context
    this.#deadShareMin = deadShareMin
  }

  /** One round over all volumes; busy when it emptied any. */
  async step(): Promise<'busy' | 'idle'> {
    this.damaged = []
    const { closed, live } = await this.#survey()
    const candidates = new Set<string>()
    for (const volume of closed) {
      if (await this.#isWorthCompacting(volume, live.get(volume.name) ?? 0)) candidates.add(volume.name)
    }
    for (const name of this.#smallVolumes(closed)) candidates.add(name)
    if (candidates.size === 0) return 'idle'
    // Dead volumes need no space elsewhere, so they are removed first, even on a full disk.
    const dead = [...candidates].filter(name => !live.has(name))
    await this.#removeVolumes(dead)
    const failed = await this.#moveOut(candidates)
    const emptied = [...candidates].filter(name => live.has(name) && !failed.has(name))
    await this.#removeVolumes(emptied)
    return dead.length + emptied.length > 0 ? 'busy' : 'idle'
  }

  /** Removes the volumes that have no live blobs, and moves nothing. */
  async removeDead(): Promise<void> {
    const { closed, live } = await this.#survey()
    await this.#removeVolumes(closed.map(({ name }) => name).filter(name => !live.has(name)))
  }

  /** The closed volumes, and the bytes that are live in each volume. */
  async #survey(): Promise<{ readonly closed: readonly VolumeState[]; readonly live: ReadonlyMap<string, number> }> {
    // Emptied volumes could not be freed while a backup runs and would only take more space.
    if (this.#context.reclamationLock.isHeld) return { closed: [], live: new Map() }
    const { clock } = this.#context
    const since = clock.elapsed()
    try {
      const closed = await this.#closedVolumes()
      return { closed, live: closed.length === 0 ? new Map() : await this.#liveBytes() }
    } finally {
      this.surveyMs = clock.elapsed() - since
    }
  }

  async #removeVolumes(volumes: readonly string[]): Promise<void> {
    for (let from = 0; from < volumes.length; from += VOLUMES_PER_COMMIT) {
      await transact(this.#context, async tx => {
        for (const name of volumes.slice(from, from + VOLUMES_PER_COMMIT)) {
          addGarbage(this.#context, tx, { kind: 'volume', name })
        }
      })
    }
  }

  /** Volumes that no process appends to, in which no draft can be named any more, and that are not being removed. */
  async #closedVolumes(): Promise<VolumeState[]> {
    const { blobs, reclamation } = this.#context
    const removing = new Set<string>()
    for await (const entry of recordsOf(this.#context, 'g')) {
      const garbage = garbageFormat.decode(entry.value)
      if (garbage.kind === 'volume') removing.add(garbage.name)
    }
    const all = await blobs.volumes()
    const isPeer = await reclamation.peerWriters()
    const isClosed = ({ open, newest, writer }: VolumeState) => !open && !(newest && isPeer(writer))
    // State of volumes that are gone or open again is outdated.
    const closedNames = new Set(all.filter(isClosed).map(({ name }) => name))
    for (const cache of [this.#draftEpochs, this.#payload]) {
      for (const name of cache.keys()) if (!closedNames.has(name)) cache.delete(name)
    }
    const closed = all.filter(({ name }) => closedNames.has(name) && !removing.has(name))
    const newlyClosed = closed.filter(({ name }) => !this.#draftEpochs.has(name))
    if (newlyClosed.length > 0) {
      const epoch = reclamation.epoch('drafts')
      for (const { name } of newlyClosed) this.#draftEpochs.set(name, epoch)
    }
    return closed.filter(({ name }) => this.#draftEpochs.get(name)!.hasPassed())
  }

  async #liveBytes(): Promise<Map<string, number>> {
    const live = new Map<string, number>()
    for await (const entry of recordsOf(this.#context, 'b', throwDamage)) {
      const { volume, storedLength } = blobFormat.decode(entry.value)
      if (volume !== undefined) live.set(volume, (live.get(volume) ?? 0) + storedLength)
    }
    return live
  }

  /**
   * Headers and padding do not count as dead: only payload is compared, and it is read only if the file size suggests
   * it.
   */
  async #isWorthCompacting({ name, bytes }: VolumeState, live: number): Promise<boolean> {
    if (live === 0) return true
    if (live > bytes * (1 - this.#deadShareMin)) return false
    let payload = this.#payload.get(name)
    if (payload === undefined) {
      payload = await this.#payloadOf(name)
      this.#payload.set(name, payload)
    }
    return live < payload && live <= payload * (1 - this.#deadShareMin)
  }

  /** Volumes to merge, where the engine makes a volume of every batch. */
  #smallVolumes(closed: readonly VolumeState[]): readonly string[] {
    const { merging } = this.#context.blobs
    if (merging === undefined) return []
    const small = closed.filter(({ bytes }) => bytes < merging.volumeBytesMin)
    return small.length < MERGED_VOLUMES_MIN ? [] : small.map(({ name }) => name)
  }

  /** For a volume that cannot be read to its end this is an underestimate, so that it is left alone. */
  async #payloadOf(volume: string): Promise<number> {
    let payload = 0
    try {
      for await (const { location } of this.#context.blobs.entries(volume)) payload += location.length
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
      this.damaged.push(error as Error)
    }
    return payload
  }

  /** Moves all live blobs out of these volumes; returns the volumes that could not be emptied. */
  async #moveOut(volumes: ReadonlySet<string>): Promise<Set<string>> {
    const failed = new Set<string>()
    const { merging } = this.#context.blobs
    const full = merging === undefined ? APPENDED : { blobsMax: MERGED_BLOBS_MAX, bytes: merging.groupBytes }
    let group: LiveBlob[] = []
    let bytes = 0
    for await (const entry of recordsOf(this.#context, 'b', throwDamage)) {
      const record = blobFormat.decode(entry.value)
      if (record.volume === undefined || !volumes.has(record.volume)) continue
      group.push({ entry, record })
      bytes += record.storedLength
      if (bytes < full.bytes && group.length < full.blobsMax) continue
      await this.#moveGroup(group, failed)
      group = []
      bytes = 0
    }
    await this.#moveGroup(group, failed)
    return failed
  }

  /** Adds the volumes of blobs that could not be moved to `failed`. */
  async #moveGroup(group: readonly LiveBlob[], failed: Set<string>): Promise<void> {
    await whileCopying(this.#context, async () => {
      const bodies = await settled(group, blob => this.#bodyOf(blob))
      const moves = await settled(group, (blob, index) => this.#move(blob, bodies[index]!))
      for (const [index, moved] of moves.entries()) {
        if (moved.status === 'fulfilled') continue
        failed.add(group[index]!.record.volume!)
        const { reason } = moved
        if (reason instanceof DiskFull) continue
        // An unreadable sector is damage too.
        if (!(reason instanceof DamagedBlob) && (reason as NodeJS.ErrnoException).code !== 'EIO') throw reason
        this.damaged.push(reason as Error)
      }
    })
  }

  /** Where moves share a volume, all bodies are read first, so that their writes arrive together. */
  async #bodyOf({ entry, record }: LiveBlob): Promise<Body> {
    const { blobs } = this.#context
    const { volume, offset, storedLength, frameBytes } = record
    const location = { volume, offset, length: storedLength, frameBytes }
    // Reads verify every frame, so damage is never copied.
    const body = blobs.read(entry.key.subarray(1), location, 0, storedLength)
    if (blobs.merging === undefined) return body
    const chunks: Buffer[] = []
    for await (const chunk of body) chunks.push(chunk)
    return chunks
  }

  async #move({ entry, record }: LiveBlob, body: PromiseSettledResult<Body>): Promise<void> {
    if (body.status === 'rejected') throw body.reason
    const { volume, offset, frameBytes } = record
    const moved = await this.#context.blobs.write(entry.key.subarray(1), body.value, frameBytes)
    await transact(this.#context, async tx => {
      const now = await tx.get(entry.key)
      const current = now && blobFormat.decode(now.value)
      if (current === undefined || current.volume !== volume || current.offset !== offset) return
      tx.put(entry.key, blobFormat.encode({ ...current, volume: moved.volume, offset: moved.offset }))
    })
  }
}

const settled = <T, R>(all: readonly T[], step: (one: T, index: number) => Promise<R>) =>
  Promise.allSettled(all.map(step))

/** An unreadable blob record may reference any volume: until it is repaired, none is removed. */
function throwDamage(damaged: DamagedRecord): never {
  throw damaged
}
