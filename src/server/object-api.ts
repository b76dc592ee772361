/** The object API over a store: who may, what is done, what is logged. Where it listens is said elsewhere. */
import type { AccessFacts } from '../edge/authorize.ts'
import type { FaultInjector } from '../edge/fault-injection.ts'
import { Listener } from '../edge/listener.ts'
import { Pipeline, type Session } from '../edge/pipeline.ts'
import type { WebsiteHosts } from '../edge/website.ts'
import type { Certificate } from '../http/listen.ts'
import type { Clock } from '../lib/clock.ts'
import { andThen, type MaybePromise, orElse } from '../lib/maybe-promise.ts'
import type { Random } from '../lib/random.ts'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { ObjectName } from '../operations/operation.ts'
import type { ObjectFacts } from '../rules/access/evaluate.ts'
import { isBucketName } from '../rules/naming.ts'
import { findBucket } from '../store/buckets/bucket-record.ts'
import { AuthorizationStale, AuthorizedView } from '../store/commit/authorized-view.ts'
import { RecordCache } from '../store/commit/record-cache.ts'
import { RepeatableReads } from '../store/commit/repeatable-reads.ts'
import type { TransactionContext } from '../store/commit/transaction.ts'
import type { IdentityCache } from '../store/identity/identity-cache.ts'
import { findVersion } from '../store/objects/find-version.ts'
import { EpochPin } from '../store/reclaim/epoch-tracker.ts'
import type { Store } from '../store/store.ts'
import { ExchangeRecorder, type RecorderSinks } from '../telemetry/exchange-recorder.ts'
import { isFatal, type Log } from './log.ts'

const objectFacts = (deciding: TransactionContext, name: ObjectName): MaybePromise<ObjectFacts | undefined> =>
  orElse<ObjectFacts | undefined>(
    () =>
      andThen(findVersion(deciding, name), ({ version: { owner, attributes } }) => ({
        ownerCanonicalId: owner,
        grants: attributes.grants,
        tags: attributes.tags,
      })),
    error => {
      if (error instanceof Fault) return undefined
      throw error
    },
  )

export function accessFactsOf(store: Store): AccessFacts {
  return {
    bucket: name => findBucket(store.context.meta, name),
    document: (bucket, name) => store.documents.get(bucket, name),
    object: name => objectFacts(store.context, name),
    initiator: (name, uploadId) => initiatorOf(store, name, uploadId),
  }
}

/** Facts for one request, and the expectation that what is done afterwards meets them again. */
class ExpectedFacts implements AccessFacts {
  readonly #store: Store
  readonly #seen: RepeatableReads
  readonly #judged: AuthorizedView

  constructor(store: Store, seen: RepeatableReads, judged: AuthorizedView) {
    this.#store = store
    this.#seen = seen
    this.#judged = judged
  }

  bucket(name: string): MaybePromise<Bucket> {
    return orElse(
      () =>
        andThen(findBucket(this.#seen, name), bucket => {
          this.#judged.expectBucket(name, bucket.id)
          return bucket
        }),
      error => {
        // What cannot be a name never will be one, and has no place in the store to be looked at.
        if (isBucketName(name)) this.#judged.expectBucket(name, undefined)
        throw error
      },
    )
  }

  document(bucket: string, name: string): Promise<string | undefined> {
    return this.#store.forRequest(this.#seen).documents.get(bucket, name)
  }

  object(name: ObjectName): MaybePromise<ObjectFacts | undefined> {
    const { clock, random } = this.#store.context
    const deciding = { meta: this.#seen, clock, random }
    // A version by its name stays what it is; the current one may be another a moment later.
    if (name.versionId === undefined) this.#judged.expectObject(name.bucket, name.key)
    return andThen(objectFacts(deciding, name), object => {
      if (object !== undefined) return object
      this.#seen.readFresh()
      return objectFacts(deciding, name)
    })
  }

  initiator(name: ObjectName, uploadId: string): Promise<string | undefined> {
    return initiatorOf(this.#store.forRequest(this.#seen), name, uploadId)
  }
}

/**
 * Whatever is judged on a fact is done only while the fact holds. A request that only reads is inside as a reader
 * before it is judged, and stays until what it opened is closed: so long the bytes are there that it was judged on.
 */
function sessionOf(store: Store, lately: RecordCache, actor: Actor, onlyReads: boolean): Session {
  const { meta, readers } = store.context
  const seen = new RepeatableReads(meta, lately)
  const judged = new AuthorizedView(meta, seen, onlyReads)
  const stay = onlyReads ? new EpochPin(readers) : undefined
  return {
    facts: new ExpectedFacts(store, seen, judged),
    store: store.forRequest(judged, actor, stay),
    end() {
      stay?.end()
    },
  }
}

async function initiatorOf(store: Store, { bucket, key }: ObjectName, uploadId: string): Promise<string | undefined> {
  try {
    return (await store.uploads.find({ bucket, key, uploadId })).initiator
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

export interface ServingParts {
  readonly certificate?: Certificate | undefined
  readonly store: Store
  readonly directory: IdentityCache
  readonly clock: Clock
  readonly random: Random
  readonly region: string
  /** D28. Requests may be signed for any region, and are answered as from there. */
  readonly anyRegion?: boolean
  readonly baseHosts: readonly string[]
  /** D31. Presigned URLs and forms of Signature Version 2 are accepted, unless this is false. */
  readonly sigV2?: boolean
  /** The dialect of unsigned requests without a header of either dialect; svc by default. */
  readonly anonymousDialect?: 'svc' | 's3'
  readonly website: WebsiteHosts
  /** D24. */
  readonly tlsForCustomerKeys?: boolean
  readonly clientTimes?: () => readonly number[]
  readonly interfere?: FaultInjector
  readonly tell: Log
  /** Who else keeps a record of requests. */
  readonly watchers?: Omit<RecorderSinks, 'log'>
}

export function pipelineFor(serving: Omit<ServingParts, 'random' | 'certificate' | 'watchers'>): Pipeline {
  const { store, directory, clock, region, baseHosts, website, tell } = serving
  const lately = new RecordCache()
  return new Pipeline({
    session: (actor, onlyReads) => sessionOf(store, lately, actor, onlyReads),
    facts: accessFactsOf(store),
    isStale: error => error instanceof AuthorizationStale,
    identities: () => directory.now(),
    operations: OPERATIONS,
    clock,
    region,
    anyRegion: serving.anyRegion ?? false,
    sigV2: serving.sigV2 ?? true,
    anonymousDialect: serving.anonymousDialect ?? 'svc',
    baseHosts,
    website,
    tlsForCustomerKeys: serving.tlsForCustomerKeys ?? false,
    clientTimes: serving.clientTimes,
    interfere: serving.interfere,
    onError: (error, requestId) => {
      tell.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) })
      if (isFatal(error)) tell.end()
    },
  })
}

export const listenerFor = (serving: ServingParts): Listener => listenerOver(pipelineFor(serving), serving)

export function listenerOver(
  pipeline: Pick<Pipeline, 'handle'>,
  serving: Pick<ServingParts, 'certificate' | 'clock' | 'random' | 'tell' | 'watchers'>,
): Listener {
  const { certificate, clock, random, tell, watchers } = serving
  return new Listener({
    certificate,
    pipeline,
    clock,
    random,
    recorder: new ExchangeRecorder({ ...watchers, log: line => tell.log(line) }),
    onError: (error, requestId) =>
      tell.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) }),
  })
}
