/** The format of every kind of record, for code that scans all of them. */

import { keySuccessor } from '../lib/bytes.ts'
import type { RecordDecoder } from '../lib/codec.ts'
import { DamagedRecord, type Entry, type KeyRange } from '../meta/meta.ts'
import { accountFormat, canonicalIdFormat, keyFormat, keyOfFormat, userFormat } from '../model/account.ts'
import { bucketFormat } from '../model/bucket.ts'
import { completedFormat } from '../model/completed.ts'
import { blobFormat, contentFormat, pageFormat, type Slice } from '../model/content.ts'
import { type Garbage, garbageFormat } from '../model/garbage.ts'
import { ledgerEntryFormat, ledgerHeadFormat, ledgerIndexFormat } from '../model/ledger.ts'
import { partFormat, uploadFormat } from '../model/upload.ts'
import { countersFormat } from '../model/usage.ts'
import { deletedFormat, type Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { ownedFormat } from '../store/buckets/bucket-owner-index.ts'
import { documentFormat } from '../store/buckets/documents.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import type { StoreContext } from '../store/store-context.ts'

export const FORMATS: Readonly<Record<string, RecordDecoder<unknown>>> = {
  B: bucketFormat,
  d: documentFormat,
  o: versionFormat,
  v: versionFormat,
  h: deletedFormat,
  u: uploadFormat,
  p: partFormat,
  b: blobFormat,
  c: contentFormat,
  s: pageFormat,
  g: garbageFormat,
  e: completedFormat,
  A: accountFormat,
  I: canonicalIdFormat,
  n: userFormat,
  k: keyFormat,
  K: keyOfFormat,
  w: ownedFormat,
  U: countersFormat,
  L: ledgerHeadFormat,
  l: ledgerEntryFormat,
  i: ledgerIndexFormat,
} as Record<string, RecordDecoder<unknown>>

const PAGE = 256

/**
 * A page of records up to the first damaged one. A record whose key is out of order results from a damaged tree; the
 * scan ends there, since continuing from its key would loop.
 */
export async function readPage(
  context: StoreContext,
  range: KeyRange,
  limit = PAGE,
): Promise<{ entries: readonly Entry[]; damaged: DamagedRecord | undefined; next: Buffer | undefined }> {
  const { meta } = unguarded(context)
  try {
    const entries = await meta.scan(range, limit)
    const misplaced = entries.findIndex((entry, i) => !isInOrder(range, entries[i - 1]?.key, entry.key))
    if (misplaced >= 0) {
      return {
        entries: entries.slice(0, misplaced),
        damaged: new DamagedRecord(entries[misplaced]!.key),
        next: undefined,
      }
    }
    const next = entries.length < limit ? undefined : keySuccessor(entries.at(-1)!.key)
    return { entries, damaged: undefined, next }
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
    if (!isInOrder(range, undefined, error.key)) return { entries: [], damaged: error, next: undefined }
    const entries = await meta.scan({ start: range.start, end: error.key }, limit)
    return { entries, damaged: error, next: keySuccessor(error.key) }
  }
}

function isInOrder({ start, end }: KeyRange, before: Buffer | undefined, key: Buffer): boolean {
  if (before === undefined ? key.compare(start) < 0 : key.compare(before) <= 0) return false
  return end === undefined || key.compare(end) < 0
}

/** An engine in this process answers at once: without a turn a scan of a large store would hold up all requests. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/**
 * All records of one kind. Damaged ones are skipped and passed to `onDamage`; the scrubber reports them in any case.
 */
export async function* recordsOf(
  context: StoreContext,
  kind: string,
  onDamage: (damaged: DamagedRecord) => void = () => {},
): AsyncGenerator<Entry> {
  const end = Buffer.from([kind.charCodeAt(0) + 1])
  for (let start: Buffer | undefined = Buffer.from(kind, 'latin1'); start !== undefined; ) {
    const page = await readPage(context, { start, end })
    yield* page.entries
    if (page.damaged !== undefined) onDamage(page.damaged)
    start = page.next
    if (start !== undefined) await turn()
  }
}

/** The direct references of a version: slices, or a shared content. */
export function referencesOf(version: Version): { slices: readonly Slice[]; content: Buffer | undefined } {
  const { content } = version
  return {
    slices: content.kind === 'slices' ? content.slices : [],
    content: content.kind === 'shared' ? content.id : undefined,
  }
}

export function garbageReferences(garbage: Garbage): { slices: readonly Slice[]; content: Buffer | undefined } {
  return {
    slices: garbage.kind === 'slices' ? garbage.slices : [],
    content: garbage.kind === 'content' ? garbage.id : undefined,
  }
}
