/**
 * The specified behaviour of the store, as simply as possible: arrays that are searched, filtered and sorted. Written
 * from the requirements, not from the store. Ids that only the store can choose (versions, uploads, keyed ETags) are
 * copied from its results by the comparing code.
 */
import { createHash } from 'node:crypto'

/** The model refuses, with the code that the store must report. */
export class Refusal extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export type ModelRetention = { readonly mode: 'governance' | 'compliance'; readonly until: number } | undefined

export interface ModelLock {
  readonly hold: boolean | undefined
  readonly retention: ModelRetention
}

/** The key that seals the bytes; `name` distinguishes customer keys and named keys. */
export interface ModelSeal {
  readonly by: 'service' | 'named' | 'customer'
  readonly name: string
}

export interface ModelVersion {
  id: string
  readonly marker: boolean
  readonly bytes: Buffer
  /** Undefined while only the store can know it. */
  etag: string | undefined
  parts: number | undefined
  readonly seal: ModelSeal | undefined
  tags: readonly (readonly [string, string])[]
  lock: ModelLock
  readonly modifiedAt: number
}

export interface ModelUpload {
  readonly bucket: string
  readonly key: string
  id: string
  readonly begunAt: number
  readonly seal: ModelSeal | undefined
  readonly lock: ModelLock
  readonly parts: Map<number, { readonly bytes: Buffer; etag: string | undefined }>
}

export interface ModelBucket {
  readonly name: string
  versioning: 'off' | 'on' | 'suspended'
  lockEnabled: boolean
  defaultDays: number | undefined
  /** Newest first; no entry for a key without versions. */
  readonly keys: Map<string, ModelVersion[]>
  uploads: ModelUpload[]
}

export interface Condition {
  readonly ifMatch?: readonly string[]
  readonly ifNoneMatch?: readonly string[]
}

export const NO_LOCK: ModelLock = { hold: undefined, retention: undefined }
const DAY_MS = 86_400_000
const PART_BYTES_MIN = 5 * 1024 * 1024

const digests = new WeakMap<Buffer, string>()

/** Cached: long contents recur. */
export function md5(bytes: Buffer): string {
  const digest = digests.get(bytes) ?? createHash('md5').update(bytes).digest('hex')
  digests.set(bytes, digest)
  return digest
}

/** The ETag is the digest of the bytes, unless it is keyed. */
export function tagOf(bytes: Buffer, seal: ModelSeal | undefined): string | undefined {
  return seal === undefined || seal.by === 'service' ? md5(bytes) : undefined
}

function locked({ hold, retention }: ModelLock, now: number, bypass: boolean): boolean {
  if (hold === true) return true
  if (retention === undefined || retention.until <= now) return false
  return retention.mode === 'compliance' || !bypass
}

export class Model {
  readonly buckets = new Map<string, ModelBucket>()
  /** The model's current time, moved together with the store's clock. */
  now = 0
  /** Default locks. */
  readonly byDefault = new WeakSet<ModelLock>()

  createBucket(name: string, lockEnabled: boolean): void {
    if (this.buckets.has(name)) throw new Refusal('BucketAlreadyOwnedByYou')
    const versioning = lockEnabled ? 'on' : 'off'
    this.buckets.set(name, { name, versioning, lockEnabled, defaultDays: undefined, keys: new Map(), uploads: [] })
  }

  removeBucket(name: string): void {
    if (this.bucket(name).keys.size > 0) throw new Refusal('BucketNotEmpty')
    this.buckets.delete(name)
  }

  bucket(name: string): ModelBucket {
    const bucket = this.buckets.get(name)
    if (bucket === undefined) throw new Refusal('NoSuchBucket')
    return bucket
  }

  setVersioning(name: string, versioning: 'on' | 'suspended'): void {
    const bucket = this.bucket(name)
    if (bucket.lockEnabled && versioning === 'suspended') throw new Refusal('InvalidBucketState')
    bucket.versioning = versioning
  }

  setDefaultRetention(name: string, days: number | undefined): void {
    const bucket = this.bucket(name)
    if (bucket.versioning !== 'on') throw new Refusal('InvalidBucketState')
    bucket.lockEnabled = true
    bucket.defaultDays = days
  }

  /** A version by id, or the current one. */
  find(bucketName: string, key: string, versionId?: string): ModelVersion {
    const { keys, versioning } = this.bucket(bucketName)
    const versions = keys.get(key) ?? []
    if (versionId === undefined) {
      const newest = versions[0]
      if (newest === undefined || newest.marker) throw new Refusal('NoSuchKey')
      return newest
    }
    // R118: without versioning any other id is valid and names no version.
    const isName = versionId === 'null' || versioning === 'off' || /^[0-9a-f]{32}$/.test(versionId)
    if (!isName) throw new Refusal('InvalidArgument')
    const found = versions.find(version => version.id === versionId)
    if (found === undefined) throw new Refusal('NoSuchVersion')
    if (found.marker) throw new Refusal('MethodNotAllowed')
    return found
  }

  /** The bytes of a copied part; a range must be within its source. */
  range(from: { bucket: string; key: string }, range: { start: number; end: number } | undefined): Buffer {
    const { bytes } = this.find(from.bucket, from.key)
    if (range === undefined) return bytes
    if (range.end > bytes.length || range.end <= range.start) throw new Refusal('InvalidArgument')
    return bytes.subarray(range.start, range.end)
  }

  #current(bucket: ModelBucket, key: string): ModelVersion | undefined {
    const newest = bucket.keys.get(key)?.[0]
    return newest === undefined || newest.marker ? undefined : newest
  }

  #require(bucket: ModelBucket, key: string, { ifMatch, ifNoneMatch }: Condition): void {
    const etag = this.#current(bucket, key)?.etag
    const hits = (tags: readonly string[]): boolean => etag !== undefined && (tags.includes('*') || tags.includes(etag))
    if (ifMatch !== undefined && !hits(ifMatch)) throw new Refusal('PreconditionFailed')
    if (ifNoneMatch !== undefined && hits(ifNoneMatch)) throw new Refusal('PreconditionFailed')
  }

  newLock(bucket: ModelBucket, wanted: ModelLock): ModelLock {
    if (!bucket.lockEnabled && (wanted.hold !== undefined || wanted.retention !== undefined)) {
      throw new Refusal('InvalidRequest')
    }
    if (wanted.retention !== undefined) {
      if (wanted.retention.until <= this.now) throw new Refusal('InvalidArgument')
      return wanted
    }
    if (bucket.defaultDays === undefined) return wanted
    const until = this.now + bucket.defaultDays * DAY_MS
    const lock: ModelLock = { hold: wanted.hold, retention: { mode: 'governance', until } }
    this.byDefault.add(lock)
    return lock
  }

  /** Adds a version or a delete marker to a key; it replaces the null version unless versioning is on. */
  #stack(bucket: ModelBucket, key: string, version: Omit<ModelVersion, 'id' | 'modifiedAt'>): ModelVersion {
    const versions = bucket.keys.get(key) ?? []
    const kept = bucket.versioning === 'on' ? versions : versions.filter(old => old.id !== 'null')
    const id = bucket.versioning === 'on' ? '' : 'null'
    const placed = { ...version, id, modifiedAt: this.now }
    bucket.keys.set(key, [placed, ...kept])
    return placed
  }

  put(
    bucketName: string,
    key: string,
    object: { bytes: Buffer; seal: ModelSeal | undefined; tags: ModelVersion['tags']; lock: ModelLock },
    precondition: Condition = {},
  ): ModelVersion {
    const bucket = this.bucket(bucketName)
    this.#require(bucket, key, precondition)
    const lock = this.newLock(bucket, object.lock)
    const etag = tagOf(object.bytes, object.seal)
    return this.#stack(bucket, key, { ...object, lock, etag, parts: 0, marker: false })
  }

  /** Data and tags come from the source; locks do not. */
  copy(
    from: { bucket: string; key: string; versionId: string | undefined },
    to: { bucket: string; key: string; seal: ModelSeal | undefined; lock: ModelLock },
    precondition: Condition = {},
  ): ModelVersion {
    const source = this.find(from.bucket, from.key, from.versionId)
    const bucket = this.bucket(to.bucket)
    this.#require(bucket, to.key, precondition)
    const lock = this.newLock(bucket, to.lock)
    const { seal } = to
    const same = source.seal?.by === seal?.by && source.seal?.name === seal?.name && seal?.by !== 'customer'
    const open = [source.seal, seal].every(one => one === undefined || one.by === 'service')
    // A count without parts: keyed, and no digest of the bytes.
    const counted = source.parts === 0 && source.etag?.includes('-') === true
    const kept = same || (open && !counted)
    const etag = kept ? source.etag : source.parts === 0 ? tagFrom(source, seal) : undefined
    const { bytes, tags, parts } = source
    return this.#stack(bucket, to.key, { bytes, seal, tags, lock, etag, parts, marker: false })
  }

  /** Returns the removed version or the new delete marker. */
  remove(
    bucketName: string,
    key: string,
    how: { versionId: string | undefined; bypass: boolean; keepHeld: boolean; precondition: Condition },
  ): { removed?: ModelVersion; marker?: ModelVersion } {
    const bucket = this.bucket(bucketName)
    const versions = bucket.keys.get(key) ?? []
    if (how.versionId === undefined && bucket.versioning !== 'off') {
      this.#require(bucket, key, how.precondition)
      if (how.keepHeld && this.#current(bucket, key)?.lock.hold === true) throw new Refusal('AccessDenied')
      const nothing = { bytes: Buffer.alloc(0), etag: '', parts: 0, seal: undefined, tags: [], lock: NO_LOCK }
      return { marker: this.#stack(bucket, key, { ...nothing, marker: true }) }
    }
    if (how.versionId !== undefined && how.versionId !== 'null' && !/^[0-9a-f]{32}$/.test(how.versionId)) {
      throw new Refusal('InvalidArgument')
    }
    if (how.versionId === undefined) this.#require(bucket, key, how.precondition)
    const wanted = how.versionId ?? 'null'
    const removed = versions.find(version => version.id === wanted)
    if (removed === undefined) return {}
    if (locked(removed.lock, this.now, how.bypass)) throw new Refusal('AccessDenied')
    const left = versions.filter(version => version !== removed)
    if (left.length > 0) bucket.keys.set(key, left)
    else bucket.keys.delete(key)
    return { removed }
  }

  setHold(bucket: string, key: string, versionId: string | undefined, hold: boolean): void {
    if (!this.bucket(bucket).lockEnabled) throw new Refusal('ObjectLockConfigurationNotFoundError')
    const version = this.find(bucket, key, versionId)
    version.lock = { ...version.lock, hold }
  }

  setRetention(
    bucket: string,
    key: string,
    versionId: string | undefined,
    change: { retention: ModelRetention; bypass: boolean },
  ): void {
    if (!this.bucket(bucket).lockEnabled) throw new Refusal('ObjectLockConfigurationNotFoundError')
    const version = this.find(bucket, key, versionId)
    const { retention: wanted } = change
    if (wanted !== undefined && wanted.until <= this.now) throw new Refusal('InvalidArgument')
    const old = version.lock.retention
    if (old !== undefined && old.until > this.now) {
      const longer = wanted !== undefined && wanted.mode === old.mode && wanted.until >= old.until
      if (!longer && (old.mode === 'compliance' || !change.bypass)) throw new Refusal('AccessDenied')
    }
    version.lock = { ...version.lock, retention: wanted }
  }

  setTags(bucket: string, key: string, versionId: string | undefined, tags: ModelVersion['tags']): void {
    this.find(bucket, key, versionId).tags = tags
  }

  createUpload(bucketName: string, key: string, how: { seal: ModelSeal | undefined; lock: ModelLock }): ModelUpload {
    const bucket = this.bucket(bucketName)
    this.newLock(bucket, how.lock)
    const upload = { ...how, bucket: bucketName, key, id: '', begunAt: this.now, parts: new Map() }
    bucket.uploads.push(upload)
    return upload
  }

  upload(bucketName: string, key: string, id: string): ModelUpload {
    const uploads = this.buckets.get(bucketName)?.uploads ?? []
    const found = uploads.find(upload => upload.id === id && upload.key === key)
    if (found === undefined) throw new Refusal('NoSuchUpload')
    return found
  }

  abort(bucketName: string, key: string, id: string): void {
    const upload = this.upload(bucketName, key, id)
    const bucket = this.bucket(bucketName)
    bucket.uploads = bucket.uploads.filter(other => other !== upload)
  }

  complete(
    name: { bucket: string; key: string; id: string },
    listed: readonly { number: number; etag: string }[],
    precondition: Condition = {},
  ): ModelVersion {
    const upload = this.upload(name.bucket, name.key, name.id)
    const bucket = this.bucket(name.bucket)
    if (listed.length === 0) throw new Refusal('InvalidRequest')
    for (const [i, { number }] of listed.entries()) {
      if (i > 0 && number <= listed[i - 1]!.number) throw new Refusal('InvalidPartOrder')
      if (upload.parts.get(number)?.etag !== listed[i]!.etag) throw new Refusal('InvalidPart')
    }
    const parts = listed.map(({ number }) => upload.parts.get(number)!)
    if (parts.slice(0, -1).some(part => part.bytes.length < PART_BYTES_MIN)) throw new Refusal('EntityTooSmall')
    this.#require(bucket, name.key, precondition)
    // A requested lock was checked at creation; only the bucket's default starts at completion.
    const lock = upload.lock.retention === undefined ? this.newLock(bucket, upload.lock) : upload.lock
    this.abort(name.bucket, name.key, name.id)
    const digests = Buffer.concat(parts.map(part => Buffer.from(part.etag!, 'hex')))
    return this.#stack(bucket, name.key, {
      bytes: Buffer.concat(parts.map(part => part.bytes)),
      etag: `${md5(digests)}-${parts.length}`,
      parts: parts.length,
      seal: upload.seal,
      tags: [],
      lock,
      marker: false,
    })
  }
}

/** A copy in one piece under another key: the digest is computed again, unless the old or the new ETag is keyed. */
function tagFrom(source: ModelVersion, seal: ModelSeal | undefined): string | undefined {
  const keyed = source.seal?.by === 'named' && seal?.by === 'service'
  return keyed ? undefined : tagOf(source.bytes, seal)
}
