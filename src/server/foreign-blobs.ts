/**
 * Refuses to start with metadata and blobs that do not belong together. To new records all blobs would be garbage: a
 * data folder whose disk is not mounted, a wrong database or a forgotten move of the metadata would cost every byte. In
 * an empty folder, where the disk of the blobs is not mounted, new blobs would disappear behind it later.
 */
import { join } from 'node:path'
import { markerOf } from '../blobs/folder-claim.ts'
import type { Disk } from '../lib/disk.ts'
import type { Meta } from '../meta/meta.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import { KEYRING_KEY } from '../store/keys/keyring-id.ts'
import { BadConfig } from './bad-config.ts'
import { hasNoBlobs, isBlobsAddress, printableBlobsPlace } from './blob-driver.ts'

interface StorePlaces {
  readonly meta: Meta
  readonly disk: Disk
  readonly blobsPlace: string
  readonly blobsFrom?: string | undefined
}

const namesBlobs = async (meta: Meta): Promise<boolean> => (await meta.scan(keyRanges.kind('b'), 1)).length > 0

async function isNew(meta: Meta): Promise<boolean> {
  if ((await meta.get(KEYRING_KEY)) !== undefined) return false
  // Damage may have taken a single record.
  return !(await namesBlobs(meta))
}

/** Called before the first record of a store is written. */
export async function assertNoForeignBlobs({ meta, disk, blobsPlace, blobsFrom }: StorePlaces): Promise<void> {
  if (!(await isNew(meta))) return
  for (const place of [blobsPlace, blobsFrom]) {
    if (place === undefined || (await hasNoBlobs(place, disk))) continue
    // Another gateway may have begun the store meanwhile.
    if (!(await isNew(meta))) return
    throw new BadConfig(
      `${printableBlobsPlace(place)} has blobs, but these metadata are empty, and a new store would remove them. If \
they belong to a store, start with its --data and --meta (holdfast meta move brings the metadata of a folder into a \
database); otherwise use another place, or empty this one.`,
    )
  }
}

/** Called before the store claims the folder of its blobs. A folder that it has claimed may have lost them. */
export async function assertBlobsAreThere(
  { meta, disk, blobsPlace, blobsFrom }: StorePlaces,
  storeId: Buffer,
): Promise<void> {
  if (isBlobsAddress(blobsPlace) || (await disk.list(blobsPlace)).includes(markerOf(storeId))) return
  if (!(await namesBlobs(meta)) || !(await hasNoBlobs(blobsPlace, disk))) return
  if (blobsFrom !== undefined && !(await hasNoBlobs(blobsFrom, disk))) return
  throw new BadConfig(
    `${blobsPlace} has none of the blobs that these metadata name: is its disk mounted, and is it the right folder? If \
all of them are lost, create the file ${join(blobsPlace, markerOf(storeId))} to start without them.`,
  )
}
