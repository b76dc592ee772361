/** Files that keep a server from starting on a data folder that is not a whole store. */
import { realDisk } from '../lib/disk.ts'

/** Exists until a folder is completely restored. */
export const RESTORING_FILE = 'restoring'
/** Exists while the metadata of a folder are rebuilt. */
export const REBUILDING_FILE = 'rebuilding'

export async function assertWhole(folder: string): Promise<void> {
  const names = await realDisk.list(folder)
  if (names.includes(RESTORING_FILE)) throw new Error(`${folder} is partly restored: run the same restore again`)
  if (names.includes(REBUILDING_FILE)) throw new Error(`${folder} is partly rebuilt: run holdfast rebuild again`)
}
