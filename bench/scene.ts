/** The environment of a benchmark: folders on the measured filesystem, and stores in them. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openFolder, type ServerParts } from '../src/server/compose.ts'
import type { Store } from '../src/store/store.ts'

export const OWNER = 'bench'
export const BUCKET = 'bench'

export class Scene {
  /** Fewer rounds and less data: shows that everything runs, not how fast it is. */
  readonly quick: boolean
  readonly folder: string
  readonly #open: ServerParts[] = []
  #folders = 0

  /** In the working folder, not in the system's temporary one, which is often in memory and has no sync. */
  constructor(quick: boolean) {
    this.quick = quick
    this.folder = resolve(`data-bench-${randomBytes(4).toString('hex')}`)
    mkdirSync(this.folder)
  }

  newFolder(name: string): string {
    const path = join(this.folder, `${++this.#folders}-${name}`)
    mkdirSync(path)
    return path
  }

  /** A new store with one empty bucket. `os` is for stores that are only read, so that filling them is fast. */
  async newStore(name: string, durability: 'fsync' | 'os' = 'fsync'): Promise<Store> {
    const parts = await openFolder({ folder: this.newFolder(name), durability })
    this.#open.push(parts)
    await parts.store.buckets.create({ name: BUCKET, owner: OWNER, lockEnabled: false })
    return parts.store
  }

  /** Closes every store and frees its resources before the next rows are measured. */
  async clear(): Promise<void> {
    for (const parts of this.#open.splice(0)) await parts.close()
    this.removeAll()
    mkdirSync(this.folder)
  }

  removeAll(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const randomName = (): string => randomBytes(12).toString('hex')

/** Reads to the end and returns the number of bytes. */
export async function drain(chunks: AsyncIterable<Buffer>): Promise<number> {
  let total = 0
  for await (const chunk of chunks) total += chunk.length
  return total
}
