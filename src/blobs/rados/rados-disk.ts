import { basename } from 'node:path'
import { EMPTY } from '../../lib/bytes.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Disk, DiskFile } from '../../lib/disk.ts'
import type { BlobCapacity } from '../blobs.ts'
import type { ObjectNamespace } from './namespace.ts'
import { removeStripes, StripedFile, type StripedFileName } from './striped-file.ts'

/** The monitors get new statistics every few seconds; asking them more often tells nothing new. */
const CAPACITY_MS = 1_000

export interface ObjectPool {
  namespace(name: string): ObjectNamespace
  capacity(): Promise<BlobCapacity>
}

/**
 * A pool as the disk of blobs: files in the folders /volumes and /solo, each in a namespace of its own. An acknowledged
 * write is durable with its name, so that folders need neither be created nor synced.
 */
export class RadosDisk implements Disk {
  readonly #pool: ObjectPool
  readonly #volumes: ObjectNamespace
  readonly #solos: ObjectNamespace
  readonly #tails: ObjectNamespace
  readonly #clock: Clock
  #capacity: Promise<BlobCapacity> | undefined
  #measuredAt = 0
  #freeBytes: number | undefined

  constructor(pool: ObjectPool, namespace: string, clock: Clock = systemClock) {
    this.#pool = pool
    this.#clock = clock
    this.#volumes = pool.namespace(`${namespace}:volumes`)
    this.#solos = pool.namespace(`${namespace}:solo`)
    this.#tails = pool.namespace(`${namespace}:tails`)
  }

  #heads(path: string): ObjectNamespace {
    return path.startsWith('/volumes') ? this.#volumes : this.#solos
  }

  #file(path: string): StripedFileName {
    return { heads: this.#heads(path), tails: this.#tails, name: basename(path) }
  }

  async open(path: string, how: 'create' | 'read'): Promise<DiskFile> {
    const file = this.#file(path)
    if (how === 'create') await file.heads.create(file.name, EMPTY)
    else if ((await file.heads.size(file.name)) === undefined) {
      throw Object.assign(new Error(`RADOS: ${path}: ENOENT`), { code: 'ENOENT' })
    }
    return new StripedFile(file, how)
  }

  async makeFolder(): Promise<void> {}

  async syncFolder(): Promise<void> {}

  async list(path: string): Promise<string[]> {
    const names: string[] = []
    for await (const name of this.walk(path)) names.push(name)
    return names
  }

  walk(path: string): AsyncIterable<string> {
    return this.#heads(path).names()
  }

  rename(): Promise<void> {
    return Promise.reject(new Error('objects in RADOS cannot be renamed'))
  }

  remove(path: string): Promise<void> {
    return removeStripes(this.#file(path))
  }

  capacity(): Promise<BlobCapacity> {
    if (this.#capacity === undefined || this.#clock.elapsed() - this.#measuredAt > CAPACITY_MS) {
      this.#measuredAt = this.#clock.elapsed()
      this.#capacity = this.#pool.capacity()
    }
    return this.#capacity
  }

  /** While the monitors do not answer, the last known value counts: OSDs that are full refuse writes by themselves. */
  async free(): Promise<number> {
    try {
      this.#freeBytes = (await this.capacity()).freeBytes
    } catch (error) {
      if (this.#freeBytes === undefined) throw error
    }
    return this.#freeBytes
  }
}
