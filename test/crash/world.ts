/** A whole machine in memory: a disk that can lose its power, records, and the processes that start and end on them. */
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import type { Disk } from '../../src/lib/disk.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { Store } from '../../src/store/store.ts'
import type { Sizes } from './choose.ts'
import { FailingMeta } from './failing-meta.ts'

const FOLDER = '/data'
/** So short that a handful of small writes covers every way of storing bytes. */
const PACKED_BYTES_MAX = 12 * 1024
const VOLUME_BYTES_MAX = 48 * 1024

/** Sizes that match these limits. */
export const SMALL: Sizes = {
  inlineMax: 4096,
  packedMax: PACKED_BYTES_MAX,
  soloMax: 20_000,
  soloShare: 0.25,
  partMin: 5 * 2 ** 20,
}

export interface Process {
  readonly store: Store
  readonly meta: FailingMeta
}

export interface ProcessOptions {
  readonly durability?: 'fsync' | 'os'
  /** Called around every commit. */
  readonly border?: () => Promise<void>
  /** Wraps the world's own disk. */
  readonly through?: (disk: Disk) => Disk
}

export class World {
  readonly disk: MemoryDisk
  readonly records: Meta
  readonly #random: Random

  private constructor(disk: MemoryDisk, records: Meta, random: Random) {
    this.disk = disk
    this.records = records
    this.#random = random
  }

  static async create(random: Random): Promise<World> {
    return new World(new MemoryDisk({ crashable: true }), await openMemoryMeta(), random)
  }

  async start({ durability = 'fsync', border, through }: ProcessOptions = {}): Promise<Process> {
    const random = this.#random
    const meta = new FailingMeta(this.records, border)
    const disk = through === undefined ? this.disk : through(this.disk)
    await disk.makeFolder(FOLDER)
    const keyring = await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random })
    const ids = new Ids(random)
    const blobs = await openBlobs({
      disk,
      folder: `${FOLDER}/blobs`,
      writer: ids.writer,
      durability,
      packedBytesMax: PACKED_BYTES_MAX,
      volumeBytesMax: VOLUME_BYTES_MAX,
    })
    return { store: Store.open({ meta, blobs, keyring, clock: new ManualClock(), random, ids }), meta }
  }

  /** The same records on the disk as it may look after a power cut now. */
  afterPowerCut(random: Random): World {
    return new World(this.disk.powerCut(random), this.records, this.#random)
  }

  /** A copy of the machine after everything has reached its disk. */
  afterRest(): World {
    // Nothing is unsynced after a rest, so randomness is never used.
    return this.afterPowerCut({ fraction: () => 0.4, bytes: count => Buffer.alloc(count) })
  }

  /** Other records on the same disk. */
  withRecords(records: Meta): World {
    return new World(this.disk, records, this.#random)
  }

  /** As after a kill: later calls of the dead process have no effect. */
  async end({ store, meta }: Process): Promise<void> {
    meta.end()
    await store.context.blobs.close()
  }
}
