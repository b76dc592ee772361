/**
 * Refuses to begin a store where there are blobs already. To new records all of them would be garbage: a data folder
 * whose disk is not mounted, a wrong database or a forgotten move of the metadata would cost every byte.
 */
import type { Disk } from '../lib/disk.ts'
import type { Meta } from '../meta/meta.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import { KEYRING_KEY } from '../store/keys/keyring-id.ts'
import { BadConfig } from './bad-config.ts'
import { hasNoBlobs, printableBlobsPlace } from './blob-driver.ts'

interface NewStore {
  readonly meta: Meta
  readonly disk: Disk
  readonly blobsPlace: string
  readonly blobsFrom?: string | undefined
}

async function isNew(meta: Meta): Promise<boolean> {
  if ((await meta.get(KEYRING_KEY)) !== undefined) return false
  // Damage may have taken a single record.
  return (await meta.scan(keyRanges.kind('b'), 1)).length === 0
}

/** Called before the first record of a store is written. */
export async function assertNoForeignBlobs({ meta, disk, blobsPlace, blobsFrom }: NewStore): Promise<void> {
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
