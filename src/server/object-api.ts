/** The object API over a store: who may, what is done, what is logged. Where it listens is said elsewhere. */
import type { FactFinder } from '../edge/authorize.ts'
import type { Interfere } from '../edge/interference.ts'
import { Listener } from '../edge/listener.ts'
import { Pipeline } from '../edge/pipeline.ts'
import type { WebsiteHosts } from '../edge/website.ts'
import type { Clock } from '../lib/clock.ts'
import type { Certificate } from '../lib/listening.ts'
import type { Random } from '../lib/random.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { ObjectName } from '../operations/operation.ts'
import type { ObjectFacts } from '../rules/access/evaluate.ts'
import type { Directory } from '../store/directory.ts'
import { FactsMeta } from '../store/facts-meta.ts'
import { FactsChanged, JudgedMeta } from '../store/judged-meta.ts'
import type { Store } from '../store/store.ts'
import { Recording, type Watchers } from '../telemetry/recording.ts'
import { isFinal, type Tell } from './tell.ts'

async function objectFacts(store: Store, name: ObjectName): Promise<ObjectFacts | undefined> {
  try {
    const { owner, attributes } = await store.objects.head(name)
    return { ownerCanonicalId: owner, grants: attributes.grants, tags: attributes.tags }
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

export function factsOf(store: Store): FactFinder {
  return {
    bucket: name => store.buckets.get(name),
    document: (bucket, name) => store.documents.get(bucket, name),
    object: name => objectFacts(store, name),
    initiator: (name, uploadId) => initiatorOf(store, name, uploadId),
  }
}

/** Whatever is judged on a fact is done only while the fact holds. */
function sessionOf(store: Store, actor: Actor): { facts: FactFinder; store: Store } {
  const seen = new FactsMeta(store.engine.meta)
  const judged = new JudgedMeta(store.engine.meta, seen)
  const found = factsOf(store.through(seen))
  const facts: FactFinder = {
    ...found,
    async bucket(name) {
      const bucket = await found.bucket(name).catch((error: unknown) => {
        judged.expectBucket(name, undefined)
        throw error
      })
      judged.expectBucket(name, bucket.id)
      return bucket
    },
    async object(name) {
      // A version by its name stays what it is; the current one may be another a moment later.
      if (name.versionId === undefined) judged.expectObject(name.bucket, name.key)
      const object = await found.object(name)
      if (object !== undefined) return object
      seen.lookAgain()
      return found.object(name)
    },
  }
  return { facts, store: store.through(judged, actor) }
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
  readonly baseHost: string
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
  const { store, directory, clock, region, baseHost, website, tell } = serving
  return new Pipeline({
    session: actor => sessionOf(store, actor),
    facts: factsOf(store),
    isStale: error => error instanceof FactsChanged,
    identities: () => directory.now(),
    operations: OPERATIONS,
    clock,
    region,
    baseHost,
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
