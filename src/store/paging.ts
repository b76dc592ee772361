/** The parts of a content, cut into records: one commit names them all, however many there are. */
import { META_LIMITS } from '../meta/meta.ts'
import {
  type Content,
  type ContentPage,
  type ContentPart,
  type ContentRecord,
  contentFormat,
  pageFormat,
} from '../model/content.ts'
import { garbageFormat } from '../model/garbage.ts'
import { at } from './addresses.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'

const PAGE_BYTES_MAX = META_LIMITS.valueBytesMax - 10_000
const PAGES_PER_COMMIT = Math.floor(META_LIMITS.commitBytesMax / META_LIMITS.valueBytesMax) - 1

interface Paged {
  readonly id: Buffer
  readonly index: readonly ContentPage[]
  readonly records: readonly Buffer[]
}

/** Adds to a commit what makes the pages a content. */
export type NamePages = (d: Decision, of: Pick<ContentRecord, 'size' | 'depth' | 'sums'>) => Promise<Content>

/** Makes a content of these parts; `commit` names it, or leaves what was written ahead to the reclaimer. */
export async function withPages<T>(
  engine: Engine,
  parts: readonly ContentPart[],
  commit: (name: NamePages) => Promise<T>,
): Promise<T> {
  const paged = paginate(engine.ids.next(), parts)
  const { id, index, records } = paged
  // As a reader: what is written ahead is nobody's garbage before this is over.
  const ticket = engine.readers.enter()
  try {
    const ahead = records.length > 1 ? await writeAhead(engine, paged) : undefined
    return await commit(async (d, of) => {
      if (ahead === undefined) d.put(at.page(id, 0), records[0]!)
      else if ((await d.get(ahead)) === undefined) throw new Error('pages written ahead were taken for garbage')
      else d.remove(ahead)
      d.put(at.content(id), contentFormat.encode({ ...of, shares: 1, pages: index }))
      return { kind: 'shared', id }
    })
  } finally {
    engine.readers.leave(ticket)
  }
}

/** Writes the pages before the commit that names them, with a note for the reclaimer in case it never comes. */
async function writeAhead(engine: Engine, { id, records }: Paged): Promise<Buffer> {
  const note = at.garbage(engine.ids.next())
  const value = garbageFormat.encode({ kind: 'pages', id, held: false })
  for (let from = 0; from < records.length; from += PAGES_PER_COMMIT) {
    await decide(engine, async d => {
      if (from === 0) d.put(note, value)
      for (const [i, record] of records.slice(from, from + PAGES_PER_COMMIT).entries()) {
        d.put(at.page(id, from + i), record)
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
