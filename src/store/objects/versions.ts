/**
 * The versions of one key. The current one has a record of its own, so that a listing reads nothing else; older
 * versions and delete markers are stored separately, newest first. When the newest is a delete marker, a `deleted`
 * record replaces the current one. Every change to the set reads one of the two in its transaction, which serializes
 * changes.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry } from '../../meta/meta.ts'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { countCurrent, countVersion } from '../../model/usage.ts'
import { type Deleted, deletedFormat, NULL_VERSION, type Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { mayRemove } from '../../rules/lock.ts'
import { checkKey, isBucketName, isKey } from '../../rules/naming.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import {
  bucketForRead,
  decodeVersion,
  type StoredVersion,
  Transaction,
  type TransactionContext,
  transact,
} from '../commit/transaction.ts'
import { checkNamedKey } from '../keys/named-keys.ts'
import type { StoreContext } from '../store-context.ts'
import { moveVersion, type RemovalRights, removeVersion } from './lock-gate.ts'

/** The head of a key: its current version, a `deleted` record, or neither. */
export interface KeyHead {
  readonly bucket: Bucket
  readonly key: string
  readonly current: StoredVersion | undefined
  readonly deleted: Deleted | undefined
}

const VERSION_SEQ_BYTES = 6
const VERSION_ID_BYTES = 16
const VERSION_ID_SHAPE = /^[0-9a-f]{32}$/

/** A version id: its sequence number and enough random bytes to be unguessable and unique. */
export function newVersionId(context: StoreContext, seq: number): string {
  const id = Buffer.alloc(VERSION_ID_BYTES)
  id.writeUIntBE(seq, 0, VERSION_SEQ_BYTES)
  context.random.bytes(VERSION_ID_BYTES - VERSION_SEQ_BYTES).copy(id, VERSION_SEQ_BYTES)
  return id.toString('hex')
}

/** Undefined for an id that this store cannot have assigned. */
export const sequenceInId = (id: string): number | undefined =>
  VERSION_ID_SHAPE.test(id) ? Number.parseInt(id.slice(0, VERSION_SEQ_BYTES * 2), 16) : undefined

function seqOfName(id: string): number {
  const seq = sequenceInId(id)
  if (seq === undefined) {
    throw new Fault('InvalidArgument', {
      reason: 'Invalid version id specified',
      ArgumentName: 'versionId',
      ArgumentValue: id,
    })
  }
  return seq
}

const decoded = (entry: Entry | undefined): StoredVersion | undefined =>
  entry === undefined ? undefined : { entry, version: decodeVersion(entry) }

/** Reads in one round trip what `bucketForWrite` and `readHead` ask for. */
export function prefetchHead(tx: Transaction, bucket: string, key: string): Promise<void> | undefined {
  return tx.prefetch(() =>
    isBucketName(bucket) && isKey(key)
      ? [recordKey.bucket(bucket), recordKey.current(bucket, key), recordKey.deleted(bucket, key)]
      : [],
  )
}

export function readHead(tx: Transaction, bucket: Bucket, key: string): MaybePromise<KeyHead> {
  checkKey(key)
  const entry = tx.get(recordKey.current(bucket.name, key))
  return entry instanceof Promise
    ? entry.then(found => headOf(tx, bucket, key, decoded(found)))
    : headOf(tx, bucket, key, decoded(entry))
}

function headOf(
  tx: Transaction,
  bucket: Bucket,
  key: string,
  current: StoredVersion | undefined,
): MaybePromise<KeyHead> {
  // While versioning was never enabled there are no older versions or delete markers. The bucket record, which every
  // writer checks, changes before there can be any.
  if (current !== undefined || bucket.versioning === 'off') return { bucket, key, current, deleted: undefined }
  return deletedHead(tx, bucket, key)
}

async function deletedHead(tx: Transaction, bucket: Bucket, key: string): Promise<KeyHead> {
  const entry = await tx.get(recordKey.deleted(bucket.name, key))
  const deleted = entry === undefined ? undefined : deletedFormat.decode(entry.value)
  return { bucket, key, current: undefined, deleted }
}

/** P29. The sequence number of a version with this id, even if it was removed. */
export function seqOfVersion(head: KeyHead, versionId: string): number | undefined {
  if (versionId !== NULL_VERSION) return seqOfName(versionId)
  if (head.current?.version.id === NULL_VERSION) return head.current.version.seq
  return head.current === undefined ? head.deleted?.nullSeq : head.current.version.nullSeq
}

/** A version by id, or the current one without an id. */
export function locate(
  tx: Transaction,
  head: KeyHead,
  versionId: string | undefined,
): MaybePromise<StoredVersion | undefined> {
  const { current } = head
  if (versionId === undefined || current?.version.id === versionId) return current
  const seq = seqOfVersion(head, versionId)
  if (seq === undefined) return undefined
  return locateOlder(tx, head, seq, versionId)
}

async function locateOlder(
  tx: Transaction,
  head: KeyHead,
  seq: number,
  versionId: string,
): Promise<StoredVersion | undefined> {
  const found = decoded(await tx.get(recordKey.older(head.bucket.name, head.key, seq)))
  return found?.version.id === versionId ? found : undefined
}

/** Details of the delete marker for a fault about a deleted key. */
async function markerOf(
  tx: Transaction,
  head: KeyHead,
): Promise<{ deleteMarker: boolean; markerId?: string | undefined }> {
  if (head.deleted === undefined) return { deleteMarker: false }
  const marker = decoded(await tx.get(recordKey.older(head.bucket.name, head.key, head.deleted.top)))
  return { deleteMarker: true, markerId: marker?.version.id }
}

/** The shape of version ids of any S3 store. */
const ANY_VERSION_ID = /^[\w.~+/=-]{1,1024}$/

/**
 * R118, which precedes R105. Without versioning only the null version exists: an id of any other shape names no
 * version. With versioning, and for every removal, an id of a foreign shape is malformed.
 */
const namesNoVersion = ({ bucket }: KeyHead, id: string): boolean =>
  bucket.versioning === 'off' && id !== NULL_VERSION && ANY_VERSION_ID.test(id)

/** The version, or the fault that says why there is none; a delete marker is not an object. */
export function requireVersion(
  tx: Transaction,
  head: KeyHead,
  versionId: string | undefined,
): MaybePromise<StoredVersion> {
  if (versionId !== undefined && namesNoVersion(head, versionId)) return missing(tx, head, versionId)
  const found = locate(tx, head, versionId)
  return found instanceof Promise
    ? found.then(version => requireObject(tx, head, versionId, version))
    : requireObject(tx, head, versionId, found)
}

function requireObject(
  tx: Transaction,
  head: KeyHead,
  versionId: string | undefined,
  found: StoredVersion | undefined,
): MaybePromise<StoredVersion> {
  if (found === undefined) return missing(tx, head, versionId)
  if (!found.version.marker) return found
  const { id } = found.version
  throw new Fault('MethodNotAllowed', { Key: head.key, VersionId: id, deleteMarker: true, markerId: id })
}

async function missing(tx: Transaction, head: KeyHead, versionId: string | undefined): Promise<never> {
  const Key = head.key
  if (versionId !== undefined) throw new Fault('NoSuchVersion', { Key, VersionId: versionId })
  throw new Fault('NoSuchKey', { Key, ...(await markerOf(tx, head)) })
}

/** A version without position and id. */
export type NewVersion = Omit<Version, 'seq' | 'id' | 'nullSeq'>

function nextPosition(head: KeyHead): { seq: number; nullSeq: number | undefined } {
  const { current, deleted } = head
  if (current === undefined) return { seq: (deleted?.top ?? 0) + 1, nullSeq: deleted?.nullSeq }
  const { seq, id, nullSeq } = current.version
  return { seq: seq + 1, nullSeq: id === NULL_VERSION ? seq : nullSeq }
}

/** Moves the current version to the older ones. */
function demoteCurrent(tx: Transaction, head: KeyHead): void {
  if (head.current === undefined) return
  const { version } = head.current
  const to = recordKey.older(head.bucket.name, head.key, version.seq)
  moveVersion(tx, head.bucket, head.current, to, { ...version, nullSeq: undefined })
}

/**
 * P4–P8. Makes room for a new version or delete marker. With versioning the current version moves back; off or
 * suspended, the null version is removed through the lock gate.
 */
async function displaceCurrent(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  rights: RemovalRights,
): Promise<{ seq: number; id: string; nullSeq: number | undefined }> {
  const { seq, nullSeq } = nextPosition(head)
  if (head.bucket.versioning === 'on') {
    demoteCurrent(tx, head)
    return { seq, id: newVersionId(context, seq), nullSeq }
  }
  if (head.current?.version.id === NULL_VERSION) {
    await removeVersion(context, tx, head.bucket, head.current, rights)
  } else {
    if (nullSeq !== undefined) {
      const old = await locate(tx, head, NULL_VERSION)
      if (old !== undefined) await removeVersion(context, tx, head.bucket, old, rights)
    }
    demoteCurrent(tx, head)
  }
  return { seq, id: NULL_VERSION, nullSeq: undefined }
}

/** Publishes a version as the current one of its key. */
export async function publish(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  version: NewVersion,
  rights: RemovalRights,
): Promise<Version> {
  if (version.encryption !== undefined) await checkNamedKey(tx, version.encryption)
  const position = await displaceCurrent(context, tx, head, rights)
  const stored = atPosition(version, position)
  const key = recordKey.current(head.bucket.name, head.key)
  tx.put(key, versionFormat.encode(stored, key))
  countVersion(tx.usageOf(head.bucket.id), stored, 1)
  countCurrent(tx.usageOf(head.bucket.id), stored, 1)
  if (head.deleted !== undefined) tx.remove(recordKey.deleted(head.bucket.name, head.key))
  return stored
}

/** Written out field by field so that all versions have the same object shape, which spread would not guarantee. */
const atPosition = (version: NewVersion, { seq, id, nullSeq }: Pick<Version, 'seq' | 'id' | 'nullSeq'>): Version => ({
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

/** Publishes a delete marker: the key is deleted, its versions stay. */
export async function publishMarker(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  marker: NewVersion,
  rights: RemovalRights,
): Promise<Version> {
  const { name } = head.bucket
  const { seq, id, nullSeq } = await displaceCurrent(context, tx, head, rights)
  const stored: Version = { ...marker, seq, id, nullSeq: undefined }
  const key = recordKey.older(name, head.key, seq)
  tx.put(key, versionFormat.encode(stored, key))
  countVersion(tx.usageOf(head.bucket.id), stored, 1)
  const deleted: Deleted = { top: seq, nullSeq: id === NULL_VERSION ? seq : nullSeq }
  tx.put(recordKey.deleted(name, head.key), deletedFormat.encode(deleted))
  return stored
}

/** Removes one version; if it was the newest, the next one takes its place. */
export async function unlinkVersion(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  target: StoredVersion,
  rights: RemovalRights,
): Promise<void> {
  const { current, deleted } = head
  // A key with versions has one of the two. Another transaction moved them between two reads: start over.
  if (current === undefined && deleted === undefined) throw new Fault('OperationAborted')
  await removeVersion(context, tx, head.bucket, target, rights)
  const nullSeq = current === undefined ? deleted?.nullSeq : current.version.nullSeq
  if (target === current) {
    const [newest] = head.bucket.versioning === 'off' ? [] : await newestOlder(context, tx, head, 1)
    await promote(context, tx, head, newest, nullSeq)
    return
  }
  const wasNull = target.version.id === NULL_VERSION
  const left = wasNull ? undefined : nullSeq
  if (current !== undefined) {
    const { key } = current.entry
    if (wasNull) tx.put(key, versionFormat.encode({ ...current.version, nullSeq: undefined }, key))
    return
  }
  const [newest, next] = await newestOlder(context, tx, head, 2)
  if (newest?.version.seq === target.version.seq) await promote(context, tx, head, next, left)
  else if (wasNull) {
    tx.put(
      recordKey.deleted(head.bucket.name, head.key),
      deletedFormat.encode({ top: deleted!.top, nullSeq: undefined }),
    )
  }
}

/** The newest versions after the current one, checked at commit. */
async function newestOlder(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  count: number,
): Promise<StoredVersion[]> {
  const entries = await context.meta.scan(keyRanges.olderOf(head.bucket.name, head.key), count)
  for (const entry of entries) tx.check(entry)
  return entries.map(entry => ({ entry, version: decodeVersion(entry) }))
}

/** P23. The scan for locked versions under a key reads current versions first, so none may become current during it. */
async function dependOnKeyIfLocked(
  context: StoreContext,
  tx: Transaction,
  { encryption, lock }: Version,
): Promise<void> {
  if (encryption?.by !== 'named' || mayRemove(lock, await context.lockClock.now(), false) === undefined) return
  await checkNamedKey(tx, encryption)
}

/** Makes `next` the newest: it becomes current if it is an object; otherwise the key stays deleted or disappears. */
async function promote(
  context: StoreContext,
  tx: Transaction,
  head: KeyHead,
  next: StoredVersion | undefined,
  nullSeq: number | undefined,
): Promise<void> {
  const { name } = head.bucket
  if (next !== undefined && !next.version.marker) {
    await dependOnKeyIfLocked(context, tx, next.version)
    const isNull = next.version.id === NULL_VERSION
    const version: Version = { ...next.version, nullSeq: isNull ? undefined : nullSeq }
    moveVersion(tx, head.bucket, next, recordKey.current(name, head.key), version)
    if (head.current === undefined) tx.remove(recordKey.deleted(name, head.key))
    return
  }
  const top = next?.version.seq
  if (top !== undefined) tx.put(recordKey.deleted(name, head.key), deletedFormat.encode({ top, nullSeq }))
  else if (head.current === undefined) tx.remove(recordKey.deleted(name, head.key))
}

export interface VersionSelector {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string | undefined
}

/** Finds a version by its id, or the current one of a key. */
export function locateVersion(tx: Transaction, which: VersionSelector): MaybePromise<StoredVersion> {
  const bucket = bucketForRead(tx, which.bucket)
  return bucket instanceof Promise ? bucket.then(found => locateIn(tx, found, which)) : locateIn(tx, bucket, which)
}

function locateIn(tx: Transaction, bucket: Bucket, which: VersionSelector): MaybePromise<StoredVersion> {
  const head = readHead(tx, bucket, which.key)
  return head instanceof Promise
    ? head.then(found => requireVersion(tx, found, which.versionId))
    : requireVersion(tx, head, which.versionId)
}

/** Like `locateVersion`, for a caller that only reads. */
export function findVersion(context: TransactionContext, which: VersionSelector): MaybePromise<StoredVersion> {
  try {
    const found = locateVersion(new Transaction(context.meta), which)
    return found instanceof Promise ? found.catch(error => findAgain(context, which, error)) : found
  } catch (error) {
    return findAgain(context, which, error)
  }
}

/** A version that was not found may have moved between two reads, so the search is repeated in a transaction. */
async function findAgain(context: TransactionContext, which: VersionSelector, error: unknown): Promise<StoredVersion> {
  if (!(error instanceof Fault)) throw error
  return transact(context, async tx => locateVersion(tx, which))
}
