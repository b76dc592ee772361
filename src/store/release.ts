/**
 * Gives back what garbage holds, in commits of bounded size. Each one is idempotent together with the garbage record it
 * belongs to: a crash at any point repeats or continues the work, and never frees a share twice.
 */
import assert from 'node:assert/strict'
import { type Entry, META_LIMITS } from '../meta/meta.ts'
import { type BlobRecord, blobFormat, contentFormat, pageFormat, type Slice } from '../model/content.ts'
import { type Garbage, garbageFormat } from '../model/garbage.ts'
import { partFormat } from '../model/upload.ts'
import { all, at } from './addresses.ts'
import { wasTaken } from './completion.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'
import { BrokenReference } from './outflow.ts'
import { discard } from './sharing.ts'

const PARTS_PER_SCAN = 64
/** Parts and their slices in one commit: with a volume's record for each slice that stays below a commit's limit. */
const RELEASED_PER_COMMIT = 100
assert(2 * RELEASED_PER_COMMIT + 2 < META_LIMITS.commitKeysMax)

/** How many of these one commit lets go of; one at least, and no part has more than a few slices. */
function fitting(parts: readonly { readonly slices: readonly Slice[] }[]): number {
  let weight = 0
  const over = parts.findIndex(({ slices }) => (weight += 1 + slices.length) > RELEASED_PER_COMMIT)
  return over < 0 ? parts.length : Math.max(1, over)
}

/** Blobs that lost their last share: their bytes are freed after the commit. */
type Freed = { readonly id: Buffer; readonly record: BlobRecord }[]

/** Frees one garbage record and everything it holds. */
export async function release(engine: Engine, entry: Entry): Promise<void> {
  const garbage = garbageFormat.decode(entry.value)
  switch (garbage.kind) {
    case 'slices':
      return releaseSlices(engine, entry, garbage.slices)
    case 'content':
      return releaseContent(engine, entry, garbage.id)
    case 'pages':
      return releasePages(engine, entry, garbage)
    case 'parts':
      return releaseParts(engine, entry, garbage)
    case 'volume':
      return releaseVolume(engine, entry, garbage.name)
  }
}

/** Commits a change that lets go of slices, then frees the bytes that nothing holds any more. */
async function letGo(engine: Engine, change: (d: Decision, freed: Freed) => Promise<void>): Promise<void> {
  const freed = await decide(engine, async d => {
    const out: Freed = []
    await change(d, out)
    return out
  })
  // A crash before this leaves files without a record, which the sweep finds.
  for (const { id, record } of freed) await engine.blobs.remove(id, { ...record, length: record.storedLength })
}

/** The garbage record must still be there: whoever took it away has done the work. */
async function mustStand(d: Decision, entry: Entry): Promise<boolean> {
  return (await d.get(entry.key)) !== undefined
}

async function releaseSlices(engine: Engine, entry: Entry, slices: readonly Slice[]): Promise<void> {
  await letGo(engine, async (d, freed) => {
    if (!(await mustStand(d, entry))) return
    await drop(engine, d, slices, freed)
    d.remove(entry.key)
  })
}

async function releaseContent(engine: Engine, entry: Entry, id: Buffer): Promise<void> {
  const last = await decide(engine, async d => {
    if (!(await mustStand(d, entry))) return false
    const content = await d.get(at.content(id))
    if (content === undefined) throw new BrokenReference('content record', id)
    const record = contentFormat.decode(content.value)
    if (record.shares > 1) {
      d.put(content.key, contentFormat.encode({ ...record, shares: record.shares - 1 }))
      d.remove(entry.key)
      return false
    }
    d.remove(content.key)
    d.put(entry.key, garbageFormat.encode({ kind: 'pages', id, held: true }))
    return true
  })
  if (last) await releasePages(engine, entry, { id, held: true })
}

async function releasePages(
  engine: Engine,
  entry: Entry,
  { id, held }: { readonly id: Buffer; readonly held: boolean },
): Promise<void> {
  // Pages that got their name while the note waited here are an object's: without the note there is nothing to release.
  while ((await engine.meta.get(entry.key)) !== undefined) {
    const [page] = await engine.meta.scan(all.pages(id), 1)
    if (page === undefined) break
    await letGo(engine, async (d, freed) => {
      const now = await d.get(page.key)
      if (now === undefined || !(await mustStand(d, entry))) return
      const parts = pageFormat.decode(now.value)
      const count = held ? fitting(parts) : parts.length
      const rest = parts.slice(count)
      const gone = parts.slice(0, count).flatMap(part => part.slices)
      if (held) await drop(engine, d, gone, freed)
      if (rest.length > 0) d.put(page.key, pageFormat.encode(rest))
      else d.remove(page.key)
    })
  }
  await decide(engine, async d => d.remove(entry.key))
}

async function releaseParts(
  engine: Engine,
  entry: Entry,
  { upload, taken }: Extract<Garbage, { kind: 'parts' }>,
): Promise<void> {
  while ((await engine.meta.get(entry.key)) !== undefined) {
    const found = await engine.meta.scan(all.parts(upload), PARTS_PER_SCAN)
    if (found.length === 0) break
    const parts = found.map(entry => ({ entry, ...partFormat.decode(entry.value) }))
    const released = parts.slice(0, fitting(parts))
    await letGo(engine, async (d, freed) => {
      if (!(await mustStand(d, entry))) return
      const slices: Slice[] = []
      for (const part of released) {
        d.relyOn(part.entry)
        d.remove(part.entry.key)
        if (!wasTaken(taken, part.number)) slices.push(...part.slices)
      }
      await drop(engine, d, slices, freed)
    })
  }
  await decide(engine, async d => d.remove(entry.key))
}

async function releaseVolume(engine: Engine, entry: Entry, name: string): Promise<void> {
  await engine.blobs.removeVolume(name)
  await decide(engine, async d => d.remove(entry.key))
}

/** One share less for each slice. What loses its last one: a blob is freed, a content becomes garbage of its own. */
async function drop(engine: Engine, d: Decision, slices: readonly Slice[], freed: Freed): Promise<void> {
  const counts = new Map<string, { slice: Slice; count: number }>()
  for (const slice of slices) {
    const name = slice.id.toString('hex')
    const seen = counts.get(name)
    if (seen === undefined) counts.set(name, { slice, count: 1 })
    else seen.count++
  }
  for (const { slice, count } of counts.values()) {
    if (slice.of === 'content') {
      // Each share goes the way of a version's: through a garbage record, so that readers have left before the pages
      // go.
      for (let i = 0; i < count; i++) discard(engine, d, { kind: 'content', id: slice.id })
      continue
    }
    const entry = await d.get(at.blob(slice.id))
    if (entry === undefined) throw new BrokenReference('blob record', slice.id)
    const record = blobFormat.decode(entry.value)
    if (record.shares > count) {
      d.put(entry.key, blobFormat.encode({ ...record, shares: record.shares - count }))
      continue
    }
    if (record.shares < count) throw new Error(`blob ${slice.id.toString('hex')} has fewer shares than holders`)
    d.remove(entry.key)
    freed.push({ id: slice.id, record })
  }
}
