/**
 * The marker of the store that a folder of blobs belongs to: two stores in one would free each other's blobs. The store
 * is in the name of an empty file, so that the marker is whole as soon as it exists.
 */
import { join } from 'node:path'
import type { Disk } from '../lib/disk.ts'

const MARKER = /^store-[0-9a-f]+$/

/** The name of the marker file of a store. */
export const markerOf = (storeId: Buffer): string => `store-${storeId.toString('hex')}`

/** Throws if the folder belongs to another store. Of two that claim it at the same time, at most one succeeds. */
export async function claimFolder(disk: Disk, folder: string, storeId: Buffer): Promise<void> {
  await disk.makeFolder(folder)
  const own = markerOf(storeId)
  const path = join(folder, own)
  const other = async (): Promise<string | undefined> =>
    (await disk.list(folder)).find(name => MARKER.test(name) && name !== own)
  const refuse = (marker: string): never => {
    throw new Error(`${folder} holds the blobs of another store (file ${marker}): use another folder`)
  }
  const before = await other()
  if (before !== undefined) refuse(before)
  if ((await disk.list(folder)).includes(own)) return
  const isFirst = await disk.open(path, 'create').then(
    file => file.close().then(() => true),
    (error: NodeJS.ErrnoException) => {
      // Another gateway of this store was faster.
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
  await disk.syncFolder(folder)
  const since = await other()
  if (since === undefined) return
  if (isFirst) await disk.remove(path)
  refuse(since)
}
