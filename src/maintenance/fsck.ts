/**
 * Checks the invariants by counting everything again. Meant for a store at rest: changes during the scan appear as
 * false differences.
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
import { runUntilIdle } from './maintenance-step.ts'
import { garbageReferences, recordsOf, referencesOf } from './records.ts'
import { Scrubber } from './scrub.ts'
import { UsageCount } from './usage-count.ts'
import { type VersionOnHold, versionsOnHold } from './versions-on-hold.ts'

export interface FsckReport {
  readonly problems: readonly string[]
  readonly objects: number
  readonly blobs: number
  readonly contents: number
  readonly garbage: number
  /** Versions under a legal hold, as bucket/key@version. */
  readonly held: readonly string[]
  /** Buckets whose recorded usage differs from the count, and buckets that have not been counted yet. */
  readonly usage: { readonly wrong: readonly string[]; readonly uncounted: readonly string[] }
}

class Tally {
  readonly references = new Map<string, number>()
  readonly problems: string[] = []
  readonly held: string[] = []
  readonly usage = new UsageCount()
  objects = 0
  readonly damaged = (record: DamagedRecord): void => void this.problems.push(record.message)

  add(id: Buffer, of: Slice['of']): void {
    const name = of + id.toString('hex')
    this.references.set(name, (this.references.get(name) ?? 0) + 1)
  }

  hold({ slices, content }: { slices: readonly Slice[]; content: Buffer | undefined }): void {
    for (const slice of slices) this.add(slice.id, slice.of)
    if (content !== undefined) this.add(content, 'content')
  }

  compare(of: Slice['of'], id: Buffer, references: number): void {
    const name = of + id.toString('hex')
    const counted = this.references.get(name) ?? 0
    this.references.delete(name)
    if (counted !== references) {
      this.problems.push(`${of} ${id.toString('hex')}: ${references} references recorded, ${counted} counted`)
    }
  }
}

export async function fsck(store: StoreContext): Promise<FsckReport> {
  const context = unguarded(store)
  const tally = new Tally()
  await countVersions(context, tally)
  await checkHeads(context, tally)
  await checkOwners(context, tally)
  const garbage = await countGarbage(context, tally)
  await countParts(context, tally, garbage.ended)
  await countPages(context, tally, garbage.unnamed)
  let contents = 0
  for await (const entry of recordsOf(context, 'c', tally.damaged)) {
    contents++
    tally.compare('content', entry.key.subarray(1), contentFormat.decode(entry.value).referenceCount)
  }
  const blobs = await compareBlobs(context, tally)
  for (const name of tally.references.keys()) tally.problems.push(`${name} is referenced, but has no record`)
  await checkLedgers(context, tally)
  const usage = await tally.usage.compare(context, tally.problems)
  return {
    problems: tally.problems,
    objects: tally.objects,
    blobs,
    contents,
    garbage: garbage.records,
    held: tally.held,
    usage,
  }
}

async function countVersions(context: StoreContext, tally: Tally): Promise<void> {
  for (const kind of ['o', 'v']) {
    for await (const entry of recordsOf(context, kind, tally.damaged)) {
      const { bucket, name } = parseRecordKey(entry.key)
      const version = versionFormat.decode(entry.value)
      const label = `${bucket}/${name}@${version.id}`
      tally.objects++
      tally.usage.version(bucket, version, kind === 'o')
      tally.hold(referencesOf(version))
      if (version.lock.hold === true) tally.held.push(label)
      if (kind === 'o' && version.marker) tally.problems.push(`${label}: a delete marker is current`)
      if (kind === 'v' && sequenceOf(entry.key) !== version.seq)
        tally.problems.push(`${label}: is stored under the wrong sequence number`)
      if (!version.marker && sizeOf(version) !== undefined && sizeOf(version) !== version.size) {
        tally.problems.push(`${label}: the size of its content differs`)
      }
    }
  }
}

/** The size implied by a version's own record; a shared content is checked with its pages. */
function sizeOf({ content }: Version): number | undefined {
  if (content.kind === 'shared') return undefined
  if (content.kind === 'inline') return content.seal === undefined ? content.bytes.length : content.bytes.length - 32
  return content.slices.reduce((sum, slice) => sum + slice.length, 0)
}

/** A key has a current version or a `deleted` record, never both; its null version is where its head says. */
async function checkHeads(context: StoreContext, tally: Tally): Promise<void> {
  for await (const entry of recordsOf(context, 'h', tally.damaged)) {
    await skipDamaged(() => checkDeleted(context, tally, entry))
  }
  for await (const entry of recordsOf(context, 'v', tally.damaged)) {
    await skipDamaged(() => checkOlder(context, tally, entry))
  }
}

/** Skips a check on a damaged record, which the scan over its kind reports. */
async function skipDamaged(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
  }
}

async function checkDeleted(context: StoreContext, tally: Tally, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  if ((await context.meta.get(recordKey.current(bucket, name))) !== undefined) {
    tally.problems.push(`${bucket}/${name}: is both current and deleted`)
  }
  const { top } = deletedFormat.decode(entry.value)
  const newest = await newestOlder(context, bucket, name)
  if (newest === undefined || !newest.marker || newest.seq > top) {
    tally.problems.push(`${bucket}/${name}: is deleted, but its newest version is no delete marker`)
  }
}

async function checkOlder({ meta }: StoreContext, tally: Tally, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  const version = versionFormat.decode(entry.value)
  const current = await meta.get(recordKey.current(bucket, name))
  const head = current === undefined ? await meta.get(recordKey.deleted(bucket, name)) : current
  if (head === undefined) {
    tally.problems.push(`${bucket}/${name}@${version.id}: has no head`)
    return
  }
  const { seq, nullSeq } =
    current === undefined
      ? { seq: Number.MAX_SAFE_INTEGER, ...deletedFormat.decode(head.value) }
      : versionFormat.decode(head.value)
  if (version.seq >= seq) tally.problems.push(`${bucket}/${name}@${version.id}: is newer than the current version`)
  if (version.id === NULL_VERSION && nullSeq !== version.seq) {
    tally.problems.push(`${bucket}/${name}: its null version is not where its head says`)
  }
}

/** Once the owner index is complete, it lists every bucket under its owner and nothing else. */
async function checkOwners(context: StoreContext, tally: Tally): Promise<void> {
  const { meta } = context
  for await (const entry of recordsOf(context, 'w', tally.damaged)) {
    const { bucket: owner, name } = parseRecordKey(entry.key)
    const bucket = await meta.get(recordKey.bucket(name))
    const isOwner = bucket !== undefined && bucketFormat.decode(bucket.value).owner === owner
    if (!isOwner) tally.problems.push(`bucket ${name}: listed for ${owner}, who does not own it`)
  }
  if (!(await isIndexed(context))) return
  for await (const entry of recordsOf(context, 'B', tally.damaged)) {
    const { name, owner } = bucketFormat.decode(entry.value)
    if ((await meta.get(recordKey.owned(owner, name))) === undefined) {
      tally.problems.push(`bucket ${name}: not listed for its owner`)
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
  tally: Tally,
): Promise<{ records: number; unnamed: Map<string, boolean>; ended: Map<string, Buffer> }> {
  const unnamed = new Map<string, boolean>()
  const ended = new Map<string, Buffer>()
  let records = 0
  for await (const entry of recordsOf(context, 'g', tally.damaged)) {
    records++
    const garbage = garbageFormat.decode(entry.value)
    tally.hold(garbageReferences(garbage))
    if (garbage.kind === 'pages') unnamed.set(garbage.id.toString('hex'), garbage.held)
    if (garbage.kind === 'parts') ended.set(garbage.upload.toString('hex'), garbage.taken)
  }
  return { records, unnamed, ended }
}

/** Parts of uploads in progress reference their slices; of a completed upload, only those the object did not use. */
async function countParts(context: StoreContext, tally: Tally, ended: ReadonlyMap<string, Buffer>): Promise<void> {
  const open = new Map<string, string>()
  for await (const entry of recordsOf(context, 'u', tally.damaged)) {
    const { id, bucket } = uploadFormat.decode(entry.value)
    open.set(id.toString('hex'), bucket)
    tally.usage.upload(bucket)
  }
  for await (const entry of recordsOf(context, 'p', tally.damaged)) {
    const upload = entry.key.toString('hex', 1, 17)
    const part = partFormat.decode(entry.value)
    const taken = ended.get(upload)
    tally.usage.part(open.get(upload), part.size)
    if (taken === undefined && !open.has(upload)) tally.problems.push(`part ${part.number} of ${upload}: has no upload`)
    if (taken === undefined || !isPartUsed(taken, part.number)) tally.hold({ slices: part.slices, content: undefined })
  }
}

/** Pages of a named content, or of one being released, reference their slices; pages written ahead do not. */
async function countPages(context: StoreContext, tally: Tally, unnamed: ReadonlyMap<string, boolean>): Promise<void> {
  const sizes = new Map<string, number>()
  for await (const entry of recordsOf(context, 's', tally.damaged)) {
    const id = entry.key.subarray(1, 17)
    const name = id.toString('hex')
    const parts = pageFormat.decode(entry.value)
    const held = unnamed.get(name)
    if (held !== false) for (const part of parts) tally.hold({ slices: part.slices, content: undefined })
    sizes.set(name, (sizes.get(name) ?? 0) + parts.reduce((sum, part) => sum + part.size, 0))
    if (held === undefined && (await context.meta.get(recordKey.content(id))) === undefined) {
      tally.problems.push(`page of content ${name}: has no content record`)
    }
  }
  for await (const entry of recordsOf(context, 'c', tally.damaged)) {
    const name = entry.key.toString('hex', 1, 17)
    if (sizes.get(name) !== contentFormat.decode(entry.value).size) {
      tally.problems.push(`content ${name}: the size of its pages differs`)
    }
  }
}

interface BlobRange {
  readonly from: number
  readonly to: number
  readonly id: string
}

/**
 * Compares reference counts and checks that every blob has its bytes: a file of its own, or an exclusive range of a
 * volume.
 */
async function compareBlobs(context: StoreContext, tally: Tally): Promise<number> {
  const solos = new Set<string>()
  for await (const id of context.blobs.solos()) solos.add(id.toString('hex'))
  const ranges = new Map<string, BlobRange[]>()
  let blobs = 0
  for await (const entry of recordsOf(context, 'b', tally.damaged)) {
    blobs++
    const id = entry.key.subarray(1)
    const name = id.toString('hex')
    const { volume, offset, storedLength, referenceCount: references } = blobFormat.decode(entry.value)
    tally.compare('blob', id, references)
    if (volume === undefined) {
      if (!solos.has(name)) tally.problems.push(`blob ${name}: its file is missing`)
      continue
    }
    const list = ranges.get(volume) ?? []
    list.push({ from: offset, to: offset + storedLength, id: name })
    ranges.set(volume, list)
  }
  await checkRanges(context, tally, ranges)
  return blobs
}

async function checkRanges(
  context: StoreContext,
  tally: Tally,
  ranges: ReadonlyMap<string, BlobRange[]>,
): Promise<void> {
  const sizes = new Map((await context.blobs.volumes()).map(volume => [volume.name, volume.bytes]))
  for (const [volume, list] of ranges) {
    const size = sizes.get(volume)
    if (size === undefined) tally.problems.push(`${volume}: is missing`)
    list.sort((a, b) => a.from - b.from)
    for (const [i, { to, id }] of list.entries()) {
      const next = list[i + 1]
      if (next !== undefined && next.from < to) tally.problems.push(`${volume}: blobs ${id} and ${next.id} overlap`)
      if (size !== undefined && to > size) tally.problems.push(`${volume}: ends before blob ${id} does`)
    }
  }
}

/** P31. Every chain is complete and ends at its signed head. */
async function checkLedgers(context: StoreContext, tally: Tally): Promise<void> {
  const ledger = new Ledger(context)
  for (const bucket of await bucketsWithLedgers(context, ledger, tally)) {
    try {
      const { problem } = await ledger.verify(bucket)
      if (problem !== undefined) tally.problems.push(`ledger of ${bucket}, line ${problem.line}: ${problem.reason}`)
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      tally.damaged(error)
    }
  }
}

/** Buckets with a ledger head, with ledger entries, or with object lock: each may be all that is left of a ledger. */
async function bucketsWithLedgers(context: StoreContext, ledger: Ledger, tally: Tally): Promise<Set<string>> {
  const buckets = new Set<string>()
  for await (const { key } of recordsOf(context, 'L', tally.damaged))
    buckets.add(key.toString('utf8', 1, key.length - 1))
  for await (const { value } of recordsOf(context, 'B')) {
    const { name, lockEnabled } = bucketFormat.decode(value)
    if (lockEnabled) buckets.add(name)
  }
  try {
    for await (const bucket of ledger.bucketsWithEntries()) buckets.add(bucket)
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
    tally.damaged(error)
  }
  return buckets
}

interface DeepReport extends FsckReport {
  readonly heldVersions: readonly VersionOnHold[]
}

/** The invariants, every stored byte against its checksum, and the held versions with their digests. */
export async function fsckDeep(context: StoreContext): Promise<DeepReport> {
  const report = await fsck(context)
  const scrubber = new Scrubber(context)
  await runUntilIdle(scrubber)
  const damage = (await scrubber.report()).map(({ what, id, message, objects }) => {
    const affected = objects.map(({ bucket, key, versionId }) => `${bucket}/${key}@${versionId}`)
    return `${what} ${id}: ${message}; affects ${affected.join(', ') || 'no object'}`
  })
  return { ...report, problems: [...report.problems, ...damage], heldVersions: await versionsOnHold(context) }
}
