/** The keys of every record. Byte order is the order of listings; `docs/formats/records.md` states them exactly. */
import { prefixSuccessor } from '../../lib/bytes.ts'
import { descending, key, readDescending, readUint64 } from '../../lib/keys.ts'
import type { KeyRange } from '../../meta/meta.ts'

const bucketIdBytes = (id: string): Buffer => Buffer.from(id, 'hex')

let lastBucket = { name: '', bytes: key('B', '') }

function bucketKey(name: string): Buffer {
  if (name !== lastBucket.name) lastBucket = { name, bytes: key('B', name) }
  return lastBucket.bytes
}

let lastCurrent = { bucket: '', name: '', bytes: key('o', '', '') }

/** The current version: exactly what a plain listing shows. */
function current(bucket: string, name: string): Buffer {
  if (name !== lastCurrent.name || bucket !== lastCurrent.bucket) {
    lastCurrent = { bucket, name, bytes: key('o', bucket, name) }
  }
  return lastCurrent.bytes
}

/** A request uses the same two keys several times, so the last ones are reused. Callers must not modify them. */
export const recordKey = {
  bucket: bucketKey,
  /** A bucket under its owner. */
  owned: (owner: string, bucket: string) => key('w', owner, bucket),
  document: (bucket: string, name: string) => key('d', bucket, name),
  current,
  /** Older versions and markers, newest first. */
  older: (bucket: string, name: string, seq: number) => key('v', bucket, name, descending(seq)),
  /** Present when the newest version of a key is a delete marker. */
  deleted: (bucket: string, name: string) => key('h', bucket, name),
  upload: (bucket: string, name: string, id: Buffer) => key('u', bucket, name, id),
  part: (upload: Buffer, number: number) => key('p', upload, number),
  blob: (id: Buffer) => key('b', id),
  content: (id: Buffer) => key('c', id),
  page: (id: Buffer, page: number) => key('s', id, page),
  garbage: (id: Buffer) => key('g', id),
  /** The result of a completed upload. */
  completed: (upload: Buffer) => key('e', upload),
  owner: () => key('x', 'owner'),
  /** The format of everything that is stored. */
  format: () => key('x', 'format'),
  /** Whether a named key may be used, by the digest of its name. */
  namedKey: (digest: Buffer) => key('x', 'key', digest),
  /** Progress of the scan that precedes disabling a named key. */
  keyUseScan: (digest: Buffer) => key('x', 'key look', digest),
  /** A rotation recorded in the ledger that the keyring may not have applied yet. */
  rotation: () => key('x', 'rotation'),
  /** The clock mark. */
  clock: () => key('x', 'clock'),
  /** Where blobs move, or have moved. */
  blobsMove: () => key('x', 'blobs move'),
  /** Exists while records arrive from another engine or a backup. */
  incoming: () => key('x', 'incoming'),
  /** Exists while a worker of the owner may commit. */
  fence: (writer: Buffer) => key('x', 'fence', writer),
  account: (accountId: string) => key('A', accountId),
  /** Maps a canonical id to its account. */
  canonicalId: (id: string) => key('I', id),
  user: (accountId: string, name: string) => key('n', accountId, name),
  accessKey: (accessKey: string) => key('k', accessKey),
  /** Maps an access key to its account (no user) or to one of its users. */
  keyOf: (accountId: string, user: string | undefined, accessKey: string) => key('K', accountId, user ?? '', accessKey),
  /** Canonical id of a deleted account. */
  formerAccount: (accountId: string) => key('x', 'former account', accountId),
  /** Marks a deleted user's name as used. */
  formerUser: (accountId: string, name: string) => key('x', 'former user', accountId, name),
  /** Change counters of all account records. */
  accountsMark: () => key('x', 'accounts'),
  /** Present once every bucket is indexed under its owner. */
  indexed: () => key('x', 'buckets by owner'),
  /** Usage of a bucket when it was last counted, by its id: counters never pass to a later bucket of the same name. */
  usageBase: (bucketId: string) => key('U', bucketIdBytes(bucketId)),
  /** Usage added since by commits of one process; a process has several slots, one per commit in flight. */
  usageSlot: (bucketId: string, writer: Buffer, slot: number) => key('U', bucketIdBytes(bucketId), writer, slot),
  usageMark: () => key('x', 'usage'),
  /** The signed head of a bucket's ledger. */
  ledgerHead: (bucket: string) => key('L', bucket),
  ledgerEntry: (bucket: string, sequence: number) => key('l', bucket, sequence),
  /** Ledger entries about one version. */
  ledgerIndex: (bucket: string, name: string, versionId: string, sequence: number) =>
    key('i', bucket, name, versionId, sequence),
}

/** Kinds of records whose keys begin with a bucket's name. Other kinds have ids that are never reused. */
const OF_BUCKETS = new Set(Buffer.from('dovhuLli'))
const DOCUMENT = 'd'.charCodeAt(0)
const CURRENT = 'o'.charCodeAt(0)

export const isBucketScoped = (bytes: Buffer): boolean => OF_BUCKETS.has(bytes[0]!)
export const isCurrent = (bytes: Buffer): boolean => bytes[0] === CURRENT
export const isDocument = (bytes: Buffer): boolean => bytes[0] === DOCUMENT

/** Every record whose key has this prefix. */
function keysUnder(prefix: Buffer): KeyRange {
  return { start: prefix, end: prefixSuccessor(prefix) }
}

export const keyRanges = {
  buckets: () => keysUnder(key('B')),
  owned: (owner: string) => keysUnder(key('w', owner)),
  current: (bucket: string) => keysUnder(key('o', bucket)),
  older: (bucket: string) => keysUnder(key('v', bucket)),
  olderOf: (bucket: string, name: string) => keysUnder(key('v', bucket, name)),
  uploads: (bucket: string) => keysUnder(key('u', bucket)),
  uploadsOf: (bucket: string, name: string) => keysUnder(key('u', bucket, name)),
  parts: (upload: Buffer) => keysUnder(key('p', upload)),
  pages: (id: Buffer) => keysUnder(key('s', id)),
  accounts: () => keysUnder(key('A')),
  users: (accountId: string) => keysUnder(key('n', accountId)),
  keysOfAccount: (accountId: string) => keysUnder(key('K', accountId)),
  keysOf: (accountId: string, user: string | undefined) => keysUnder(key('K', accountId, user ?? '')),
  usage: (bucketId: string) => keysUnder(key('U', bucketIdBytes(bucketId))),
  usageOfWriter: (bucketId: string, writer: Buffer) => keysUnder(key('U', bucketIdBytes(bucketId), writer)),
  ledgerHeads: () => keysUnder(key('L')),
  ledgerEntries: (bucket: string) => keysUnder(key('l', bucket)),
  ledgerIndex: (bucket: string, name: string, versionId: string) => keysUnder(key('i', bucket, name, versionId)),
  fences: () => keysUnder(key('x', 'fence')),
  /** Members, their renewals, the leader, barriers and holds of a cluster. */
  cluster: () => keysUnder(key('x', 'cluster')),
  /** Secrets that gateways share, sealed under the cluster key. */
  sealed: () => keysUnder(key('x', 'sealed')),
  kind: (kind: string) => keysUnder(Buffer.from(kind, 'latin1')),
}

/** Parses a record key: bucket and name of `o`, `v`, `h` and `u` records, owner and name of `w`. */
export function parseRecordKey(bytes: Buffer): { bucket: string; name: string; rest: Buffer } {
  const first = bytes.indexOf(0, 1)
  const second = bytes.indexOf(0, first + 1)
  return {
    bucket: bytes.toString('utf8', 1, first),
    name: bytes.toString('utf8', first + 1, second),
    rest: bytes.subarray(second + 1),
  }
}

/** Offset of the name in the keys of this bucket. */
export const nameOffset = (bucket: string): number => 1 + Buffer.byteLength(bucket) + 1

/** Bytes that follow the name, for kinds where they have a fixed length: its terminator, then a number or an id. */
export const NAME_TRAILER_BYTES: Readonly<Record<'o' | 'v' | 'u', number>> = { o: 1, v: 1 + 8, u: 1 + 16 }

/** Sequence number of an older version, from its key alone. */
export function sequenceOf(bytes: Buffer): number {
  return readDescending(bytes, bytes.length - 8)
}

const BUCKET_ID_BYTES = 8
const USAGE_BASE_BYTES = 1 + BUCKET_ID_BYTES

/** A parsed usage key. The base record has no writer. */
interface UsageKey {
  readonly bucketId: string
  readonly writer: Buffer | undefined
  readonly slot: number
}

export function parseUsage(bytes: Buffer): UsageKey {
  const bucketId = bytes.toString('hex', 1, USAGE_BASE_BYTES)
  if (bytes.length === USAGE_BASE_BYTES) return { bucketId, writer: undefined, slot: 0 }
  const end = bytes.length - 8
  return { bucketId, writer: bytes.subarray(USAGE_BASE_BYTES, end), slot: readUint64(bytes, end) }
}
