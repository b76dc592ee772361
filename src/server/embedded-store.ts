/** The store of an embedded server: in memory, or in a folder, which may be emptied only if it was empty before. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { MemoryDisk } from '../lib/memory-disk.ts'
import { openFolder, openMemory, type ServerParts } from './compose.ts'

export interface EmbeddedStore {
  /** False for a folder that was not empty when it was opened. */
  readonly mayBeEmptied: boolean
  open(): Promise<ServerParts>
  /** Must be called while the store is closed. */
  empty(): Promise<void>
}

interface EmbeddedStoreOptions {
  readonly folder: string | undefined
  readonly durability: 'fsync' | 'os'
  readonly clock: Clock
  readonly isDiskFull: () => boolean
}

export async function openEmbeddedStore({
  folder,
  durability,
  clock,
  isDiskFull,
}: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  if (folder === undefined) {
    return {
      mayBeEmptied: true,
      open: () => openMemory({ clock, disk: Object.assign(new MemoryDisk(), { isFull: isDiskFull }) }),
      empty: async () => {},
    }
  }
  return {
    mayBeEmptied: (await realDisk.list(folder)).length === 0,
    open: () => openFolder({ folder, durability, clock, disk: { ...realDisk, isFull: isDiskFull } }),
    async empty() {
      for (const name of await realDisk.list(folder)) await rm(join(folder, name), { recursive: true, force: true })
    },
  }
}
