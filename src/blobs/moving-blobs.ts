/**
 * Blobs that move from one place to another while they are used. New blobs are written to the target only; everything
 * else is looked for in both places. Bytes are the same in both, and every frame is checked, so that a read that the
 * source cannot finish goes on in the target.
 */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import {
  type BlobCapacity,
  type BlobId,
  type BlobLocation,
  type Blobs,
  type Body,
  DamagedBlob,
  type MergeLimits,
  MissingBlob,
  type MovingPlaces,
  type PackedEntry,
  type VolumeState,
} from './blobs.ts'

/** Volumes whose place is remembered; beyond that they are looked for again. */
const KNOWN_VOLUMES_MAX = 100_000

export class MovingBlobs implements Blobs {
  readonly moving: MovingPlaces
  readonly merging?: MergeLimits
  readonly capacity?: () => Promise<BlobCapacity>
  readonly #source: Blobs
  readonly #target: Blobs
  /** A volume never changes its place: its name has the process that wrote it, which wrote to one place. */
  readonly #known = new Map<string, Blobs>()

  constructor(source: Blobs, target: Blobs) {
    this.#source = source
    this.#target = target
    this.moving = { source, target }
    if (target.merging !== undefined) this.merging = target.merging
    if (target.capacity !== undefined) this.capacity = () => target.capacity!()
  }

  ensureSpace(bytes: number): Promise<void> | undefined {
    return this.#target.ensureSpace(bytes)
  }

  write(id: BlobId, body: Body, frameBytes?: number): Promise<BlobLocation> {
    return this.#target.write(id, body, frameBytes)
  }

  /**
   * The source is tried first: what it has of a blob is whole until the blob is durable in the target, while the target
   * may have the torn beginning of a copy.
   */
  async *read(id: BlobId, location: BlobLocation, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
    const { volume } = location
    let position = start
    let failure: DamagedBlob | undefined
    if (volume === undefined || this.#known.get(volume) !== this.#target) {
      try {
        for await (const chunk of this.#source.read(id, location, start, end)) {
          position += chunk.length
          yield chunk
        }
        this.#remember(volume, this.#source)
        return
      } catch (error) {
        if (!(error instanceof DamagedBlob)) throw error
        failure = error
      }
    }
    try {
      yield* this.#target.read(id, location, position, end)
      if (failure === undefined || failure instanceof MissingBlob) this.#remember(volume, this.#target)
    } catch (error) {
      throw failure !== undefined && error instanceof MissingBlob ? failure : error
    }
  }

  #remember(volume: string | undefined, place: Blobs): void {
    if (volume === undefined) return
    if (this.#known.size >= KNOWN_VOLUMES_MAX) this.#known.clear()
    this.#known.set(volume, place)
  }

  readAtOnce(id: BlobId, location: BlobLocation, start: number, end: number): MaybePromise<Buffer | undefined> {
    const place = location.volume === undefined ? undefined : this.#known.get(location.volume)
    // Elsewhere the place is found by streaming.
    if (place !== this.#target) return undefined
    return place.readAtOnce(id, location, start, end)
  }

  async remove(id: BlobId, location: BlobLocation): Promise<void> {
    await this.#target.remove(id, location)
    await this.#source.remove(id, location)
  }

  async volumes(): Promise<readonly VolumeState[]> {
    return [...(await this.#source.volumes()), ...(await this.#target.volumes())]
  }

  async *entries(volume: string): AsyncGenerator<PackedEntry, void, undefined> {
    const isInSource = (await this.#source.volumes()).some(({ name }) => name === volume)
    yield* (isInSource ? this.#source : this.#target).entries(volume)
  }

  /** Nothing is ever appended to the source. */
  closeVolume(): Promise<void> {
    return this.#target.closeVolume()
  }

  closeIdle(): void {
    this.#source.closeIdle()
    this.#target.closeIdle()
  }

  async removeVolume(volume: string): Promise<void> {
    await this.#target.removeVolume(volume)
    await this.#source.removeVolume(volume)
  }

  /** A blob that has just been copied is in both places. */
  async *solos(): AsyncGenerator<BlobId, void, undefined> {
    yield* this.#source.solos()
    yield* this.#target.solos()
  }

  async close(): Promise<void> {
    await this.#target.close()
    await this.#source.close()
  }
}
