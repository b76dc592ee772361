/**
 * The invariants, checked by counting everything again. Meant for a store at rest: what changes during the walk shows
 * up as a difference that is not one.
 */

import { DamagedRecord, type Entry } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { blobFormat, contentFormat, pageFormat, type Slice } from '../model/content.ts'
import { garbageFormat } from '../model/garbage.ts'
import { partFormat, uploadFormat } from '../model/upload.ts'
import { deletedFormat, NULL_VERSION, type Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { isIndexed } from '../store/buckets/bucket-owner-index.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import { parseRecordKey, recordKey, sequenceOf } from '../store/commit/record-keys.ts'
import { Ledger } from '../store/ledger/ledger.ts'
import type { StoreContext } from '../store/store-context.ts'
import { isPartUsed } from '../store/uploads/completion.ts'
import { garbageReferences, recordsOf, referencesOf } from './records.ts'
import { Scrubber } from './scrub.ts'
import { UsageCount } from './usage-count.ts'
import { type VersionOnHold, versionsOnHold } from './versions-on-hold.ts'
import { runUntilIdle } from './worker.ts'

export interface FsckReport {
  readonly problems: readonly string[]
  readonly objects: number
  readonly blobs: number
  readonly contents: number
  readonly garbage: number
  /** Versions under a legal hold, as bucket/key@version. */
  readonly held: readonly string[]
  /** Buckets whose usage is not recorded as it was counted, and buckets that have not been counted yet. */
  readonly usage: { readonly wrong: readonly string[]; readonly uncounted: readonly string[] }
}

class Count {
  readonly shares = new Map<string, number>()
  readonly problems: string[] = []
  readonly held: string[] = []
  readonly usage = new UsageCount()
  objects = 0
  readonly damaged = (record: DamagedRecord): void => void this.problems.push(record.message)

  add(id: Buffer, of: Slice['of']): void {
    const name = of + id.toString('hex')
    this.shares.set(name, (this.shares.get(name) ?? 0) + 1)
  }

  hold({ slices, content }: { slices: readonly Slice[]; content: Buffer | undefined }): void {
    for (const slice of slices) this.add(slice.id, slice.of)
    if (content !== undefined) this.add(content, 'content')
  }

  compare(of: Slice['of'], id: Buffer, shares: number): void {
    const name = of + id.toString('hex')
    const counted = this.shares.get(name) ?? 0
    this.shares.delete(name)
    if (counted !== shares) {
      this.problems.push(`${of} ${id.toString('hex')}: ${shares} shares recorded, ${counted} counted`)
    }
  }
}

export async function fsck(served: StoreContext): Promise<FsckReport> {
  const context = unguarded(served)
  const count = new Count()
  await countVersions(context, count)
  await checkHeads(context, count)
  await checkOwners(context, count)
  const garbage = await countGarbage(context, count)
  await countParts(context, count, garbage.ended)
  await countPages(context, count, garbage.unnamed)
  let contents = 0
  for await (const entry of recordsOf(context, 'c', count.damaged)) {
    contents++
    count.compare('content', entry.key.subarray(1), contentFormat.decode(entry.value).shares)
  }
  const blobs = await compareBlobs(context, count)
  for (const name of count.shares.keys()) count.problems.push(`${name} is held, but has no record`)
  await checkLedgers(context, count)
  const usage = await count.usage.compare(context, count.problems)
  return {
    problems: count.problems,
    objects: count.objects,
    blobs,
    contents,
    garbage: garbage.records,
    held: count.held,
    usage,
  }
}

async function countVersions(context: StoreContext, count: Count): Promise<void> {
  for (const kind of ['o', 'v']) {
    for await (const entry of recordsOf(context, kind, count.damaged)) {
      const { bucket, name } = parseRecordKey(entry.key)
      const version = versionFormat.decode(entry.value)
      const label = `${bucket}/${name}@${version.id}`
      count.objects++
      count.usage.version(bucket, version, kind === 'o')
      count.hold(referencesOf(version))
      if (version.lock.hold === true) count.held.push(label)
      if (kind === 'o' && version.marker) count.problems.push(`${label}: a marker is current`)
      if (kind === 'v' && sequenceOf(entry.key) !== version.seq)
        count.problems.push(`${label}: stands at the wrong place`)
      if (!version.marker && sizeOf(version) !== undefined && sizeOf(version) !== version.size) {
        count.problems.push(`${label}: its content does not have its size`)
      }
    }
  }
}

/** The size that a version's own record implies; a shared content is checked with its pages. */
function sizeOf({ content }: Version): number | undefined {
  if (content.kind === 'shared') return undefined
  if (content.kind === 'inline') return content.seal === undefined ? content.bytes.length : content.bytes.length - 32
  return content.slices.reduce((sum, slice) => sum + slice.length, 0)
}

/** A key has a current version or is deleted, never both; its null version stands where its head says. */
async function checkHeads(context: StoreContext, count: Count): Promise<void> {
  for await (const entry of recordsOf(context, 'h', count.damaged)) {
    await unlessDamaged(() => checkDeleted(context, count, entry))
  }
  for await (const entry of recordsOf(context, 'v', count.damaged)) {
    await unlessDamaged(() => checkOlder(context, count, entry))
  }
}

/** A damaged record that a check comes across is reported where those of its kind are gone through. */
async function unlessDamaged(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
  }
}

async function checkDeleted(context: StoreContext, count: Count, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  if ((await context.meta.get(recordKey.current(bucket, name))) !== undefined) {
    count.problems.push(`${bucket}/${name}: is both current and deleted`)
  }
  const { top } = deletedFormat.decode(entry.value)
  const newest = await newestOlder(context, bucket, name)
  if (newest === undefined || !newest.marker || newest.seq > top) {
    count.problems.push(`${bucket}/${name}: is deleted, but no marker is on top`)
  }
}

async function checkOlder({ meta }: StoreContext, count: Count, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  const version = versionFormat.decode(entry.value)
  const current = await meta.get(recordKey.current(bucket, name))
  const head = current === undefined ? await meta.get(recordKey.deleted(bucket, name)) : current
  if (head === undefined) {
    count.problems.push(`${bucket}/${name}@${version.id}: stands behind nothing`)
    return
  }
  const { seq, nullSeq } =
    current === undefined
      ? { seq: Number.MAX_SAFE_INTEGER, ...deletedFormat.decode(head.value) }
      : versionFormat.decode(head.value)
  if (version.seq >= seq) count.problems.push(`${bucket}/${name}@${version.id}: is newer than the current version`)
  if (version.id === NULL_VERSION && nullSeq !== version.seq) {
    count.problems.push(`${bucket}/${name}: its null version is not where its head says`)
  }
}

/** Every bucket stands under its owner once the index is said to be whole, and nothing else does. */
async function checkOwners(context: StoreContext, count: Count): Promise<void> {
  const { meta } = context
  for await (const entry of recordsOf(context, 'w', count.damaged)) {
    const { bucket: owner, name } = parseRecordKey(entry.key)
    const bucket = await meta.get(recordKey.bucket(name))
    const isRight = bucket !== undefined && bucketFormat.decode(bucket.value).owner === owner
    if (!isRight) count.problems.push(`bucket ${name}: listed for ${owner}, who does not own it`)
  }
  if (!(await isIndexed(context))) return
  for await (const entry of recordsOf(context, 'B', count.damaged)) {
    const { name, owner } = bucketFormat.decode(entry.value)
    if ((await meta.get(recordKey.owned(owner, name))) === undefined) {
      count.problems.push(`bucket ${name}: not listed for its owner`)
    }
  }
}

async function newestOlder(context: StoreContext, bucket: string, name: string): Promise<Version | undefined> {
  const start = recordKey.older(bucket, name, Number.MAX_SAFE_INTEGER)
  const [entry] = await context.meta.scan({ start, end: recordKey.older(bucket, name, 0) }, 1)
  return entry && versionFormat.decode(entry.value)
}

async function countGarbage(
  context: StoreContext,
  count: Count,
): Promise<{ records: number; unnamed: Map<string, boolean>; ended: Map<string, Buffer> }> {
  const unnamed = new Map<string, boolean>()
  const ended = new Map<string, Buffer>()
  let records = 0
  for await (const entry of recordsOf(context, 'g', count.damaged)) {
    records++
    const garbage = garbageFormat.decode(entry.value)
    count.hold(garbageReferences(garbage))
    if (garbage.kind === 'pages') unnamed.set(garbage.id.toString('hex'), garbage.held)
    if (garbage.kind === 'parts') ended.set(garbage.upload.toString('hex'), garbage.taken)
  }
  return { records, unnamed, ended }
}

/** Parts of uploads in progress hold their slices; of an ended one, those that the object did not take over. */
async function countParts(context: StoreContext, count: Count, ended: ReadonlyMap<string, Buffer>): Promise<void> {
  const open = new Map<string, string>()
  for await (const entry of recordsOf(context, 'u', count.damaged)) {
    const { id, bucket } = uploadFormat.decode(entry.value)
    open.set(id.toString('hex'), bucket)
    count.usage.upload(bucket)
  }
  for await (const entry of recordsOf(context, 'p', count.damaged)) {
    const upload = entry.key.toString('hex', 1, 17)
    const part = partFormat.decode(entry.value)
    const taken = ended.get(upload)
    count.usage.part(open.get(upload), part.size)
    if (taken === undefined && !open.has(upload)) count.problems.push(`part ${part.number} of ${upload}: has no upload`)
    if (taken === undefined || !isPartUsed(taken, part.number)) count.hold({ slices: part.slices, content: undefined })
  }
}

/** Pages of a named content, and of one that is being released, hold their slices; pages written ahead do not. */
async function countPages(context: StoreContext, count: Count, unnamed: ReadonlyMap<string, boolean>): Promise<void> {
  const sizes = new Map<string, number>()
  for await (const entry of recordsOf(context, 's', count.damaged)) {
    const id = entry.key.subarray(1, 17)
    const name = id.toString('hex')
    const parts = pageFormat.decode(entry.value)
    const held = unnamed.get(name)
    if (held !== false) for (const part of parts) count.hold({ slices: part.slices, content: undefined })
    sizes.set(name, (sizes.get(name) ?? 0) + parts.reduce((sum, part) => sum + part.size, 0))
    if (held === undefined && (await context.meta.get(recordKey.content(id))) === undefined) {
      count.problems.push(`page of content ${name}: has no content record`)
    }
  }
  for await (const entry of recordsOf(context, 'c', count.damaged)) {
    const name = entry.key.toString('hex', 1, 17)
    if (sizes.get(name) !== contentFormat.decode(entry.value).size) {
      count.problems.push(`content ${name}: its pages do not have its size`)
    }
  }
}

interface Stretch {
  readonly from: number
  readonly to: number
  readonly id: string
}

/** Share counts, and that every blob has its bytes: a file of its own, or a place in a volume that is nobody else's. */
async function compareBlobs(context: StoreContext, count: Count): Promise<number> {
  const solos = new Set<string>()
  for await (const id of context.blobs.solos()) solos.add(id.toString('hex'))
  const places = new Map<string, Stretch[]>()
  let blobs = 0
  for await (const entry of recordsOf(context, 'b', count.damaged)) {
    blobs++
    const id = entry.key.subarray(1)
    const name = id.toString('hex')
    const { volume, offset, storedLength, shares } = blobFormat.decode(entry.value)
    count.compare('blob', id, shares)
    if (volume === undefined) {
      if (!solos.has(name)) count.problems.push(`blob ${name}: its file is missing`)
      continue
    }
    const list = places.get(volume) ?? []
    list.push({ from: offset, to: offset + storedLength, id: name })
    places.set(volume, list)
  }
  await checkPlaces(context, count, places)
  return blobs
}

async function checkPlaces(context: StoreContext, count: Count, places: ReadonlyMap<string, Stretch[]>): Promise<void> {
  const sizes = new Map((await context.blobs.volumes()).map(volume => [volume.name, volume.bytes]))
  for (const [volume, list] of places) {
    const size = sizes.get(volume)
    if (size === undefined) count.problems.push(`${volume}: is missing`)
    list.sort((a, b) => a.from - b.from)
    for (const [i, { to, id }] of list.entries()) {
      const next = list[i + 1]
      if (next !== undefined && next.from < to) count.problems.push(`${volume}: blobs ${id} and ${next.id} overlap`)
      if (size !== undefined && to > size) count.problems.push(`${volume}: ends before blob ${id} does`)
    }
  }
}

/** P31. Every chain is whole and ends where this store signed that it does. */
async function checkLedgers(context: StoreContext, count: Count): Promise<void> {
  const ledger = new Ledger(context)
  for (const bucket of await withLedgers(context, ledger, count)) {
    try {
      const { problem } = await ledger.verify(bucket)
      if (problem !== undefined) count.problems.push(`ledger of ${bucket}, line ${problem.line}: ${problem.reason}`)
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      count.damaged(error)
    }
  }
}

/** By the ends of ledgers, by their entries, and by what must have one: each may be all that is left. */
async function withLedgers(context: StoreContext, ledger: Ledger, count: Count): Promise<Set<string>> {
  const buckets = new Set<string>()
  for await (const { key } of recordsOf(context, 'L', count.damaged))
    buckets.add(key.toString('utf8', 1, key.length - 1))
  for await (const { value } of recordsOf(context, 'B')) {
    const { name, lockEnabled } = bucketFormat.decode(value)
    if (lockEnabled) buckets.add(name)
  }
  try {
    for await (const bucket of ledger.written()) buckets.add(bucket)
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
    count.damaged(error)
  }
  return buckets
}

export interface DeepReport extends FsckReport {
  readonly heldVersions: readonly VersionOnHold[]
}

/** The invariants, every stored byte against its checksum, and what is held with what it contains. */
export async function fsckDeep(context: StoreContext): Promise<DeepReport> {
  const report = await fsck(context)
  const scrubber = new Scrubber(context)
  await runUntilIdle(scrubber)
  const damage = (await scrubber.report()).map(({ what, id, message, objects }) => {
    const hurt = objects.map(({ bucket, key, versionId }) => `${bucket}/${key}@${versionId}`)
    return `${what} ${id}: ${message}; hurts ${hurt.join(', ') || 'no object'}`
  })
  return { ...report, problems: [...report.problems, ...damage], heldVersions: await versionsOnHold(context) }
}
