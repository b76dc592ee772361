/**
 * Holdfast embedded in another process, for tests: the listener, pipeline and store of the server, in memory or in a
 * folder, with a movable clock and fault injection.
 */

import type { Exchange } from '../edge/exchange.ts'
import type { Listener } from '../edge/listener.ts'
import type { Pipeline } from '../edge/pipeline.ts'
import type { RequestState } from '../edge/request-state.ts'
import { systemRandom } from '../lib/random.ts'
import { Lifecycle } from '../maintenance/lifecycle.ts'
import { runUntilIdle } from '../maintenance/maintenance-step.ts'
import { Reclaimer } from '../maintenance/reclaim.ts'
import { type DeclaredAccount, readAccountsFile } from '../rules/accounts-file.ts'
import { checkBucketName } from '../rules/naming.ts'
import { ensureAccounts, refuseRootKey } from '../server/accounts.ts'
import type { ServerParts } from '../server/compose.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../server/embedded-store.ts'
import { type Logger, ServerLog } from '../server/log.ts'
import { Maintenance, maintenanceTasks, sweepTask, usageTask } from '../server/maintenance.ts'
import { listenerOver, pipelineFor } from '../server/object-api.ts'
import { ensureBucket } from '../server/prepare.ts'
import { checkRuntime } from '../server/runtime-check.ts'
import { copyTask } from '../server/second-copy.ts'
import { generateAccessKey } from '../store/identity/accounts.ts'
import { IdentityCache, type RootKey } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type {
  Credentials,
  HoldfastClock,
  HoldfastFaults,
  HoldfastOptions,
  LifecycleRound,
  S3ClientOptions,
} from './api.ts'
import { checkCredentials, checkOptions } from './check-options.ts'
import { MovedClock } from './clock.ts'
import { FaultList } from './faults.ts'

const HOST = '127.0.0.1'
/** Space of deleted objects is reclaimed in the background; everything else runs on request. */
const RECLAIM_MS = 1_000

/** An open store and its background workers. */
interface Open {
  readonly parts: ServerParts
  readonly pipeline: Pipeline
  maintenance: Maintenance
}

/** The validated options. */
interface Setting {
  readonly options: HoldfastOptions
  readonly accounts: readonly DeclaredAccount[]
  readonly rootKey: RootKey
  readonly region: string
  readonly place: EmbeddedStore
  readonly moved: MovedClock
  readonly faultList: FaultList
  readonly logger: Logger
}

function loggerOf({ log }: HoldfastOptions): Logger {
  const errors = new ServerLog(process.stderr, process.env)
  const inform = log ?? (line => void (line.level === 'error' && errors.log(line)))
  return {
    log: inform,
    notice: () => {},
    abort: () => inform({ level: 'error', error: 'the store does not know what took effect: close it' }),
  }
}

async function settingOf(options: HoldfastOptions): Promise<Setting> {
  checkOptions(options)
  for (const bucket of options.buckets ?? []) checkBucketName(typeof bucket === 'string' ? bucket : bucket.name)
  const accounts = readAccountsFile(JSON.stringify({ accounts: options.accounts ?? [] }))
  const { credentials, folder, durability = 'os' } = options
  const moved = new MovedClock()
  const faultList = new FaultList()
  return {
    options,
    accounts,
    rootKey:
      credentials === undefined
        ? generateAccessKey(systemRandom)
        : { accessKey: credentials.accessKeyId, secretKey: credentials.secretAccessKey },
    region: options.region ?? 'us-east-1',
    place: await openEmbeddedStore({ folder, durability, clock: moved, isDiskFull: faultList.isDiskFull }),
    moved,
    faultList,
    logger: loggerOf(options),
  }
}

const backgroundOf = (parts: ServerParts, logger: Logger): Maintenance => {
  const { store, copy } = parts
  const reclaiming = { name: 'reclaim', worker: new Reclaimer(store.context), pauseMs: RECLAIM_MS }
  return new Maintenance([reclaiming, usageTask(parts), ...copyTask(copy, store.context, logger)], logger)
}

/** An existing bucket keeps its settings; a test that asks for object lock must not run without it. */
async function haveLockable(store: Store, name: string, objectLock = false): Promise<void> {
  await ensureBucket(store, name, objectLock)
  if (!objectLock || (await store.buckets.get(name)).lockEnabled) return
  throw new Error(`bucket ${name} already exists without object lock`)
}

async function open(setting: Setting): Promise<Open> {
  const { options, accounts, rootKey, region, place, moved, faultList, logger } = setting
  const parts = await place.open()
  try {
    const { store } = parts
    refuseRootKey(accounts, rootKey, 'accounts')
    await ensureAccounts(store, accounts, 'accounts')
    for (const bucket of options.buckets ?? []) {
      if (typeof bucket === 'string') await ensureBucket(store, bucket)
      else await haveLockable(store, bucket.name, bucket.objectLock)
    }
    const baseHosts = [options.baseHost?.toLowerCase() ?? 'localhost']
    const pipeline = pipelineFor({
      store,
      directory: new IdentityCache(store.context, rootKey),
      clock: moved,
      region,
      anyRegion: options.region === undefined,
      baseHosts,
      website: { hosts: baseHosts.map(name => `website.${name}`), onBucketHost: true },
      clientTimes: () => moved.clientTimes(),
      faultInjector: faultList.faultInjector,
      logger,
    })
    return { parts, pipeline, maintenance: backgroundOf(parts, logger) }
  } catch (error) {
    await parts.close()
    throw error
  }
}

async function shut({ maintenance, parts }: Open): Promise<void> {
  await maintenance.stop()
  await parts.close()
}

export class Holdfast implements AsyncDisposable {
  readonly endpoint: string
  readonly port: number
  readonly region: string
  /** The root account's access key, which has every permission. */
  readonly credentials: Credentials
  /** Retention, lifecycle rules and the expiry of presigned URLs follow it. */
  readonly clock: HoldfastClock
  readonly faults: HoldfastFaults
  readonly #setting: Setting
  readonly #listener: Listener
  readonly #requests: Requests
  #open: Open
  /** Serialises start, reset and close. */
  #turn: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  private constructor(setting: Setting, opened: Open, requests: Requests, listener: Listener, port: number) {
    const { accessKey, secretKey } = setting.rootKey
    this.#setting = setting
    this.#open = opened
    this.#requests = requests
    this.#listener = listener
    this.port = port
    this.endpoint = `http://${HOST}:${port}`
    this.region = setting.region
    this.credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
    this.clock = setting.moved.handle()
    this.faults = setting.faultList.handle()
  }

  /** Starts a store on a port of its own; any number can run in one process. */
  static async start(options: HoldfastOptions = {}): Promise<Holdfast> {
    const setting = await settingOf(options)
    const opened = await open(setting)
    try {
      const requests = new Requests(opened.pipeline)
      const listener = listenerOver(requests, { clock: setting.moved, random: systemRandom, logger: setting.logger })
      await checkRuntime(undefined)
      const { port } = await listener.listen(HOST, options.port ?? 0)
      return new Holdfast(setting, opened, requests, listener, port)
    } catch (error) {
      await shut(opened)
      throw error
    }
  }

  /** Options for `new S3Client(…)`; pass the access key of another user to act as that user. */
  s3ClientConfig(credentials: Credentials = this.credentials): S3ClientOptions {
    checkCredentials(credentials)
    return { endpoint: this.endpoint, region: this.region, credentials: { ...credentials }, forcePathStyle: true }
  }

  /** Restores the initial state: no objects and faults, the accounts and buckets of the start. */
  reset(): Promise<void> {
    return this.#inTurn(async () => {
      const { place, options } = this.#setting
      if (!place.mayBeEmptied) throw new Error(`${options.folder} is not emptied: it was not empty at the start`)
      this.faults.clear()
      this.#requests.hold()
      try {
        this.#listener.endBusy()
        await this.#requests.settled()
        await shut(this.#open)
        await place.empty()
      } finally {
        this.clock.reset()
        this.#open = await open(this.#setting)
        this.#requests.goOn(this.#open.pipeline)
      }
    })
  }

  /** Runs the lifecycle rules now, by the store's clock. */
  runLifecycle(): Promise<LifecycleRound> {
    return this.#inTurn(async () => {
      const worker = new Lifecycle(this.#open.parts.store.context)
      await runUntilIdle(worker)
      if (worker.failures > 0) throw worker.lastFailure
      const { removed, marked, aborted, locked } = worker
      return { removed, marked, aborted, locked }
    })
  }

  /** Runs all background work now: lifecycle rules and space reclamation. */
  runMaintenance(): Promise<void> {
    return this.#inTurn(async () => {
      const { parts, maintenance } = this.#open
      const { logger } = this.#setting
      // Two reclaimers at a time would conflict.
      await maintenance.stop()
      try {
        const chores = [...maintenanceTasks(parts.store, logger), usageTask(parts), sweepTask(parts.store)]
        for (const { worker } of chores) await runUntilIdle(worker)
      } finally {
        this.#open.maintenance = backgroundOf(parts, logger)
      }
    })
  }

  /** Closes every connection at once, then the store. A store in memory is discarded. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #end(): Promise<void> {
    await this.#turn
    this.faults.clear()
    await this.#listener.abort()
    await this.#requests.settled()
    await shut(this.#open)
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(new Error('this store is closed'))
    const done = this.#turn.then(change)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** Passes requests to the open store, and holds them while none is open. */
class Requests implements Pick<Pipeline, 'handle'> {
  #pipeline: Pipeline
  #held: { readonly until: Promise<void>; readonly end: () => void } | undefined
  readonly #underWay = new Set<Promise<RequestState>>()

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline
  }

  async handle(incoming: Exchange): Promise<RequestState> {
    while (this.#held !== undefined) await this.#held.until
    const handled = this.#pipeline.handle(incoming)
    this.#underWay.add(handled)
    try {
      return await handled
    } finally {
      this.#underWay.delete(handled)
    }
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  hold(): void {
    let end = (): void => {}
    const until = new Promise<void>(resolve => {
      end = resolve
    })
    this.#held = { until, end }
  }

  goOn(pipeline: Pipeline): void {
    this.#pipeline = pipeline
    this.#held?.end()
    this.#held = undefined
  }
}
