/**
 * One server on a data folder. The owner is named in a record, changed only by compare-and-set, and proves that it
 * lives by its socket in the folder: of two that start at once one wins, and nobody has to guess whether a process is
 * dead.
 */
import { join } from 'node:path'
import { format, struct, text, uint } from '../lib/codec.ts'
import type { Disk } from '../lib/disk.ts'
import { isThere, type Presence, show } from '../lib/presence.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import { at } from './addresses.ts'

export interface Owner {
  /** Grows with every start. */
  readonly epoch: number
  /** Name of the owner's socket file. */
  readonly socket: string
}

export const ownerFormat = format<Owner>('X1', struct<Owner>({ epoch: uint, socket: text }))

export class FolderInUse extends Error {
  constructor(folder: string) {
    super(`another server is using ${folder}`)
    this.name = 'FolderInUse'
  }
}

export interface Ownership {
  readonly epoch: number
  end(): Promise<void>
}

const SOCKET = /^owner-[0-9a-f]{16}\.sock$/

export async function takeOwnership(folder: string, meta: Meta, disk: Disk, random: Random): Promise<Ownership> {
  const entry = await meta.get(at.owner())
  const before = entry === undefined ? undefined : ownerFormat.decode(entry.value)
  if (before !== undefined && (await isThere(join(folder, before.socket)))) throw new FolderInUse(folder)
  const socket = `owner-${random.bytes(8).toString('hex')}.sock`
  const presence: Presence = await show(join(folder, socket))
  const epoch = (before?.epoch ?? 0) + 1
  try {
    const won = await meta.commit({
      checks: [{ key: at.owner(), stamp: entry?.stamp }],
      writes: [{ key: at.owner(), value: ownerFormat.encode({ epoch, socket }) }],
    })
    if (!won) throw new FolderInUse(folder)
    for (const name of await disk.list(folder)) {
      if (SOCKET.test(name) && name !== socket) await disk.remove(join(folder, name))
    }
    return { epoch, end: () => presence.end() }
  } catch (error) {
    await presence.end()
    throw error
  }
}
