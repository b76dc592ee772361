/** P22. Reference counts: adds references to contents, and cuts ranges of a content into slices of another. */
import { unwrapBlobKey, wrapBlobKey } from '../../crypto/key-wrap.ts'
import { blobFormat, type Content, contentFormat, EMBEDDED_SLICES_MAX, type Slice } from '../../model/content.ts'
import { type Garbage, garbageFormat } from '../../model/garbage.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import { BrokenReference, requireContentPage } from './read-content.ts'

/** The deepest nesting of contents a read follows; deeper ranges are copied instead of shared. */
const CONTENT_DEPTH_MAX = 4

/** Adds a reference to the target of a slice. */
async function referenceSlice(tx: Transaction, slice: Slice): Promise<void> {
  if (slice.of === 'content') {
    await referenceContent(tx, slice.id)
    return
  }
  const entry = await tx.get(recordKey.blob(slice.id))
  if (entry === undefined) throw new BrokenReference('blob record', slice.id)
  const record = blobFormat.decode(entry.value)
  tx.put(entry.key, blobFormat.encode({ ...record, referenceCount: record.referenceCount + 1 }))
}

async function referenceContent(tx: Transaction, id: Buffer): Promise<void> {
  const entry = await tx.get(recordKey.content(id))
  if (entry === undefined) throw new BrokenReference('content record', id)
  const record = contentFormat.decode(entry.value)
  tx.put(entry.key, contentFormat.encode({ ...record, referenceCount: record.referenceCount + 1 }))
}

/**
 * Adds a reference to a whole content of any size. The transaction must check the record that references it now, which
 * keeps the count above zero until the commit.
 */
export async function addReference(tx: Transaction, content: Content): Promise<void> {
  if (content.kind === 'shared') await referenceContent(tx, content.id)
  else if (content.kind === 'slices') for (const slice of distinct(content.slices)) await referenceSlice(tx, slice)
}

/** A record counts one reference per slice, so it must not contain the same blob twice. */
function distinct(slices: readonly Slice[]): readonly Slice[] {
  const seen = new Set<string>()
  for (const slice of slices) {
    const name = slice.id.toString('hex')
    if (seen.has(name)) throw new Error('a record must reference each blob at most once')
    seen.add(name)
  }
  return slices
}

export function addGarbage(context: StoreContext, tx: Transaction, garbage: Garbage): void {
  tx.put(recordKey.garbage(context.ids.next()), garbageFormat.encode(garbage))
}

interface RangeSource {
  readonly content: Content
  readonly contentKey: Buffer | undefined
}

/** False for inline bytes, and where the bytes change between sealed and plain. */
export const isShareable = ({ content, contentKey }: RangeSource, targetKey: Buffer | undefined): boolean =>
  content.kind !== 'inline' && (contentKey === undefined) === (targetKey === undefined)

/**
 * The range [start, end) of a content as slices, each with a new reference. Undefined when the bytes must be copied
 * instead: inline bytes, contents that would nest too deep, and bytes that change between sealed and plain.
 */
export async function sliceRange(
  context: StoreContext,
  tx: Transaction,
  source: RangeSource,
  range: { readonly start: number; readonly end: number },
  targetKey: Buffer | undefined,
): Promise<readonly Slice[] | undefined> {
  const { content, contentKey } = source
  if (content.kind === 'inline' || !isShareable(source, targetKey)) return undefined
  const found =
    content.kind === 'slices'
      ? cut(content.slices, range.start, range.end)
      : await cutShared(context, tx, content.id, range)
  if (found === undefined) return undefined
  const slices = found.map(slice => rewrapped(slice, contentKey, targetKey))
  for (const slice of slices) await referenceSlice(tx, slice)
  return slices
}

function rewrapped(slice: Slice, from: Buffer | undefined, to: Buffer | undefined): Slice {
  if (from === undefined || to === undefined) return slice
  // A slice of a whole content carries that content's key; a slice of a blob carries the blob's own.
  const key = slice.key === undefined ? from : unwrapBlobKey(from, slice.key, slice.id)
  return { ...slice, key: wrapBlobKey(to, key, slice.id) }
}

function cut(slices: readonly Slice[], start: number, end: number): Slice[] {
  const out: Slice[] = []
  let position = 0
  for (const slice of slices) {
    const from = Math.max(start, position)
    const to = Math.min(end, position + slice.length)
    if (from < to) out.push({ ...slice, start: slice.start + from - position, length: to - from })
    position += slice.length
  }
  return out
}

async function cutShared(
  context: StoreContext,
  tx: Transaction,
  id: Buffer,
  range: { readonly start: number; readonly end: number },
): Promise<Slice[] | undefined> {
  const entry = await tx.get(recordKey.content(id))
  if (entry === undefined) throw new BrokenReference('content record', id)
  const record = contentFormat.decode(entry.value)
  const direct = await directSlices(context, id, record.pages, record.size, range)
  if (direct !== undefined) return direct
  if (record.depth + 1 > CONTENT_DEPTH_MAX) return undefined
  return [{ of: 'content', id, start: range.start, length: range.end - range.start, key: undefined }]
}

/** The slices of the range, if they are few and each is of a different blob. */
async function directSlices(
  context: StoreContext,
  id: Buffer,
  pages: readonly { readonly start: number }[],
  size: number,
  range: { readonly start: number; readonly end: number },
): Promise<Slice[] | undefined> {
  const out: Slice[] = []
  for (const [index, page] of pages.entries()) {
    const pageEnd = pages[index + 1]?.start ?? size
    if (pageEnd <= range.start || page.start >= range.end) continue
    let position = page.start
    for (const part of await requireContentPage(context, id, index)) {
      if (position < range.end && position + part.size > range.start) {
        out.push(...cut(part.slices, Math.max(0, range.start - position), range.end - position))
        if (out.length > EMBEDDED_SLICES_MAX) return undefined
      }
      position += part.size
    }
  }
  const ids = new Set(out.map(slice => slice.id.toString('hex')))
  return ids.size === out.length ? out : undefined
}
