/**
 * Room that is set aside in a file, as CockroachDB does: ballast that is thrown off when the disk is full. A start
 * needs a few blocks (journals, the owner's record), and a delete does before it frees any. Without them a server on
 * a full disk could neither be read from nor be emptied.
 */
import { join } from 'node:path'
import type { Disk } from '../lib/disk.ts'

export const BALLAST_FILE = 'ballast'
export const BALLAST_BYTES = 8 * 2 ** 20
/** With less than this free, the ballast is needed. */
export const LOW_BYTES = 4 * 2 ** 20
const PIECE = Buffer.alloc(2 ** 20)

export class Ballast {
  readonly #disk: Disk
  readonly #folder: string

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** Makes room if there is hardly any; true when there was something to throw off. */
  async throwOff(): Promise<boolean> {
    if ((await this.#disk.free(this.#folder)) >= LOW_BYTES || !(await this.#isThere())) return false
    await this.#disk.remove(join(this.#folder, BALLAST_FILE))
    // A filesystem with a log gives blocks out again only when their removal stands in it.
    await this.#disk.syncFolder(this.#folder)
    return true
  }

  /** Takes it on (again) where so much stays free besides. */
  async takeOn(ampleBytes: number): Promise<void> {
    if ((await this.#isThere()) || (await this.#disk.free(this.#folder)) < ampleBytes + BALLAST_BYTES) return
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

  async #isThere(): Promise<boolean> {
    return (await this.#disk.list(this.#folder)).includes(BALLAST_FILE)
  }
}
