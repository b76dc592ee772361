/** Files that keep a server from starting on a data folder that is not a whole store. */
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
import { readText } from './accounts.ts'

/** Exists until a folder is completely restored. */
export const RESTORING_FILE = 'restoring'
/** Exists while the metadata of a folder are rebuilt. */
export const REBUILDING_FILE = 'rebuilding'

/** Exists while the last records are moved to a database. */
export const MOVING_FILE = 'moving'
/** Exists once the metadata are in a database, which it names. */
export const MOVED_FILE = 'moved'

/** `moving` is the run that may go on where another has stopped. */
export async function assertWhole(folder: string, as: 'store' | 'moving' = 'store'): Promise<void> {
  const names = await realDisk.list(folder)
  if (names.includes(RESTORING_FILE)) throw new Error(`${folder} is partly restored: run the same restore again`)
  if (names.includes(REBUILDING_FILE)) throw new Error(`${folder} is partly rebuilt: run holdfast rebuild again`)
  if (as === 'store' && names.includes(MOVING_FILE)) {
    throw new Error(`the metadata of ${folder} are being moved: run holdfast meta move --finish again`)
  }
}

/** For a store whose metadata are in the folder. */
export async function assertNotMoved(folder: string): Promise<void> {
  if (!(await realDisk.list(folder)).includes(MOVED_FILE)) return
  const place = (await readText(realDisk, join(folder, MOVED_FILE))).trim()
  throw new Error(`the metadata of ${folder} were moved to ${place}: start with --meta`)
}
