/** The object API over a store: who may, what is done, what is logged. Where it listens is said elsewhere. */
import type { FactFinder } from '../edge/authorize.ts'
import type { Interfere } from '../edge/interference.ts'
import { Listener } from '../edge/listener.ts'
import { Pipeline, type Session } from '../edge/pipeline.ts'
import type { WebsiteHosts } from '../edge/website.ts'
import type { Clock } from '../lib/clock.ts'
import type { Certificate } from '../lib/listening.ts'
import type { Random } from '../lib/random.ts'
import { after, type Soon, unless } from '../lib/soon.ts'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { ObjectName } from '../operations/operation.ts'
import type { ObjectFacts } from '../rules/access/evaluate.ts'
import { isBucketName } from '../rules/naming.ts'
import { findBucket } from '../store/bucket-record.ts'
import type { Deciding } from '../store/decision.ts'
import type { Directory } from '../store/directory.ts'
import { FactsMeta } from '../store/facts-meta.ts'
import { findVersion } from '../store/finding.ts'
import { FactsChanged, JudgedMeta } from '../store/judged-meta.ts'
import { Lately } from '../store/lately.ts'
import type { Store } from '../store/store.ts'
import { Stay } from '../store/tickets.ts'
import { Recording, type Watchers } from '../telemetry/recording.ts'
import { isFinal, type Tell } from './tell.ts'

const objectFacts = (deciding: Deciding, name: ObjectName): Soon<ObjectFacts | undefined> =>
  unless<ObjectFacts | undefined>(
    () =>
      after(findVersion(deciding, name), ({ version: { owner, attributes } }) => ({
        ownerCanonicalId: owner,
        grants: attributes.grants,
        tags: attributes.tags,
      })),
    error => {
      if (error instanceof Fault) return undefined
      throw error
    },
  )

export function factsOf(store: Store): FactFinder {
  return {
    bucket: name => findBucket(store.engine.meta, name),
    document: (bucket, name) => store.documents.get(bucket, name),
    object: name => objectFacts(store.engine, name),
    initiator: (name, uploadId) => initiatorOf(store, name, uploadId),
  }
}

/** Facts for one request, and the expectation that what is done afterwards meets them again. */
class ExpectedFacts implements FactFinder {
  readonly #store: Store
  readonly #seen: FactsMeta
  readonly #judged: JudgedMeta

  constructor(store: Store, seen: FactsMeta, judged: JudgedMeta) {
    this.#store = store
    this.#seen = seen
    this.#judged = judged
  }

  bucket(name: string): Soon<Bucket> {
    return unless(
      () =>
        after(findBucket(this.#seen, name), bucket => {
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
    return this.#store.through(this.#seen).documents.get(bucket, name)
  }

  object(name: ObjectName): Soon<ObjectFacts | undefined> {
    const { clock, random } = this.#store.engine
    const deciding = { meta: this.#seen, clock, random }
    // A version by its name stays what it is; the current one may be another a moment later.
    if (name.versionId === undefined) this.#judged.expectObject(name.bucket, name.key)
    return after(objectFacts(deciding, name), object => {
      if (object !== undefined) return object
      this.#seen.lookAgain()
      return objectFacts(deciding, name)
    })
  }

  initiator(name: ObjectName, uploadId: string): Promise<string | undefined> {
    return initiatorOf(this.#store.through(this.#seen), name, uploadId)
  }
}

/**
 * Whatever is judged on a fact is done only while the fact holds. A request that only reads is inside as a reader
 * before it is judged, and stays until what it opened is closed: so long the bytes are there that it was judged on.
 */
function sessionOf(store: Store, lately: Lately, actor: Actor, onlyReads: boolean): Session {
  const { meta, readers } = store.engine
  const seen = new FactsMeta(meta, lately)
  const judged = new JudgedMeta(meta, seen, onlyReads)
  const stay = onlyReads ? new Stay(readers) : undefined
  return {
    facts: new ExpectedFacts(store, seen, judged),
    store: store.through(judged, actor, stay),
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

export interface Serving {
  readonly certificate?: Certificate | undefined
  readonly store: Store
  readonly directory: Directory
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
  readonly interfere?: Interfere
  readonly tell: Tell
  /** Who else keeps a record of requests. */
  readonly watchers?: Omit<Watchers, 'log'>
}

export function pipelineFor(serving: Omit<Serving, 'random' | 'certificate' | 'watchers'>): Pipeline {
  const { store, directory, clock, region, baseHosts, website, tell } = serving
  const lately = new Lately()
  return new Pipeline({
    session: (actor, onlyReads) => sessionOf(store, lately, actor, onlyReads),
    facts: factsOf(store),
    isStale: error => error instanceof FactsChanged,
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
      if (isFinal(error)) tell.end()
    },
  })
}

export const listenerFor = (serving: Serving): Listener => listenerOver(pipelineFor(serving), serving)

export function listenerOver(
  pipeline: Pick<Pipeline, 'handle'>,
  serving: Pick<Serving, 'certificate' | 'clock' | 'random' | 'tell' | 'watchers'>,
): Listener {
  const { certificate, clock, random, tell, watchers } = serving
  return new Listener({
    certificate,
    pipeline,
    clock,
    random,
    recorder: new Recording({ ...watchers, log: line => tell.log(line) }),
    onError: (error, requestId) =>
      tell.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) }),
  })
}
