/**
 * Reads the records that a request will probably need in one round trip. Their keys follow from the request and from
 * records that earlier requests have read. A wrong guess costs a further read, never a wrong answer: the session takes
 * from here only records that it would otherwise read itself, and all of them existed at the same time.
 */
import type { Entry, RemoteReads } from '../meta/meta.ts'
import { isBucketName, isKey } from '../rules/naming.ts'
import { mapKeyOf, type ReadAhead, type RecordCache } from './commit/authorized-view.ts'
import { recordKey } from './commit/record-keys.ts'
import { decodeBucket, decodeVersion } from './commit/transaction.ts'
import { sequenceInId } from './objects/versions.ts'

/** The resource that a request addresses. */
export interface RequestTarget {
  readonly bucket: string
  /** Empty for a request about the bucket. */
  readonly key: string
  readonly versionId?: string | undefined
  /** False for a write, which reads the object again in its transaction. */
  readonly onlyReads: boolean
}

/** Documents that authorization needs, and those that a response describes an object by. */
const documentsFor = ({ key, onlyReads }: RequestTarget): readonly string[] =>
  onlyReads && key !== '' ? ['policy', 'lifecycle'] : ['policy']

function bucketKeys(cache: RecordCache, target: RequestTarget): readonly Buffer[] {
  const key = recordKey.bucket(target.bucket)
  const known = cache.get(mapKeyOf(key))
  const documents = known === undefined ? [] : decodeBucket(known).documents
  return [
    key,
    ...documentsFor(target)
      .filter(name => documents.includes(name))
      .map(name => recordKey.document(target.bucket, name)),
  ]
}

/** The blob that the object consisted of when its record was last read. */
function blobKeys(cache: RecordCache, version: Buffer): readonly Buffer[] {
  const known = cache.get(mapKeyOf(version))
  if (known === undefined) return []
  const { content } = decodeVersion(known)
  if (content.kind !== 'slices' || content.slices.length !== 1 || content.slices[0]!.of !== 'blob') return []
  return [recordKey.blob(content.slices[0]!.id)]
}

function objectKeys(cache: RecordCache, { bucket, key, versionId, onlyReads }: RequestTarget): readonly Buffer[] {
  const current = recordKey.current(bucket, key)
  if (!onlyReads) return [current]
  const seq = versionId === undefined ? undefined : sequenceInId(versionId)
  const older = seq === undefined ? undefined : recordKey.older(bucket, key, seq)
  const versions = older === undefined ? [current] : [current, older]
  return [...versions, ...versions.flatMap(version => blobKeys(cache, version))]
}

function keysFor(cache: RecordCache, target: RequestTarget): readonly Buffer[] {
  const keys = [recordKey.accountsMark()]
  if (!isBucketName(target.bucket)) return keys
  keys.push(...bucketKeys(cache, target))
  if (isKey(target.key)) keys.push(...objectKeys(cache, target))
  return keys
}

export async function readAhead(remote: RemoteReads, cache: RecordCache, target: RequestTarget): Promise<ReadAhead> {
  const reads = keysFor(cache, target).map(key => ({ key, known: cache.get(mapKeyOf(key)) }))
  const entries = await remote.getMany(reads)
  const found = new Map<string, Entry | undefined>()
  for (const [index, { key, known }] of reads.entries()) {
    const name = mapKeyOf(key)
    const entry = entries[index]
    found.set(name, entry)
    if (entry !== undefined && entry !== known) cache.set(name, entry)
  }
  return found
}
