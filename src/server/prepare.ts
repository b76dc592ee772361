/** What belongs to a data folder as a whole and is done once at a start, before anybody serves from it. */

import { RUNTIME } from '../lib/runtime.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../model/account.ts'
import { Fault, MetadataDamaged } from '../model/faults.ts'
import { DEFAULT_KEY_NAME } from '../model/version.ts'
import type { PeerProcesses } from '../store/reclaim/reclamation-barrier.ts'
import type { Store } from '../store/store.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import { VERSION } from '../version.ts'
import { accountsGiven, ensureAccounts, rootKey } from './accounts.ts'
import { type FolderOptions, type OwnedFolder, openFolder, openMemory } from './compose.ts'
import type { Config } from './config.ts'
import { type FilesystemFacts, filesystemOf } from './filesystem.ts'
import type { Log } from './log.ts'
import { checkSecrecy } from './secrecy.ts'

const gapLine = (error: unknown): Readonly<Record<string, unknown>> => ({
  level: 'error',
  copy: `The journal of the metadata cannot be written (${String(error)}). The next snapshot makes up for it.`,
})

export function folderOptions({ data, durability, namedKeys, meta, blobs }: Config, tell: Log): FolderOptions {
  return {
    onGap: error => tell.log(gapLine(error)),
    onWait: line => tell.log({ level: 'warn', postgres: line }),
    folder: data,
    durability,
    strictKeys: namedKeys.strict,
    ...(meta === undefined ? {} : { metaUrl: meta }),
    ...(blobs === undefined ? {} : { blobsFolder: blobs }),
  }
}

const KEYS_IN_CLEAR =
  'customer keys (SSE-C) are accepted over plain HTTP; --require-tls-for-customer-keys refuses them, --tls-cert helps'

/** The first line of a start. What is wrong with the flags was told before it. */
const startingLine = ({ data, memory, workers }: Config): Readonly<Record<string, unknown>> => ({
  level: 'info',
  message: 'starting',
  version: VERSION,
  runtime: RUNTIME,
  pid: process.pid,
  ...(memory ? { memory } : { data }),
  workers,
})

const MEMORY_ALONE = 'everything is kept in memory and is gone when this server ends (--memory)'

/** Nobody else can open it, and no worker can join. */
async function openMemoryAlone(config: Config): Promise<OwnedFolder> {
  const parts = await openMemory({ strictKeys: config.namedKeys.strict })
  return { ...parts, epoch: 0, admit: async () => {}, dismiss: async () => {} }
}

export interface PreparedFolder {
  readonly folder: OwnedFolder
  readonly rootKey: NonNullable<Config['rootKey']>
  /** What was measured on the way, for good. */
  readonly samples: readonly Sample[]
}

interface NamedGround extends FilesystemFacts {
  readonly name: 'data' | 'blobs'
  readonly folder: string
}

function groundsOf({ data, blobs, meta, memory }: Config): NamedGround[] {
  if (memory) return []
  const holds = meta === undefined ? 'metadata' : 'bytes'
  const grounds: NamedGround[] = [{ name: 'data', folder: data, ...filesystemOf(data, holds) }]
  if (blobs !== undefined) grounds.push({ name: 'blobs', folder: blobs, ...filesystemOf(blobs, 'bytes') })
  return grounds
}

/** Warned of, and refused only where an operator wants that: scripts and containers start on what they are given. */
function checkGrounds(grounds: readonly NamedGround[], { requireDurableFilesystem }: Config): readonly string[] {
  const lines = grounds
    .filter(({ problems }) => problems.length > 0)
    .map(({ folder, problems }) => `${folder} is no place for data that shall last: ${problems.join('; ')}`)
  if (requireDurableFilesystem && lines[0] !== undefined) throw new Error(`${lines[0]} (--require-durable-filesystem)`)
  return lines
}

const sampleOf = ({ name, kind, problems }: NamedGround): Sample => [
  'holdfast_filesystem_unsafe',
  labelled({ folder: name, kind }),
  problems.length === 0 ? 0 : 1,
]

/** `others` are the processes that will serve from the folder beside this one. */
export async function prepare(config: Config, tell: Log, others?: PeerProcesses): Promise<PreparedFolder> {
  const given = await accountsGiven(config)
  const grounds = groundsOf(config)
  const warnings = [
    ...config.warnings,
    ...checkGrounds(grounds, config),
    ...(config.memory ? [] : await checkSecrecy(config.data)),
  ]
  tell.log(startingLine(config))
  for (const message of warnings) tell.log({ level: 'warn', message })
  if (config.memory) tell.log({ level: 'warn', message: MEMORY_ALONE })
  const folder = config.memory
    ? await openMemoryAlone(config)
    : await openFolder({ ...folderOptions(config, tell), ...(others === undefined ? {} : { others }) })
  const { store } = folder
  try {
    const key = await rootKey(config, tell.once)
    await ensureAccounts(store, given, config.accounts)
    await haveBuckets(store, config.buckets)
    const { have, strict } = config.namedKeys
    await store.context.keyring.have(strict ? [DEFAULT_KEY_NAME, ...have] : have)
    if (config.tls === undefined && !config.tlsForCustomerKeys) tell.log({ level: 'warn', message: KEYS_IN_CLEAR })
    return { folder, rootKey: key, samples: grounds.map(sampleOf) }
  } catch (error) {
    await folder.close()
    throw error
  }
}

async function haveBuckets(store: Store, names: readonly string[]): Promise<void> {
  for (const name of names) await ensureBucket(store, name)
}

/** The root account's. */
export async function ensureBucket(store: Store, name: string, lockEnabled = false): Promise<void> {
  const owner = canonicalIdOf(ROOT_ACCOUNT_ID)
  try {
    await store.buckets.create({ name, owner, lockEnabled })
  } catch (error) {
    // One whose record is lost is there as well, and every request for it says so.
    if (error instanceof MetadataDamaged) return
    if (!(error instanceof Fault && error.code === 'BucketAlreadyOwnedByYou')) throw error
  }
}
