/** Composes the object API over a store: access facts, sessions, pipeline and listener. */
import type { ConsoleOrigins } from '../edge/console-cors.ts'
import type { FaultInjector } from '../edge/fault-injection.ts'
import { Listener, type ListenerParts } from '../edge/listener.ts'
import { Pipeline } from '../edge/pipeline.ts'
import type { WebsiteHosts } from '../edge/website.ts'
import type { Certificate } from '../http/listen.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { OPERATIONS } from '../operations/index.ts'
import { AuthorizationStale } from '../store/commit/authorized-view.ts'
import type { IdentityCache } from '../store/identity/identity-cache.ts'
import { ImmediateOpen } from '../store/objects/immediate-open.ts'
import { CurrentFacts, requestReads } from '../store/request-session.ts'
import type { Store } from '../store/store.ts'
import { ExchangeRecorder, type RecorderSinks } from '../telemetry/exchange-recorder.ts'
import { isFatal, type Logger } from './log.ts'

export interface ServingParts {
  readonly certificate?: Certificate | undefined
  readonly store: Store
  readonly directory: IdentityCache
  readonly clock: Clock
  readonly random: Random
  readonly region: string
  /** D28. Signatures for any region are accepted, and responses report that region. */
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
  readonly faultInjector?: FaultInjector
  readonly console?: ConsoleOrigins | undefined
  readonly logger: Logger
  /** Further recorders of requests. */
  readonly sinks?: Omit<RecorderSinks, 'logger'>
}

export function pipelineFor(serving: Omit<ServingParts, 'random' | 'certificate' | 'sinks'>): Pipeline {
  const { store, directory, clock, region, baseHosts, website, logger } = serving
  return new Pipeline({
    begin: requestReads(store, directory),
    facts: new CurrentFacts(store),
    immediate: store.context.meta.remote === undefined ? new ImmediateOpen(store.context, directory) : undefined,
    isStale: error => error instanceof AuthorizationStale,
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
    faultInjector: serving.faultInjector,
    console: serving.console,
    onError: (error, requestId) => {
      logger.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) })
      if (isFatal(error)) logger.abort()
    },
  })
}

export const listenerFor = (serving: ServingParts): Listener => listenerOver(pipelineFor(serving), serving)

export function listenerOver(
  pipeline: ListenerParts['pipeline'],
  serving: Pick<ServingParts, 'certificate' | 'clock' | 'random' | 'logger' | 'sinks'>,
): Listener {
  const { certificate, clock, random, logger, sinks } = serving
  return new Listener({
    certificate,
    pipeline,
    clock,
    random,
    recorder: new ExchangeRecorder({ ...sinks, logger }),
    onError: (error, requestId) =>
      logger.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) }),
  })
}
