/**
 * The versions of one key. The current one stands in its own record, so that a listing meets nothing else; older ones
 * and markers stand behind it, newest first. When the newest is a marker there is no current record but a `deleted`
 * one. Every change to the set reads one of the two through its decision, which keeps the set whole.
 */
import { after, type Soon } from '../lib/soon.ts'
import type { Entry } from '../meta/meta.ts'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import { type Deleted, deletedFormat, NULL_VERSION, type Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { mayRemove } from '../rules/lock.ts'
import { checkKey } from '../rules/naming.ts'
import { all, at } from './addresses.ts'
import type { Decision } from './decision.ts'
import type { Engine } from './engine.ts'
import { relyOnKey } from './named-keys.ts'
import { type Located, versionIn } from './reading.ts'
import { type Allowance, moveVersion, removeVersion } from './removal.ts'
import { tallyCurrent, tallyVersion } from './tally.ts'

/** The head of a key: its current version, or that it is deleted, or nothing. */
export interface Head {
  readonly bucket: Bucket
  readonly key: string
  readonly current: Located | undefined
  readonly deleted: Deleted | undefined
}

const VERSION_SEQ_BYTES = 6
const VERSION_ID_BYTES = 16
const VERSION_ID_SHAPE = /^[0-9a-f]{32}$/

/** A version's public name: its place, and enough chance that nobody guesses one or meets it twice. */
export function versionName(engine: Engine, seq: number): string {
  const id = Buffer.alloc(VERSION_ID_BYTES)
  id.writeUIntBE(seq, 0, VERSION_SEQ_BYTES)
  engine.random.bytes(VERSION_ID_BYTES - VERSION_SEQ_BYTES).copy(id, VERSION_SEQ_BYTES)
  return id.toString('hex')
}

function seqOfName(id: string): number {
  if (!VERSION_ID_SHAPE.test(id)) {
    throw new Fault('InvalidArgument', {
      reason: 'Invalid version id specified',
      ArgumentName: 'versionId',
      ArgumentValue: id,
    })
  }
  return Number.parseInt(id.slice(0, VERSION_SEQ_BYTES * 2), 16)
}

const located = (entry: Entry | undefined): Located | undefined =>
  entry === undefined ? undefined : { entry, version: versionIn(entry) }

export function readHead(d: Decision, bucket: Bucket, key: string): Soon<Head> {
  checkKey(key)
  return after(d.get(at.current(bucket.name, key)), entry => {
    const current = located(entry)
    // While versioning was never on there are no older versions and no markers, and the bucket's own record, which
    // every writer relies on, changes before there can be any.
    if (current !== undefined || bucket.versioning === 'off') return { bucket, key, current, deleted: undefined }
    return after(d.get(at.deleted(bucket.name, key)), marked => {
      const deleted = marked === undefined ? undefined : deletedFormat.decode(marked.value)
      return { bucket, key, current, deleted }
    })
  })
}

/** Where a version of this name stands, or stood. */
export function seqOfVersion(head: Head, versionId: string): number | undefined {
  if (versionId !== NULL_VERSION) return seqOfName(versionId)
  if (head.current?.version.id === NULL_VERSION) return head.current.version.seq
  return head.current === undefined ? head.deleted?.nullSeq : head.current.version.nullSeq
}

/** A version by its name, or the current one when no name is given. */
export function locate(d: Decision, head: Head, versionId: string | undefined): Soon<Located | undefined> {
  const { current } = head
  if (versionId === undefined || current?.version.id === versionId) return current
  const seq = seqOfVersion(head, versionId)
  if (seq === undefined) return undefined
  return after(d.get(at.older(head.bucket.name, head.key, seq)), entry => {
    const found = located(entry)
    return found?.version.id === versionId ? found : undefined
  })
}

/** What is told about a key that is deleted, and not of one that never was: that there is a marker, and which. */
async function markerOf(d: Decision, head: Head): Promise<{ deleteMarker: boolean; markerId?: string | undefined }> {
  if (head.deleted === undefined) return { deleteMarker: false }
  const marker = located(await d.get(at.older(head.bucket.name, head.key, head.deleted.top)))
  return { deleteMarker: true, markerId: marker?.version.id }
}

/** What a store may call a version. */
const NAME_OF_ANY_STORE = /^[\w.~+/=-]{1,1024}$/

/**
 * R118, which goes before R105. Without versions there is one name only: whatever shape another one has, it names none
 * of them. Where versions are kept, and wherever one is to be removed, a name of another shape than ours is malformed.
 */
const isOfNoVersion = ({ bucket }: Head, id: string): boolean =>
  bucket.versioning === 'off' && id !== NULL_VERSION && NAME_OF_ANY_STORE.test(id)

/** The version, or the fault that says why there is none; a marker is not an object. */
export function mustLocate(d: Decision, head: Head, versionId: string | undefined): Soon<Located> {
  if (versionId !== undefined && isOfNoVersion(head, versionId)) return missing(d, head, versionId)
  return after(locate(d, head, versionId), found => {
    if (found === undefined) return missing(d, head, versionId)
    if (!found.version.marker) return found
    const { id } = found.version
    throw new Fault('MethodNotAllowed', { Key: head.key, VersionId: id, deleteMarker: true, markerId: id })
  })
}

async function missing(d: Decision, head: Head, versionId: string | undefined): Promise<never> {
  const Key = head.key
  if (versionId !== undefined) throw new Fault('NoSuchVersion', { Key, VersionId: versionId })
  throw new Fault('NoSuchKey', { Key, ...(await markerOf(d, head)) })
}

/** A version that is about to get its place and its name. */
export type Unplaced = Omit<Version, 'seq' | 'id' | 'nullSeq'>

function placeOf(head: Head): { seq: number; nullSeq: number | undefined } {
  const { current, deleted } = head
  if (current === undefined) return { seq: (deleted?.top ?? 0) + 1, nullSeq: deleted?.nullSeq }
  const { seq, id, nullSeq } = current.version
  return { seq: seq + 1, nullSeq: id === NULL_VERSION ? seq : nullSeq }
}

/** Moves the current version behind the newest place. */
function pushBack(d: Decision, head: Head): void {
  if (head.current === undefined) return
  const { version } = head.current
  const to = at.older(head.bucket.name, head.key, version.seq)
  moveVersion(d, head.bucket, head.current, to, { ...version, nullSeq: undefined })
}

/**
 * Makes room at the top of the key for a new version or marker: on, the current one moves back; off or suspended, the
 * null version goes, through the one gate that removes versions.
 */
async function makeRoom(
  engine: Engine,
  d: Decision,
  head: Head,
  allowance: Allowance,
): Promise<{ seq: number; id: string; nullSeq: number | undefined }> {
  const { seq, nullSeq } = placeOf(head)
  if (head.bucket.versioning === 'on') {
    pushBack(d, head)
    return { seq, id: versionName(engine, seq), nullSeq }
  }
  if (head.current?.version.id === NULL_VERSION) {
    await removeVersion(engine, d, head.bucket, head.current, allowance)
  } else {
    if (nullSeq !== undefined) {
      const old = await locate(d, head, NULL_VERSION)
      if (old !== undefined) await removeVersion(engine, d, head.bucket, old, allowance)
    }
    pushBack(d, head)
  }
  return { seq, id: NULL_VERSION, nullSeq: undefined }
}

/** Puts a version at the top of its key. */
export async function publish(
  engine: Engine,
  d: Decision,
  head: Head,
  version: Unplaced,
  allowance: Allowance,
): Promise<Version> {
  await relyOnKey(d, version.encryption)
  const place = await makeRoom(engine, d, head, allowance)
  const placed = placedAt(version, place)
  const address = at.current(head.bucket.name, head.key)
  d.put(address, versionFormat.encode(placed, address))
  tallyVersion(d, head.bucket, placed, 1)
  tallyCurrent(d, head.bucket, placed, 1)
  if (head.deleted !== undefined) d.remove(at.deleted(head.bucket.name, head.key))
  return placed
}

/** Written out: of two objects put together, every one would have its shape worked out anew. */
const placedAt = (version: Unplaced, { seq, id, nullSeq }: Pick<Version, 'seq' | 'id' | 'nullSeq'>): Version => ({
  seq,
  id,
  nullSeq,
  modifiedAt: version.modifiedAt,
  owner: version.owner,
  marker: version.marker,
  size: version.size,
  etag: version.etag,
  parts: version.parts,
  checksum: version.checksum,
  encryption: version.encryption,
  lock: version.lock,
  attributes: version.attributes,
  content: version.content,
})

/** Puts a marker at the top: the key is deleted, its versions stay. */
export async function publishMarker(
  engine: Engine,
  d: Decision,
  head: Head,
  marker: Unplaced,
  allowance: Allowance,
): Promise<Version> {
  const { name } = head.bucket
  const { seq, id, nullSeq } = await makeRoom(engine, d, head, allowance)
  const placed: Version = { ...marker, seq, id, nullSeq: undefined }
  const address = at.older(name, head.key, seq)
  d.put(address, versionFormat.encode(placed, address))
  tallyVersion(d, head.bucket, placed, 1)
  const deleted: Deleted = { top: seq, nullSeq: id === NULL_VERSION ? seq : nullSeq }
  d.put(at.deleted(name, head.key), deletedFormat.encode(deleted))
  return placed
}

/** Takes one version out of the set; if it was the newest, the next one takes its place. */
export async function takeOut(
  engine: Engine,
  d: Decision,
  head: Head,
  target: Located,
  allowance: Allowance,
): Promise<void> {
  await removeVersion(engine, d, head.bucket, target, allowance)
  const { current, deleted } = head
  const nullSeq = current === undefined ? deleted?.nullSeq : current.version.nullSeq
  if (target === current) {
    const [newest] = head.bucket.versioning === 'off' ? [] : await newestOlder(engine, d, head, 1)
    await promote(engine, d, head, newest, nullSeq)
    return
  }
  const wasNull = target.version.id === NULL_VERSION
  const left = wasNull ? undefined : nullSeq
  if (current !== undefined) {
    const { key } = current.entry
    if (wasNull) d.put(key, versionFormat.encode({ ...current.version, nullSeq: undefined }, key))
    return
  }
  const [newest, next] = await newestOlder(engine, d, head, 2)
  if (newest?.version.seq === target.version.seq) await promote(engine, d, head, next, left)
  else if (wasNull) {
    d.put(at.deleted(head.bucket.name, head.key), deletedFormat.encode({ top: deleted!.top, nullSeq: undefined }))
  }
}

/** The newest versions behind the current one; which they are is part of the decision. */
async function newestOlder(engine: Engine, d: Decision, head: Head, count: number): Promise<Located[]> {
  const entries = await engine.meta.scan(all.olderOf(head.bucket.name, head.key), count)
  for (const entry of entries) d.relyOn(entry)
  return entries.map(entry => ({ entry, version: versionIn(entry) }))
}

/** P23. Whoever looks for locked versions under a key looks at current ones first: none may get there meanwhile. */
async function relyOnKeyOfLocked(engine: Engine, d: Decision, { encryption, lock }: Version): Promise<void> {
  if (encryption?.by !== 'named' || mayRemove(lock, await engine.lockClock.now(), false) === undefined) return
  await relyOnKey(d, encryption)
}

/** `next` becomes the newest: the current version if it is an object, or the key stays deleted, or nothing is left. */
async function promote(
  engine: Engine,
  d: Decision,
  head: Head,
  next: Located | undefined,
  nullSeq: number | undefined,
): Promise<void> {
  const { name } = head.bucket
  const top = head.current?.version.seq ?? head.deleted!.top
  if (next !== undefined && !next.version.marker) {
    await relyOnKeyOfLocked(engine, d, next.version)
    const isNull = next.version.id === NULL_VERSION
    const version: Version = { ...next.version, nullSeq: isNull ? undefined : nullSeq }
    moveVersion(d, head.bucket, next, at.current(name, head.key), version)
    if (head.current === undefined) d.remove(at.deleted(name, head.key))
    return
  }
  if (next !== undefined) d.put(at.deleted(name, head.key), deletedFormat.encode({ top, nullSeq }))
  else if (head.current === undefined) d.remove(at.deleted(name, head.key))
}
