/** `--backup-folder`: where the server may take backups itself. */
import { relative, resolve, sep } from 'node:path'
import { BadConfig } from './bad-config.ts'
import { isBlobsAddress } from './blob-driver.ts'

function isWithin(folder: string, outer: string): boolean {
  const path = relative(resolve(outer), resolve(folder))
  return path !== '..' && !path.startsWith(`..${sep}`)
}

/** A backup within the data would be lost with them. */
export function backupFolderFrom(
  folder: string | undefined,
  data: string | undefined,
  blobs: string | undefined,
): string | undefined {
  if (folder === undefined) return undefined
  const places = [data, blobs !== undefined && isBlobsAddress(blobs) ? undefined : blobs]
  const outer = places.find(place => place !== undefined && isWithin(folder, place))
  if (outer !== undefined) throw new BadConfig(`--backup-folder is within ${outer}: choose a folder on another disk`)
  return resolve(folder)
}
