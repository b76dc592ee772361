/** The parts of a content, cut into records: one commit names them all, however many there are. */
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

/** Adds to a commit what makes the pages a content. */
export type NamePages = (tx: Transaction, of: Pick<ContentRecord, 'size' | 'depth' | 'sums'>) => Promise<Content>

/** Makes a content of these parts; `commit` names it, or leaves what was written ahead to the reclaimer. */
export async function withContentPages<T>(
  context: StoreContext,
  parts: readonly ContentPart[],
  commit: (name: NamePages) => Promise<T>,
): Promise<T> {
  const paged = paginate(context.ids.next(), parts)
  const { id, index, records } = paged
  // As a reader: what is written ahead is nobody's garbage before this is over.
  const ticket = context.readers.enter()
  try {
    const ahead = records.length > 1 ? await writeAhead(context, paged) : undefined
    return await commit(async (tx, of) => {
      if (ahead === undefined) tx.put(recordKey.page(id, 0), records[0]!)
      else if ((await tx.get(ahead)) === undefined) throw new Error('pages written ahead were taken for garbage')
      else tx.remove(ahead)
      tx.put(recordKey.content(id), contentFormat.encode({ ...of, shares: 1, pages: index }))
      return { kind: 'shared', id }
    })
  } finally {
    context.readers.leave(ticket)
  }
}

/** Writes the pages before the commit that names them, with a note for the reclaimer in case it never comes. */
async function writeAhead(context: StoreContext, { id, records }: Paged): Promise<Buffer> {
  const note = recordKey.garbage(context.ids.next())
  const value = garbageFormat.encode({ kind: 'pages', id, held: false })
  for (let from = 0; from < records.length; from += PAGES_PER_COMMIT) {
    await transact(context, async tx => {
      if (from === 0) tx.put(note, value)
      for (const [i, record] of records.slice(from, from + PAGES_PER_COMMIT).entries()) {
        tx.put(recordKey.page(id, from + i), record)
      }
    })
  }
  return note
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
