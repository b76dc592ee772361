/**
 * Opens the current version of a key without a promise, where the engine returns records at once. Anything out of the
 * ordinary is undefined, and left to a request's session.
 */
import { knownNow } from '../../lib/maybe-promise.ts'
import type { Entry, EntryPair, KeyedRead } from '../../meta/meta.ts'
import type { Bucket } from '../../model/bucket.ts'
import { isBucketName, isKey } from '../../rules/naming.ts'
import { mapKeyOf, RecordCache } from '../commit/authorized-view.ts'
import { recordKey } from '../commit/record-keys.ts'
import { decodeBucket, decodeVersion } from '../commit/transaction.ts'
import type { IdentityCache, IdentitySnapshot } from '../identity/identity-cache.ts'
import type { StoreContext } from '../store-context.ts'
import { ObjectHandle } from './objects.ts'

interface OpenedObject {
  readonly bucket: Bucket
  /** Its bytes stay until it is closed. */
  readonly handle: ObjectHandle
}

const NEITHER: EntryPair = [undefined, undefined]

export class ImmediateOpen {
  readonly #context: StoreContext
  readonly #directory: IdentityCache
  readonly #cache = new RecordCache()

  constructor(context: StoreContext, directory: IdentityCache) {
    this.#context = context
    this.#directory = directory
  }

  /** Includes every change acknowledged before this call; undefined while they have to be read. */
  identities(): IdentitySnapshot | undefined {
    return knownNow(this.#directory.now())
  }

  /** Undefined for an object that is missing or encrypted. */
  object(bucket: string, key: string): OpenedObject | undefined {
    const { readerGuard } = this.#context
    // Pinned before the first read, so that the bytes cannot be freed in between.
    const pin = readerGuard.enter()
    let opened: OpenedObject | undefined
    try {
      opened = this.#read(bucket, key, pin)
      return opened
    } finally {
      if (opened === undefined) readerGuard.leave(pin)
    }
  }

  #read(name: string, key: string, pin: number): OpenedObject | undefined {
    if (!isBucketName(name) || !isKey(key)) return undefined
    const ofBucket = this.#cached(recordKey.bucket(name))
    const ofVersion = this.#cached(recordKey.current(name, key))
    // As of one moment: a bucket that has replaced this one could own a version read later.
    const [bucket, current] = this.#context.meta.getBoth?.(ofBucket, ofVersion) ?? NEITHER
    if (bucket === undefined || current === undefined) return undefined
    this.#remember(ofBucket, bucket)
    this.#remember(ofVersion, current)
    const version = decodeVersion(current)
    if (version.encryption !== undefined) return undefined
    return { bucket: decodeBucket(bucket), handle: new ObjectHandle(this.#context, version, undefined, pin) }
  }

  #cached(key: Buffer): KeyedRead {
    return { key, known: this.#cache.get(mapKeyOf(key)) }
  }

  #remember({ key, known }: KeyedRead, entry: Entry): void {
    if (entry !== known) this.#cache.set(mapKeyOf(key), entry)
  }
}
