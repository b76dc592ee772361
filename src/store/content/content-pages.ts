/** Stores the parts of a content in pages: one commit names them all, however many there are. */
import { META_LIMITS } from '../../meta/meta.ts'
import {
  type Content,
  type ContentPage,
  type ContentPart,
  type ContentRecord,
  contentFormat,
  pageFormat,
} from '../../model/content.ts'
import { garbageFormat } from '../../model/garbage.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'

const PAGE_BYTES_MAX = META_LIMITS.valueBytesMax - 10_000
const PAGES_PER_COMMIT = Math.floor(META_LIMITS.commitBytesMax / META_LIMITS.valueBytesMax) - 1

interface Paged {
  readonly id: Buffer
  readonly index: readonly ContentPage[]
  readonly records: readonly Buffer[]
}

/** Adds the record that turns the pages into a content to a commit. */
type NamePages = (tx: Transaction, of: Pick<ContentRecord, 'size' | 'depth' | 'sums'>) => Promise<Content>

/** Writes these parts as content pages; `commit` names them, or leaves pages written ahead to the reclaimer. */
export async function withContentPages<T>(
  context: StoreContext,
  parts: readonly ContentPart[],
  commit: (name: NamePages) => Promise<T>,
): Promise<T> {
  const paged = paginate(context.ids.next(), parts)
  const { id, index, records } = paged
  // Entered as a reader, so that pages written ahead are not reclaimed before this ends.
  const pin = context.readers.enter()
  try {
    const ahead = records.length > 1 ? await writeAhead(context, paged) : undefined
    return await commit(async (tx, of) => {
      if (ahead === undefined) tx.put(recordKey.page(id, 0), records[0]!)
      else if ((await tx.get(ahead)) === undefined) throw new Error('pages written ahead were reclaimed as garbage')
      else tx.remove(ahead)
      tx.put(recordKey.content(id), contentFormat.encode({ ...of, referenceCount: 1, pages: index }))
      return { kind: 'shared', id }
    })
  } finally {
    context.readers.leave(pin)
  }
}

/** Writes the pages before the commit that names them, with a garbage record in case that commit never happens. */
async function writeAhead(context: StoreContext, { id, records }: Paged): Promise<Buffer> {
  const garbageKey = recordKey.garbage(context.ids.next())
  const value = garbageFormat.encode({ kind: 'pages', id, held: false })
  for (let from = 0; from < records.length; from += PAGES_PER_COMMIT) {
    await transact(context, async tx => {
      if (from === 0) tx.put(garbageKey, value)
      for (const [i, record] of records.slice(from, from + PAGES_PER_COMMIT).entries()) {
        tx.put(recordKey.page(id, from + i), record)
      }
    })
  }
  return garbageKey
}

function paginate(id: Buffer, parts: readonly ContentPart[]): Paged {
  const index: ContentPage[] = []
  const records: Buffer[] = []
  let page: ContentPart[] = []
  let bytes = 0
  let start = 0
  let position = 0
  const close = (): void => {
    index.push({ start, firstPart: page[0]!.number, parts: page.length })
    records.push(pageFormat.encode(page))
    page = []
    bytes = 0
    start = position
  }
  for (const { number, size, etag, checksum, slices } of parts) {
    const weight = 64 + etag.length + (checksum?.length ?? 0) + slices.length * 100
    if (page.length > 0 && bytes + weight > PAGE_BYTES_MAX) close()
    page.push({ number, size, etag, checksum, slices })
    bytes += weight
    position += size
  }
  close()
  return { id, index, records }
}
