/**
 * Disk space reserved in a ballast file, as in CockroachDB, and released when the disk is full. A start needs a few
 * blocks (journals, the owner's record), and so does a delete before it frees any. Without the ballast a server on a
 * full disk could neither be read from nor be emptied.
 */
import { join } from 'node:path'
import type { Disk } from '../lib/disk.ts'

export const BALLAST_FILE = 'ballast'
export const BALLAST_BYTES = 8 * 2 ** 20
/** Below this much free space the ballast is released. */
export const LOW_BYTES = 4 * 2 ** 20
const PIECE = Buffer.alloc(2 ** 20)

export class Ballast {
  readonly #disk: Disk
  readonly #folder: string

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** Releases the ballast if space is low; returns whether it did. */
  async release(): Promise<boolean> {
    if ((await this.#disk.free(this.#folder)) >= LOW_BYTES || !(await this.#exists())) return false
    await this.#disk.remove(join(this.#folder, BALLAST_FILE))
    // A journaling filesystem reuses blocks only once their removal is in its journal.
    await this.#disk.syncFolder(this.#folder)
    return true
  }

  /** Allocates the ballast if `ampleBytes` stay free besides. */
  async allocate(ampleBytes: number): Promise<void> {
    if ((await this.#exists()) || (await this.#disk.free(this.#folder)) < ampleBytes + BALLAST_BYTES) return
    const path = join(this.#folder, BALLAST_FILE)
    await this.#disk.remove(`${path}.new`)
    const file = await this.#disk.open(`${path}.new`, 'create')
    try {
      for (let at = 0; at < BALLAST_BYTES; at += PIECE.length) await file.write([PIECE], at)
    } catch (error) {
      await this.#disk.remove(`${path}.new`)
      throw error
    } finally {
      await file.close()
    }
    await this.#disk.rename(`${path}.new`, path)
  }

  async #exists(): Promise<boolean> {
    return (await this.#disk.list(this.#folder)).includes(BALLAST_FILE)
  }
}
