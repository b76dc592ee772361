/** Judges the place that a server keeps its blobs in, by trying it. What it writes there it removes again. */
import { existsSync } from 'node:fs'
import type { StoreFacts } from '../blobs/s3/store-check.ts'
import { WRITER_BYTES } from '../lib/ids.ts'
import { systemRandom } from '../lib/random.ts'
import { isBlobsAddress, printableBlobsPlace, s3OptionsOf } from './blob-driver.ts'
import { bad, type DoctorFinding, good, odd } from './doctor-finding.ts'
import { folderFindings } from './folder-findings.ts'
import { poolFindings } from './pool-findings.ts'

/** A person waits for the answer, and a store that cannot be reached for that long is worth a finding. */
const RETRIES = { forMs: 3_000 }

export function judgeStore(place: string, { refusesOverwrites, verifies }: StoreFacts): DoctorFinding[] {
  const overwrites = refusesOverwrites ? 'it refuses overwrites when asked to' : 'it cannot refuse overwrites'
  return [
    good('store', `${place}: writes, replacements and removals are visible immediately, ranges are exact`),
    good('store', `it verifies ${verifies.join(' and ')} of uploads; ${overwrites}`),
  ]
}

async function storeFindings(place: string): Promise<DoctorFinding[]> {
  const { inspectS3Store } = await import('../blobs/s3/s3-blobs.ts')
  const { UnfitStore } = await import('../blobs/s3/store-check.ts')
  try {
    const options = s3OptionsOf(new URL(place), systemRandom.bytes(WRITER_BYTES))
    return judgeStore(printableBlobsPlace(place), await inspectS3Store({ ...options, retries: RETRIES }))
  } catch (error) {
    const advice =
      error instanceof UnfitStore ? 'use another store or bucket: a server refuses it' : 'the server would not start'
    return [bad('store', (error as Error).message, advice)]
  }
}

export async function blobFindings(place: string): Promise<DoctorFinding[]> {
  if (/^rados:/i.test(place)) return poolFindings(place)
  if (/^s3:/i.test(place)) return storeFindings(place)
  if (isBlobsAddress(place)) return [bad('blobs', printableBlobsPlace(place), 'name a folder, rados://… or s3://…')]
  if (!existsSync(place)) return [odd('blobs', `${place} does not exist`, 'mount it, or let the first start create it')]
  return folderFindings(place, 'bytes', 'blobs ')
}
