/** Lists the versions of a bucket that have a legal hold or a retention, in pages of bounded work. */
import { keySuccessor } from '../lib/bytes.ts'
import type { Lock } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { parseRecordKey } from '../store/commit/record-keys.ts'
import { rangeOf } from '../store/listing/listing-page.ts'
import type { StoreContext } from '../store/store-context.ts'
import { readPage } from './records.ts'

export interface LockedVersion {
  readonly key: string
  readonly versionId: string
  readonly size: number
  readonly modifiedAt: number
  readonly lock: Lock
  /** The current version of its key. */
  readonly latest: boolean
}

/** Records read for one page at most: a large bucket may have few locks. */
const RECORDS_MAX = 20_000
const BATCH = 500

/** Current versions first, then older ones. */
const KINDS = ['o', 'v'] as const

/** A record key in hexadecimal, whose first byte is the kind. */
const CURSOR = /^(6f|76)([0-9a-f]{2})+$/

export const isLockCursor = (text: string): boolean => CURSOR.test(text)

export async function lockedVersions(
  context: StoreContext,
  { bucket, prefix, after, limit }: { bucket: string; prefix: string; after: string | undefined; limit: number },
): Promise<{ readonly versions: readonly LockedVersion[]; readonly next: string | undefined }> {
  const versions: LockedVersion[] = []
  const from = after === undefined ? undefined : Buffer.from(after, 'hex')
  let read = 0
  for (const kind of KINDS) {
    const range = rangeOf(kind, { bucket, prefix, limit: BATCH })
    const isBehind = from !== undefined && range.end !== undefined && from.compare(range.end) >= 0
    if (isBehind) continue
    const isWithin = from !== undefined && from.compare(range.start) > 0
    for (let start: Buffer | undefined = isWithin ? from : range.start; start !== undefined; ) {
      const page = await readPage(context, { start, end: range.end }, BATCH)
      for (const { key: address, value } of page.entries) {
        const { id, size, modifiedAt, lock } = versionFormat.decode(value)
        read++
        const isLocked = lock.hold === true || lock.retention !== undefined
        const key = parseRecordKey(address).name
        if (isLocked) versions.push({ key, versionId: id, size, modifiedAt, lock, latest: kind === 'o' })
        if (versions.length >= limit || read >= RECORDS_MAX) {
          return { versions, next: keySuccessor(address).toString('hex') }
        }
      }
      start = page.next
    }
  }
  return { versions, next: undefined }
}
