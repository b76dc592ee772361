/**
 * Opens the current version of a key without a promise, where the engine returns records at once. Anything out of the
 * ordinary is undefined, and left to a request's session.
 */
import { ownCopy } from '../../lib/bytes.ts'
import { knownNow } from '../../lib/maybe-promise.ts'
import { memoryLimit } from '../../lib/memory-limit.ts'
import { SecondChanceCache } from '../../lib/second-chance-cache.ts'
import type { Entry, EntryPair, KeyedRead } from '../../meta/meta.ts'
import type { Bucket } from '../../model/bucket.ts'
import { isBucketName, isKey } from '../../rules/naming.ts'
import { recordKey } from '../commit/record-keys.ts'
import { decodeBucket, decodeVersion } from '../commit/transaction.ts'
import type { IdentityCache, IdentitySnapshot } from '../identity/identity-cache.ts'
import type { StoreContext } from '../store-context.ts'
import { ObjectHandle } from './objects.ts'

interface CurrentVersion {
  readonly bucket: string
  readonly key: string
}

interface OpenedObject {
  readonly bucket: Bucket
  /** Its bytes stay until it is closed. */
  readonly handle: ObjectHandle
  /** The version was read before and is kept in memory, so that what follows from it is worth keeping as well. */
  readonly isKept: boolean
}

const NEITHER: EntryPair = [undefined, undefined]

/** Of the machine's memory or the container's limit, for the records of each process. */
const MEMORY_SHARE = 1 / 1024
const RECORDS_BYTES_MAX = 8 * 2 ** 20
/** Records with much metadata are not kept: replacing them by each other would leave much garbage. */
const RECORD_BYTES_MAX = 16 * 2 ** 10
/** For each byte of a record outside its content: its decoded form and the headers of its response, about. */
const DECODED_BYTES_PER_BYTE = 16

const defaultRecordBytes = (): number => Math.min(RECORDS_BYTES_MAX, Math.floor(memoryLimit() * MEMORY_SHARE))

export class ImmediateOpen {
  readonly #context: StoreContext
  readonly #directory: IdentityCache
  /** Records that were read more than once. None is trusted on its own: its stamp must still be current. */
  readonly #records = new SecondChanceCache<KeyedRead>(defaultRecordBytes())

  constructor(context: StoreContext, directory: IdentityCache) {
    this.#context = context
    this.#directory = directory
  }

  /** Includes every change acknowledged before this call; undefined while they have to be read. */
  identities(): IdentitySnapshot | undefined {
    return knownNow(this.#directory.now())
  }

  /** Undefined for an object that is missing or encrypted. */
  object(target: CurrentVersion, resource = `/${target.bucket}/${target.key}`): OpenedObject | undefined {
    const { readerGuard } = this.#context
    // Pinned before the first read, so that the bytes cannot be freed in between.
    const pin = readerGuard.enter()
    let opened: OpenedObject | undefined
    try {
      opened = this.#read(target, resource, pin)
      return opened
    } finally {
      if (opened === undefined) readerGuard.leave(pin)
    }
  }

  #read({ bucket: name, key }: CurrentVersion, resource: string, pin: number): OpenedObject | undefined {
    // Names of buckets have no slash, so they cannot equal the path of an object.
    if (!isBucketName(name)) return undefined
    const keptBucket = this.#records.get(name)
    const keptVersion = this.#records.get(resource)
    if (keptVersion === undefined && !isKey(key)) return undefined
    const ofBucket = keptBucket ?? { key: recordKey.bucket(name), known: undefined }
    const ofVersion = keptVersion ?? { key: recordKey.current(name, key), known: undefined }
    // As of one moment: a bucket that has replaced this one could own a version read later.
    const [bucket, current] = this.#context.meta.getBoth?.(ofBucket, ofVersion) ?? NEITHER
    if (bucket === undefined || current === undefined) return undefined
    if (bucket !== ofBucket.known) this.#offer(name, bucket, 0)
    const version = decodeVersion(current)
    if (version.encryption !== undefined) return undefined
    const isKept = current === ofVersion.known
    if (!isKept) this.#offer(resource, current, version.content.kind === 'inline' ? version.content.bytes.length : 0)
    return { bucket: decodeBucket(bucket), handle: new ObjectHandle(this.#context, version, undefined, pin), isKept }
  }

  #offer(name: string, { key, value, stamp }: Entry, contentBytes: number): void {
    const bytes = contentBytes + DECODED_BYTES_PER_BYTE * (value.length - contentBytes)
    if (bytes > RECORD_BYTES_MAX || !this.#records.isWanted(name, stamp % 2 ** 32, bytes)) return
    const kept = { key: ownCopy(key), value: ownCopy(value), stamp }
    this.#records.set(name, { key: kept.key, known: kept }, bytes)
  }
}
