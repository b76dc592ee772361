import { dirname } from 'node:path'
import type { Disk } from './disk.ts'

/** Durable when it resolves; at any time either the old or the new file exists. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.new`
  // A crash may have left one.
  await disk.remove(temporary)
  const file = await disk.open(temporary, 'create')
  try {
    await file.write([bytes], 0)
    await file.datasync()
  } catch (error) {
    await disk.remove(temporary).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  await disk.rename(temporary, path)
  await disk.syncFolder(dirname(path))
}
