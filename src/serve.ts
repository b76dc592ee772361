/** Puts the server together: the store, the accounts, the pipeline and the listener, and the upkeep between them. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { addAccountsFile, canonicalIdOf, Directory, ROOT_ACCOUNT_ID } from './auth/directory.ts'
import { openFolder } from './compose.ts'
import type { Config, HostAndPort } from './config.ts'
import type { FactFinder } from './edge/authorize.ts'
import { Health } from './edge/health.ts'
import { type Certificate, type Exchange, Listener } from './edge/listener.ts'
import { type Outcome, Pipeline } from './edge/pipeline.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { type Disk, realDisk } from './lib/disk.ts'
import { type Random, systemRandom } from './lib/random.ts'
import { OutcomeUnknown } from './meta/meta.ts'
import { Fault } from './model/faults.ts'
import { OPERATIONS } from './operations/index.ts'
import type { ObjectName } from './operations/operation.ts'
import type { ObjectFacts } from './rules/access/evaluate.ts'
import { OwnershipLost } from './store/fenced-meta.ts'
import { FactsChanged, JudgedMeta, type JudgedObject } from './store/judged-meta.ts'
import type { Store } from './store/store.ts'
import { Compactor } from './workers/compact.ts'
import { Forgetter } from './workers/forget.ts'
import { Reclaimer } from './workers/reclaim.ts'
import { Sweeper } from './workers/sweep.ts'
import { runUntilIdle, type Worker } from './workers/worker.ts'

const UPKEEP_MS = 1_000
const COMPACT_MS = 60_000
const FORGET_MS = 3_600_000

export interface Running {
  readonly url: string
  /** `off` when there is none. */
  readonly consoleUrl: string
  /** Reads the certificate's files again. */
  renewCertificate(): Promise<void>
  close(): Promise<void>
}

export interface Tell {
  log(line: Readonly<Record<string, unknown>>): void
  once(line: string): void
  /** The process must not go on. */
  end(): void
}

const ROOT_FILE = 'root-key'

async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, 'read')
  try {
    const bytes = Buffer.alloc(await file.size())
    await file.read(bytes, 0)
    return bytes.toString('utf8')
  } finally {
    await file.close()
  }
}

/**
 * The root account's key: from the environment, else made at the first start, shown once and kept for the owner alone.
 */
async function rootKey(config: Config, tell: Tell): Promise<NonNullable<Config['rootKey']>> {
  if (config.rootKey !== undefined) return config.rootKey
  const path = join(config.data, ROOT_FILE)
  if ((await realDisk.list(config.data)).includes(ROOT_FILE)) {
    const [accessKey = '', secretKey = ''] = (await readText(realDisk, path)).trim().split('\n')
    return { accessKey, secretKey }
  }
  const accessKey = `HF${systemRandom.bytes(9).toString('hex').toUpperCase()}`
  const secretKey = systemRandom.bytes(30).toString('base64url')
  const file = await realDisk.open(`${path}.new`, 'create')
  await file.write([Buffer.from(`${accessKey}\n${secretKey}\n`)], 0)
  await file.datasync()
  await file.close()
  await realDisk.rename(`${path}.new`, path)
  await realDisk.syncFolder(config.data)
  tell.once(`root access key ${accessKey}, secret key ${secretKey} (shown once, kept in ${path})`)
  return { accessKey, secretKey }
}

async function directoryOf(config: Config, tell: Tell): Promise<Directory> {
  const directory = new Directory()
  const { accessKey, secretKey } = await rootKey(config, tell)
  directory.addRoot(accessKey, secretKey)
  if (config.accounts !== undefined) addAccountsFile(directory, await readText(realDisk, config.accounts))
  return directory
}

async function haveBuckets(store: Store, names: readonly string[]): Promise<void> {
  const owner = canonicalIdOf(ROOT_ACCOUNT_ID)
  for (const name of names) {
    await store.buckets.create({ name, owner, lockEnabled: false }).catch((error: unknown) => {
      if (!(error instanceof Fault && error.code === 'BucketAlreadyOwnedByYou')) throw error
    })
  }
}

async function objectFacts(store: Store, name: ObjectName): Promise<JudgedObject | undefined> {
  try {
    const { owner, attributes } = await store.objects.head(name)
    return { owner, grants: attributes.grants, tags: attributes.tags }
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

const asFacts = (object: JudgedObject | undefined): ObjectFacts | undefined =>
  object && { ownerCanonicalId: object.owner, grants: object.grants, tags: object.tags }

function factsOf(store: Store): FactFinder {
  return {
    bucket: name => store.buckets.get(name),
    document: (bucket, name) => store.documents.get(bucket, name),
    object: async name => asFacts(await objectFacts(store, name)),
    initiator: (name, uploadId) => initiatorOf(store, name, uploadId),
  }
}

/** Whatever is judged on a fact is done only while the fact holds. */
function sessionOf(store: Store): { facts: FactFinder; store: Store } {
  const judged = new JudgedMeta(store.engine.meta)
  const facts: FactFinder = {
    ...factsOf(store),
    async bucket(name) {
      const bucket = await store.buckets.get(name)
      judged.expectBucket(bucket)
      return bucket
    },
    async object(name) {
      const object = await objectFacts(store, name)
      // A version by its name stays what it is; the current one may be another a moment later.
      if (name.versionId === undefined) judged.expectObject(name.bucket, name.key, object)
      return asFacts(object)
    },
  }
  return { facts, store: store.through(judged) }
}

async function initiatorOf(store: Store, { bucket, key }: ObjectName, uploadId: string): Promise<string | undefined> {
  try {
    return (await store.uploads.find({ bucket, key, uploadId })).initiator
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** After these nobody knows what took effect: the next start finds out, this process must not guess. */
const isFinal = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof OwnershipLost

/** Runs upkeep again and again until told to stop; a step that fails is told and tried again later. */
function upkeep(workers: readonly (readonly [Worker, number])[], tell: Tell): () => Promise<void> {
  let stopped = false
  const loops = workers.map(async ([worker, pause]) => {
    while (!stopped) {
      await runUntilIdle(worker).catch((error: unknown) => {
        tell.log({ level: 'error', upkeep: String(error) })
        if (isFinal(error)) tell.end()
      })
      for (let waited = 0; waited < pause && !stopped; waited += UPKEEP_MS) await systemClock.sleep(UPKEEP_MS)
    }
  })
  return async () => {
    stopped = true
    await Promise.all(loops)
  }
}

async function certificateOf({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  return { cert: await readText(realDisk, tls.cert), key: await readText(realDisk, tls.key) }
}

const at = ({ host, port }: HostAndPort): [string, number] => [host, port]

function urlOf(scheme: string, { family, address, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

export interface Serving {
  readonly certificate?: Certificate | undefined
  readonly store: Store
  readonly directory: Directory
  readonly clock: Clock
  readonly random: Random
  readonly region: string
  readonly baseHost: string
  readonly tell: Tell
}

/** The object API over a store: everything but where it listens and who opened the store. */
export function listenerFor(serving: Serving): Listener {
  const { store, directory, clock, random, region, baseHost, tell } = serving
  const pipeline = new Pipeline({
    session: () => sessionOf(store),
    facts: factsOf(store),
    isStale: error => error instanceof FactsChanged,
    accounts: directory,
    operations: OPERATIONS,
    findCredential: async accessKey => directory.byAccessKey(accessKey),
    clock,
    region,
    baseHost,
    onError: (error, requestId) => {
      tell.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) })
      if (isFinal(error)) tell.end()
    },
  })
  return new Listener({
    certificate: serving.certificate,
    pipeline,
    random,
    record: (outcome, exchange) => tell.log(logLine(outcome, exchange)),
    onError: error => tell.log({ level: 'error', error: String((error as Error)?.stack ?? error) }),
  })
}

export async function serve(config: Config, tell: Tell): Promise<Running> {
  const parts = await openFolder({
    folder: config.data,
    durability: config.durability,
    ...(config.meta === undefined ? {} : { metaUrl: config.meta }),
    ...(config.blobs === undefined ? {} : { blobsFolder: config.blobs }),
  })
  const { store } = parts
  try {
    const directory = await directoryOf(config, tell)
    await haveBuckets(store, config.buckets)
    await runUntilIdle(new Sweeper(store.engine))
    const { region, baseHost } = config
    const certificate = await certificateOf(config)
    const tools = { clock: systemClock, random: systemRandom, tell }
    const listener = listenerFor({ store, directory, region, baseHost, certificate, ...tools })
    const url = urlOf(certificate === undefined ? 'http' : 'https', await listener.listen(...at(config.listen)))
    const health = config.console && new Health(async () => (await store.buckets.list()).length >= 0)
    const healthUrl = health && urlOf('http', await health.listen(...at(config.console!)))
    const stopUpkeep = upkeep(
      [
        [new Reclaimer(store.engine), UPKEEP_MS],
        [new Compactor(store.engine), COMPACT_MS],
        [new Forgetter(store.engine, store.completion), FORGET_MS],
      ],
      tell,
    )
    return {
      url,
      consoleUrl: healthUrl ?? 'off',
      async renewCertificate() {
        const renewed = await certificateOf(config)
        if (renewed !== undefined) listener.renew(renewed)
      },
      async close() {
        await listener.close()
        await health?.close()
        await stopUpkeep()
        await parts.close()
      },
    }
  } catch (error) {
    await parts.close()
    throw error
  }
}

function logLine(outcome: Outcome, exchange: Exchange): Readonly<Record<string, unknown>> {
  const caller = outcome.caller
  return {
    level: 'info',
    ...exchange,
    milliseconds: Math.round(exchange.milliseconds * 10) / 10,
    operation: outcome.operation,
    dialect: outcome.dialect.name,
    resource: outcome.resource,
    code: outcome.code,
    caller: caller === undefined || caller.kind === 'anonymous' ? undefined : caller.accessKey,
  }
}
