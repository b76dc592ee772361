/** Looks up the facts that authorization depends on, and ties a request's later reads and writes to those facts. */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { RemoteReads } from '../meta/meta.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import type { ObjectFacts } from '../rules/access/evaluate.ts'
import { isBucketName } from '../rules/naming.ts'
import {
  AuthorizedView,
  factsOf,
  REMOTE_LIMITS,
  type ReadAhead,
  RecordCache,
  RepeatableReads,
} from './commit/authorized-view.ts'
import { findBucket, type TransactionContext } from './commit/transaction.ts'
import { TransactionDeadline } from './commit/transaction-deadline.ts'
import type { IdentityCache, IdentitySnapshot } from './identity/identity-cache.ts'
import { findVersion, type VersionSelector } from './objects/versions.ts'
import { type RequestTarget, readAhead } from './read-ahead.ts'
import { RequestEpochGuard } from './reclaim/epoch-tracker.ts'
import type { Store } from './store.ts'

/** Undefined when there is no such object. */
function objectFacts(context: TransactionContext, which: VersionSelector): MaybePromise<ObjectFacts | undefined> {
  try {
    const found = findVersion(context, which)
    return found instanceof Promise
      ? found.then(({ version }) => factsOf(version), undefinedIfMissing)
      : factsOf(found.version)
  } catch (error) {
    return undefinedIfMissing(error)
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error
}

/** The initiator of the upload; undefined when there is no such upload. */
async function initiatorOf(
  store: Store,
  { bucket, key }: VersionSelector,
  uploadId: string,
): Promise<string | undefined> {
  try {
    return (await store.uploads.find({ bucket, key, uploadId })).initiator
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Facts as they are now; no later commit checks that they still hold. */
export class CurrentFacts {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  bucket(name: string): MaybePromise<Bucket> {
    return findBucket(this.#store.context.meta, name)
  }

  document(bucket: string, name: string): Promise<string | undefined> {
    return this.#store.documents.get(bucket, name)
  }

  object(which: VersionSelector): MaybePromise<ObjectFacts | undefined> {
    return objectFacts(this.#store.context, which)
  }

  initiator(which: VersionSelector, uploadId: string): Promise<string | undefined> {
    return initiatorOf(this.#store, which, uploadId)
  }
}

/** Facts of one request, each read once. The view that the request acts through verifies that they still hold. */
class SessionFacts {
  readonly #store: Store
  readonly #reads: RepeatableReads
  readonly #view: AuthorizedView

  constructor(store: Store, reads: RepeatableReads, view: AuthorizedView) {
    this.#store = store
    this.#reads = reads
    this.#view = view
  }

  bucket(name: string): MaybePromise<Bucket> {
    try {
      const bucket = findBucket(this.#reads, name)
      if (bucket instanceof Promise) return this.#expectBucket(name, bucket)
      this.#view.expectBucket(name, bucket.id)
      return bucket
    } catch (error) {
      this.#expectNoBucket(name)
      throw error
    }
  }

  async #expectBucket(name: string, found: Promise<Bucket>): Promise<Bucket> {
    try {
      const bucket = await found
      this.#view.expectBucket(name, bucket.id)
      return bucket
    } catch (error) {
      this.#expectNoBucket(name)
      throw error
    }
  }

  /** An invalid name has no record that could appear later. */
  #expectNoBucket(name: string): void {
    if (isBucketName(name)) this.#view.expectBucket(name, undefined)
  }

  document(bucket: string, name: string): Promise<string | undefined> {
    return this.#store.forRequest(this.#reads).documents.get(bucket, name)
  }

  object(which: VersionSelector): MaybePromise<ObjectFacts | undefined> {
    const { clock, random } = this.#store.context
    const context = { meta: this.#reads, clock, random }
    const id = which.versionId
    if (id === undefined) this.#view.expectObject(which.bucket, which.key)
    const found = objectFacts(context, which)
    const facts = found === undefined || found instanceof Promise ? this.#objectOrAgain(context, which, found) : found
    if (id === undefined) return facts
    if (facts instanceof Promise) return facts.then(later => this.#expectVersion(which, id, later))
    return this.#expectVersion(which, id, facts)
  }

  #expectVersion(which: VersionSelector, id: string, facts: ObjectFacts | undefined): ObjectFacts | undefined {
    this.#view.expectVersion(which, id, facts)
    return facts
  }

  async #objectOrAgain(
    context: TransactionContext,
    which: VersionSelector,
    found: MaybePromise<ObjectFacts | undefined>,
  ): Promise<ObjectFacts | undefined> {
    const object = await found
    if (object !== undefined) return object
    this.#reads.readFresh()
    return objectFacts(context, which)
  }

  initiator(which: VersionSelector, uploadId: string): Promise<string | undefined> {
    return initiatorOf(this.#store.forRequest(this.#reads), which, uploadId)
  }
}

/**
 * One request's access to the store. A request that only reads pins its epoch before it reads its first record and
 * keeps the pin until everything it opened is closed, so that the bytes it was authorized for cannot be freed in
 * between.
 */
class RequestSession {
  readonly facts: SessionFacts
  /** Bound to the state that the request was authorized on. */
  readonly store: Store
  /** Rejects when the client should not wait any longer for an outcome; undefined where every commit is local. */
  readonly expired: Promise<never> | undefined

  constructor(store: Store, reads: RepeatableReads, actor: Actor, pin: RequestEpochGuard | undefined) {
    const { meta, clock } = store.context
    const view = new AuthorizedView(meta, reads, pin !== undefined)
    const isBounded = meta.remote !== undefined && pin === undefined
    const deadline = isBounded ? new TransactionDeadline(clock) : undefined
    this.expired = deadline?.expired
    this.facts = new SessionFacts(store, reads, view)
    this.store = store.forRequest(view, actor, pin, deadline)
  }
}

/** A caller as recorded in the ledger. */
export function actorOf(caller: Caller, request: string): Actor {
  if (caller.kind === 'anonymous') return { account: 'anonymous', request }
  const { accessKey } = caller
  const account = caller.account.accountId
  if (caller.kind === 'user') return { account, user: caller.user.name, accessKey, request }
  return { account, accessKey, request }
}

/** The reads of one request, from before its caller is known. */
class RequestReads {
  readonly #store: Store
  readonly #cache: RecordCache
  readonly #directory: IdentityCache
  readonly #pin: RequestEpochGuard | undefined
  #ahead: ReadAhead | undefined

  constructor(store: Store, cache: RecordCache, directory: IdentityCache, onlyReads: boolean) {
    this.#store = store
    this.#cache = cache
    this.#directory = directory
    this.#pin = onlyReads ? new RequestEpochGuard(store.context.readers) : undefined
  }

  /** Reads what the request will probably need, where that saves round trips. */
  async readAhead(remote: RemoteReads, target: RequestTarget): Promise<this> {
    try {
      this.#ahead = await readAhead(remote, this.#cache, target)
    } catch (error) {
      this.end()
      throw error
    }
    return this
  }

  /** Includes every change acknowledged before the request began. */
  identities(): MaybePromise<IdentitySnapshot> {
    return this.#directory.now(this.#ahead)
  }

  session(caller: Caller, requestId: string): RequestSession {
    const reads = new RepeatableReads(this.#store.context.meta, this.#cache, this.#ahead)
    return new RequestSession(this.#store, reads, actorOf(caller, requestId), this.#pin)
  }

  /** The operation has run; handles it opened stay open. */
  end(): void {
    this.#pin?.end()
  }
}

/** Begins the reads of each request on a store. Requests share a cache of the records that authorization reads. */
export function requestReads(
  store: Store,
  directory: IdentityCache,
): (target: Omit<RequestTarget, 'onlyReads'>, onlyReads: boolean) => MaybePromise<RequestReads> {
  const { remote } = store.context.meta
  const cache = remote === undefined ? new RecordCache() : new RecordCache(REMOTE_LIMITS)
  return (target, onlyReads) => {
    const start = new RequestReads(store, cache, directory, onlyReads)
    return remote === undefined ? start : start.readAhead(remote, { ...target, onlyReads })
  }
}
