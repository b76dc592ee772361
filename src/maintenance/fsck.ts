/**
 * Checks the invariants by counting everything again, over records that do not change meanwhile: of a store at rest, or
 * of a snapshot. Its memory is bounded, except for uploads in progress, garbage and buckets.
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
import type { StoreContext } from '../store/store-context.ts'
import { isPartUsed } from '../store/uploads/completion.ts'
import { BlobPlaces } from './blob-places.ts'
import { checkLedgers } from './check-ledgers.ts'
import { type Findings, type Pace, UNREPORTED } from './findings.ts'
import { runUntilIdle } from './maintenance-step.ts'
import { garbageReferences, recordsOf, referencesOf } from './records.ts'
import { type CountedRecord, ReferenceWindow } from './reference-window.ts'
import { Scrubber } from './scrub.ts'
import { UsageCount } from './usage-count.ts'
import { type VersionOnHold, versionsOnHold } from './versions-on-hold.ts'

/** References to this many blobs and contents are counted in one pass over all other records; about 50 MiB. */
const WINDOW_RECORDS = 2 ** 21

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

export interface FsckCounts extends Omit<FsckReport, 'problems' | 'held'> {
  /** Stored bytes of all blobs. */
  readonly bytes: number
}

export interface FsckOptions {
  readonly pace?: Pace
  readonly windowRecords?: number
}

/** One pass over the records that reference others. */
class Tally {
  readonly usage = new UsageCount()
  readonly #findings: Findings
  readonly #window: ReferenceWindow
  objects = 0
  garbage = 0
  readonly damaged = (record: DamagedRecord): void => this.problem(record.message)

  constructor(findings: Findings, window: ReferenceWindow) {
    this.#findings = findings
    this.#window = window
  }

  problem(text: string): void {
    this.#findings.problem(text)
  }

  held(version: string): void {
    this.#findings.held(version)
  }

  hold({ slices, content }: { slices: readonly Slice[]; content: Buffer | undefined }): void {
    for (const slice of slices) this.#window.count(slice.of, slice.id)
    if (content !== undefined) this.#window.count('content', content)
  }
}

export async function fsck(store: StoreContext, options: FsckOptions = {}): Promise<FsckReport> {
  const problems: string[] = []
  const held: string[] = []
  const findings = { problem: (text: string) => problems.push(text), held: (version: string) => held.push(version) }
  const { bytes: _, ...counts } = await checkInvariants(unguarded(store), findings, options)
  return { problems, ...counts, held }
}

/** As `fsck`; each finding is reported as it is found. */
export async function checkInvariants(
  context: StoreContext,
  findings: Findings,
  { pace = () => {}, windowRecords = WINDOW_RECORDS }: FsckOptions = {},
): Promise<FsckCounts> {
  // Listed after the records were fixed: files that they name are there, and may have grown.
  const places = new BlobPlaces(await context.blobs.volumes(), findings)
  let contents = 0
  const read = (key: Buffer, value: Buffer): CountedRecord => {
    if (key[0] === BLOB_KIND) {
      const blob = blobFormat.decode(value)
      places.add(key.subarray(1), blob)
      return { references: blob.referenceCount, isSolo: blob.volume === undefined }
    }
    contents++
    return { references: contentFormat.decode(value).referenceCount, isSolo: false }
  }
  let first: Tally | undefined
  for await (const window of ReferenceWindow.inTurn({ context, findings, recordsMax: windowRecords, read })) {
    const tally = new Tally(first === undefined ? findings : UNREPORTED, window)
    await countReferences(context, tally)
    await window.compare(context, findings, pace)
    first ??= tally
  }
  await places.compare(context, pace)
  await checkContentSizes(context, findings)
  await checkHeads(context, findings)
  await checkOwners(context, findings)
  await checkLedgers(context, findings)
  const usage = await first!.usage.compare(context, findings)
  const { objects, garbage } = first!
  return { objects, blobs: places.blobs, bytes: places.bytes, contents, garbage, usage }
}

/** Key prefix of blob records. */
const BLOB_KIND = 'b'.charCodeAt(0)

async function countReferences(context: StoreContext, tally: Tally): Promise<void> {
  await countVersions(context, tally)
  const garbage = await countGarbage(context, tally)
  await countParts(context, tally, garbage.ended)
  await countPages(context, tally, garbage.unnamed)
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
      if (version.lock.hold === true) tally.held(label)
      if (kind === 'o' && version.marker) tally.problem(`${label}: a delete marker is current`)
      if (kind === 'v' && sequenceOf(entry.key) !== version.seq)
        tally.problem(`${label}: is stored under the wrong sequence number`)
      if (!version.marker && sizeOf(version) !== undefined && sizeOf(version) !== version.size) {
        tally.problem(`${label}: the size of its content differs`)
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
async function checkHeads(context: StoreContext, findings: Findings): Promise<void> {
  for await (const entry of recordsOf(context, 'h', reportTo(findings))) {
    await skipDamaged(() => checkDeleted(context, findings, entry))
  }
  for await (const entry of recordsOf(context, 'v', reportTo(findings))) {
    await skipDamaged(() => checkOlder(context, findings, entry))
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

async function checkDeleted(context: StoreContext, findings: Findings, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  if ((await context.meta.get(recordKey.current(bucket, name))) !== undefined) {
    findings.problem(`${bucket}/${name}: is both current and deleted`)
  }
  const { top } = deletedFormat.decode(entry.value)
  const newest = await newestOlder(context, bucket, name)
  if (newest === undefined || !newest.marker || newest.seq > top) {
    findings.problem(`${bucket}/${name}: is deleted, but its newest version is not a delete marker`)
  }
}

async function checkOlder({ meta }: StoreContext, findings: Findings, entry: Entry): Promise<void> {
  const { bucket, name } = parseRecordKey(entry.key)
  const version = versionFormat.decode(entry.value)
  const current = await meta.get(recordKey.current(bucket, name))
  const head = current === undefined ? await meta.get(recordKey.deleted(bucket, name)) : current
  if (head === undefined) {
    findings.problem(`${bucket}/${name}@${version.id}: has no head`)
    return
  }
  const { seq, nullSeq } =
    current === undefined
      ? { seq: Number.MAX_SAFE_INTEGER, ...deletedFormat.decode(head.value) }
      : versionFormat.decode(head.value)
  if (version.seq >= seq) findings.problem(`${bucket}/${name}@${version.id}: is newer than the current version`)
  if (version.id === NULL_VERSION && nullSeq !== version.seq) {
    findings.problem(`${bucket}/${name}: its null version is not where its head says`)
  }
}

/** Once the owner index is complete, it lists every bucket under its owner and nothing else. */
async function checkOwners(context: StoreContext, findings: Findings): Promise<void> {
  const { meta } = context
  for await (const entry of recordsOf(context, 'w', reportTo(findings))) {
    const { bucket: owner, name } = parseRecordKey(entry.key)
    const bucket = await meta.get(recordKey.bucket(name))
    const isOwner = bucket !== undefined && bucketFormat.decode(bucket.value).owner === owner
    if (!isOwner) findings.problem(`bucket ${name}: listed for ${owner}, who does not own it`)
  }
  if (!(await isIndexed(context))) return
  for await (const entry of recordsOf(context, 'B', reportTo(findings))) {
    const { name, owner } = bucketFormat.decode(entry.value)
    if ((await meta.get(recordKey.owned(owner, name))) === undefined) {
      findings.problem(`bucket ${name}: not listed for its owner`)
    }
  }
}

const reportTo =
  (findings: Findings) =>
  (record: DamagedRecord): void =>
    findings.problem(record.message)

async function newestOlder(context: StoreContext, bucket: string, name: string): Promise<Version | undefined> {
  const start = recordKey.older(bucket, name, Number.MAX_SAFE_INTEGER)
  const [entry] = await context.meta.scan({ start, end: recordKey.older(bucket, name, 0) }, 1)
  return entry && versionFormat.decode(entry.value)
}

async function countGarbage(
  context: StoreContext,
  tally: Tally,
): Promise<{ unnamed: Map<string, boolean>; ended: Map<string, Buffer> }> {
  const unnamed = new Map<string, boolean>()
  const ended = new Map<string, Buffer>()
  for await (const entry of recordsOf(context, 'g', tally.damaged)) {
    tally.garbage++
    const garbage = garbageFormat.decode(entry.value)
    tally.hold(garbageReferences(garbage))
    if (garbage.kind === 'pages') unnamed.set(garbage.id.toString('hex'), garbage.held)
    if (garbage.kind === 'parts') ended.set(garbage.upload.toString('hex'), garbage.taken)
  }
  return { unnamed, ended }
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
    if (taken === undefined && !open.has(upload)) tally.problem(`part ${part.number} of ${upload}: has no upload`)
    if (taken === undefined || !isPartUsed(taken, part.number)) tally.hold({ slices: part.slices, content: undefined })
  }
}

/** Pages of a named content, or of one being released, reference their slices; pages written ahead do not. */
async function countPages(context: StoreContext, tally: Tally, unnamed: ReadonlyMap<string, boolean>): Promise<void> {
  for await (const entry of recordsOf(context, 's', tally.damaged)) {
    const id = entry.key.subarray(1, 17)
    const name = id.toString('hex')
    const held = unnamed.get(name)
    if (held !== false) {
      for (const part of pageFormat.decode(entry.value)) tally.hold({ slices: part.slices, content: undefined })
    }
    if (held === undefined && (await context.meta.get(recordKey.content(id))) === undefined) {
      tally.problem(`page of content ${name}: has no content record`)
    }
  }
}

interface ContentSize {
  readonly id: Buffer
  readonly size: number
}

/** The size of each content by its pages, in the order of ids. */
async function* sizesByPages(context: StoreContext): AsyncGenerator<ContentSize, undefined> {
  let content: ContentSize | undefined
  for await (const { key, value } of recordsOf(context, 's')) {
    const id = key.subarray(1, 17)
    if (content !== undefined && !content.id.equals(id)) {
      yield content
      content = undefined
    }
    const size = pageFormat.decode(value).reduce((sum, part) => sum + part.size, 0)
    content = { id, size: (content?.size ?? 0) + size }
  }
  if (content !== undefined) yield content
}

/** Pages and content records have the same order, so both are read once. */
async function checkContentSizes(context: StoreContext, findings: Findings): Promise<void> {
  const sizes = sizesByPages(context)
  let paged = (await sizes.next()).value
  for await (const { key, value } of recordsOf(context, 'c')) {
    const id = key.subarray(1, 17)
    while (paged !== undefined && paged.id.compare(id) < 0) paged = (await sizes.next()).value
    const counted = paged?.id.equals(id) ? paged.size : undefined
    if (counted !== contentFormat.decode(value).size) {
      findings.problem(`content ${id.toString('hex')}: the size of its pages differs`)
    }
  }
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
