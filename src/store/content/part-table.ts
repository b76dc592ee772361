/** The parts an object was completed from, as stored with its content. Copies share the table with the bytes. */
import type { ContentPart } from '../../model/content.ts'
import type { Version } from '../../model/version.ts'
import type { StoreContext } from '../store-context.ts'
import { requireContent, requireContentPage } from './read-content.ts'

/** A part and the bytes [start, end) of the object it covers. Without a known algorithm it has no checksum. */
export interface PlacedPart extends Pick<ContentPart, 'number' | 'size' | 'etag' | 'checksum'> {
  readonly algorithm: string | undefined
  readonly start: number
  readonly end: number
}

export interface PartsPage {
  readonly parts: readonly PlacedPart[]
  readonly more: boolean
}

/** Parts with numbers above `after`, in order. Reads only the pages it needs; none for an object without parts. */
export async function partsAfter(
  context: StoreContext,
  { parts: count, content, checksum: whole }: Version,
  after: number,
  limit: number,
): Promise<PartsPage> {
  const found: PlacedPart[] = []
  if (count === 0 || content.kind !== 'shared') return { parts: found, more: false }
  const record = await requireContent(context, content.id)
  // Part checksums of a composite use its algorithm; older records do not state it for other types.
  const algorithm = record.sums ?? (whole?.type === 'COMPOSITE' ? whole.algorithm : undefined)
  for (const [index, page] of record.pages.entries()) {
    const next = record.pages[index + 1]
    if (next !== undefined && next.firstPart <= after) continue
    let start = page.start
    for (const { number, size, etag, checksum: sum } of await requireContentPage(context, content.id, index)) {
      const end = start + size
      if (number > after) {
        if (found.length >= limit) return { parts: found, more: true }
        const checksum = algorithm === undefined ? undefined : sum
        found.push({ number, size, etag, checksum, algorithm, start, end })
      }
      start = end
    }
  }
  return { parts: found, more: false }
}
