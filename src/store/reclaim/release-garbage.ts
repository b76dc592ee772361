/**
 * Releases the references that garbage holds, in bounded commits. Each commit is idempotent together with its garbage
 * record: after a crash the work is repeated or continued, and no reference is released twice.
 */
import assert from 'node:assert/strict'
import { type Entry, META_LIMITS } from '../../meta/meta.ts'
import { type BlobRecord, blobFormat, contentFormat, pageFormat, type Slice } from '../../model/content.ts'
import { type Garbage, garbageFormat } from '../../model/garbage.ts'
import { partFormat } from '../../model/upload.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import { BrokenReference } from '../content/read-content.ts'
import { addGarbage } from '../content/reference-counts.ts'
import type { StoreContext } from '../store-context.ts'
import { isPartUsed } from '../uploads/completion.ts'

const PARTS_PER_SCAN = 64
/** Parts and slices per commit: with one volume record per slice this stays below a commit's limit. */
const RELEASED_PER_COMMIT = 100
assert(2 * RELEASED_PER_COMMIT + 2 < META_LIMITS.commitKeysMax)

/** How many of these parts fit one commit; at least one, since a part has only a few slices. */
function fitting(parts: readonly { readonly slices: readonly Slice[] }[]): number {
  let weight = 0
  const over = parts.findIndex(({ slices }) => (weight += 1 + slices.length) > RELEASED_PER_COMMIT)
  return over < 0 ? parts.length : Math.max(1, over)
}

/** Blobs that lost their last reference; their bytes are freed after the commit. */
type Freed = { readonly id: Buffer; readonly record: BlobRecord }[]

/** Releases one garbage record and everything it references. Returns the bytes of the packed blobs that it frees. */
export async function releaseGarbage(context: StoreContext, entry: Entry): Promise<number> {
  const garbage = garbageFormat.decode(entry.value)
  switch (garbage.kind) {
    case 'slices':
      return releaseSlices(context, entry, garbage.slices)
    case 'content':
      return releaseContent(context, entry, garbage.id)
    case 'pages':
      return releasePages(context, entry, garbage)
    case 'parts':
      return releaseParts(context, entry, garbage)
    case 'volume':
      return releaseVolume(context, entry, garbage.name)
  }
}

/** Commits a change that drops references, then frees the bytes of unreferenced blobs. */
async function commitAndFree(
  context: StoreContext,
  change: (tx: Transaction, freed: Freed) => Promise<void>,
): Promise<number> {
  const freed = await transact(context, async tx => {
    const out: Freed = []
    await change(tx, out)
    return out
  })
  // A crash before this leaves files without a record, which the sweep removes.
  let packedBytes = 0
  for (const { id, record } of freed) {
    await context.blobs.remove(id, { ...record, length: record.storedLength })
    if (record.volume !== undefined) packedBytes += record.storedLength
  }
  return packedBytes
}

/** Checks that the garbage record still exists: otherwise another worker has done the work. */
async function stillExists(tx: Transaction, entry: Entry): Promise<boolean> {
  return (await tx.get(entry.key)) !== undefined
}

function releaseSlices(context: StoreContext, entry: Entry, slices: readonly Slice[]): Promise<number> {
  return commitAndFree(context, async (tx, freed) => {
    if (!(await stillExists(tx, entry))) return
    await dropReferences(context, tx, slices, freed)
    tx.remove(entry.key)
  })
}

async function releaseContent(context: StoreContext, entry: Entry, id: Buffer): Promise<number> {
  const last = await transact(context, async tx => {
    if (!(await stillExists(tx, entry))) return false
    const content = await tx.get(recordKey.content(id))
    if (content === undefined) throw new BrokenReference('content record', id)
    const record = contentFormat.decode(content.value)
    if (record.referenceCount > 1) {
      tx.put(content.key, contentFormat.encode({ ...record, referenceCount: record.referenceCount - 1 }))
      tx.remove(entry.key)
      return false
    }
    tx.remove(content.key)
    tx.put(entry.key, garbageFormat.encode({ kind: 'pages', id, held: true }))
    return true
  })
  return last ? releasePages(context, entry, { id, held: true }) : 0
}

async function releasePages(
  context: StoreContext,
  entry: Entry,
  { id, held }: { readonly id: Buffer; readonly held: boolean },
): Promise<number> {
  let packedBytes = 0
  // Pages that were named while their garbage record waited belong to an object; naming removed the garbage record.
  while ((await context.meta.get(entry.key)) !== undefined) {
    const [page] = await context.meta.scan(keyRanges.pages(id), 1)
    if (page === undefined) break
    packedBytes += await commitAndFree(context, async (tx, freed) => {
      const now = await tx.get(page.key)
      if (now === undefined || !(await stillExists(tx, entry))) return
      const parts = pageFormat.decode(now.value)
      const count = held ? fitting(parts) : parts.length
      const rest = parts.slice(count)
      const dropped = parts.slice(0, count).flatMap(part => part.slices)
      if (held) await dropReferences(context, tx, dropped, freed)
      if (rest.length > 0) tx.put(page.key, pageFormat.encode(rest))
      else tx.remove(page.key)
    })
  }
  await transact(context, async tx => tx.remove(entry.key))
  return packedBytes
}

async function releaseParts(
  context: StoreContext,
  entry: Entry,
  { upload, taken }: Extract<Garbage, { kind: 'parts' }>,
): Promise<number> {
  let packedBytes = 0
  while ((await context.meta.get(entry.key)) !== undefined) {
    const found = await context.meta.scan(keyRanges.parts(upload), PARTS_PER_SCAN)
    if (found.length === 0) break
    const parts = found.map(entry => ({ entry, ...partFormat.decode(entry.value) }))
    const released = parts.slice(0, fitting(parts))
    packedBytes += await commitAndFree(context, async (tx, freed) => {
      if (!(await stillExists(tx, entry))) return
      const slices: Slice[] = []
      for (const part of released) {
        tx.check(part.entry)
        tx.remove(part.entry.key)
        if (!isPartUsed(taken, part.number)) slices.push(...part.slices)
      }
      await dropReferences(context, tx, slices, freed)
    })
  }
  await transact(context, async tx => tx.remove(entry.key))
  return packedBytes
}

async function releaseVolume(context: StoreContext, entry: Entry, name: string): Promise<number> {
  await context.blobs.removeVolume(name)
  await transact(context, async tx => tx.remove(entry.key))
  return 0
}

/** Drops one reference per slice. An unreferenced blob is freed; a content becomes garbage of its own. */
async function dropReferences(
  context: StoreContext,
  tx: Transaction,
  slices: readonly Slice[],
  freed: Freed,
): Promise<void> {
  const counts = new Map<string, { slice: Slice; count: number }>()
  for (const slice of slices) {
    const name = slice.id.toString('hex')
    const seen = counts.get(name)
    if (seen === undefined) counts.set(name, { slice, count: 1 })
    else seen.count++
  }
  for (const { slice, count } of counts.values()) {
    if (slice.of === 'content') {
      // Each reference goes through a garbage record, so that readers have left before the pages are removed.
      for (let i = 0; i < count; i++) addGarbage(context, tx, { kind: 'content', id: slice.id })
      continue
    }
    const entry = await tx.get(recordKey.blob(slice.id))
    if (entry === undefined) throw new BrokenReference('blob record', slice.id)
    const record = blobFormat.decode(entry.value)
    if (record.referenceCount > count) {
      tx.put(entry.key, blobFormat.encode({ ...record, referenceCount: record.referenceCount - count }))
      continue
    }
    if (record.referenceCount < count)
      throw new Error(`blob ${slice.id.toString('hex')} has fewer references counted than held`)
    tx.remove(entry.key)
    freed.push({ id: slice.id, record })
  }
}
