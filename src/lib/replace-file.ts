import { dirname } from 'node:path'
import type { Disk } from './disk.ts'

/** Durable when it resolves; at every moment the old file is there, or the new one. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const unfinished = `${path}.new`
  // A crash in this very place may have left one.
  await disk.remove(unfinished)
  const file = await disk.open(unfinished, 'create')
  try {
    await file.write([bytes], 0)
    await file.datasync()
  } catch (error) {
    await disk.remove(unfinished).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  await disk.rename(unfinished, path)
  await disk.syncFolder(dirname(path))
}
