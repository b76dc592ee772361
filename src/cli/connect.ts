/**
 * Connects commands to a store: to the server at `--endpoint`; otherwise to the server that runs on the data folder,
 * which records the address of its console there; otherwise to the folder directly. All use the admin API's routes.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { storedRootKey } from '../server/accounts.ts'
import { clusterFrom } from '../server/cluster-config.ts'
import type { ClusterSettings } from '../server/cluster-keyring.ts'
import { openFolder, type ServerParts } from '../server/compose.ts'
import { secretFrom } from '../server/config-secrets.ts'
import { adminAddressOf } from '../server/open-admin.ts'
import { FolderInUse } from '../store/commit/folder-ownership.ts'
import type { RootKey } from '../store/identity/identity-cache.ts'
import { httpUrl } from './address.ts'
import type { Admin } from './admin.ts'
import type { Invocation } from './command.ts'
import { DirectAdmin } from './direct-admin.ts'
import { BadUsage, CommandFailed } from './failures.ts'
import { HttpAdmin } from './http-admin.ts'
import { pathExists } from './path-exists.ts'

type Where = Pick<Invocation, 'flag' | 'env' | 'progress'>

export const dataFolder = (call: Where): string => call.flag('data') ?? './data'

/** The cluster that the flags name; undefined for a server alone. */
export function clusterOf(call: Where): ClusterSettings | undefined {
  return clusterFrom(call.env, {
    name: call.flag('cluster'),
    keyFile: call.flag('cluster-key-file'),
    keyUrl: call.flag('cluster-key-url'),
    meta: call.flag('meta'),
    blobs: call.flag('blobs'),
  })
}

/** Opens the store in the data folder for this process alone; never creates one. */
export async function openStoreOf(call: Where): Promise<ServerParts> {
  const folder = dataFolder(call)
  const [metaUrl, blobsPlace, blobsFrom] = [call.flag('meta'), call.flag('blobs'), call.flag('blobs-from')]
  if (metaUrl === undefined && !pathExists(join(folder, 'meta')))
    throw new CommandFailed(`there is no store in ${folder}`)
  return openFolder({
    folder,
    cluster: clusterOf(call),
    onWait: line => call.progress(line),
    ...(metaUrl === undefined ? {} : { metaUrl }),
    ...(blobsPlace === undefined ? {} : { blobsPlace }),
    ...(blobsFrom === undefined ? {} : { blobsFrom }),
  })
}

export async function adminFor(call: Where): Promise<Admin> {
  const endpoint = call.flag('endpoint')
  if (endpoint !== undefined) return adminAt(call, consoleOf(endpoint))
  try {
    const parts = await openStoreOf(call)
    return new DirectAdmin(parts, await keyOf(call), call.flag('region') ?? 'us-east-1')
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
  }
  const address = await adminAddressOf(dataFolder(call))
  if (address === undefined) {
    throw new CommandFailed(`the server on ${dataFolder(call)} has no console: stop it, or start it with --console`)
  }
  return adminAt(call, new URL(address))
}

/** The console serves at its root, so the URL has no path. */
function consoleOf(text: string): URL {
  const url = httpUrl(text, 'endpoint')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new BadUsage('--endpoint takes http(s)://HOST[:PORT] without a path')
  }
  return url
}

export async function adminAt(call: Where, url: URL): Promise<Admin> {
  const key = await keyOf(call)
  if (key === undefined) {
    throw new CommandFailed(
      'no key to sign with: set HOLDFAST_ROOT_ACCESS_KEY and HOLDFAST_ROOT_SECRET_KEY, or name the data folder',
    )
  }
  const ca = call.flag('ca')
  return new HttpAdmin({
    url,
    key,
    region: call.flag('region') ?? 'us-east-1',
    ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
  })
}

/** The access key that signs requests. */
export const keyOf = async (call: Where): Promise<RootKey | undefined> =>
  keyFrom(call.env) ?? (await storedRootKey(dataFolder(call)))

/** Any administrator's key. Never a flag, because other users of the machine can read the command line. */
function keyFrom(env: NodeJS.ProcessEnv): RootKey | undefined {
  for (const prefix of ['HOLDFAST_', 'HOLDFAST_ROOT_'] as const) {
    const accessKey = secretFrom(env, `${prefix}ACCESS_KEY`)
    const secretKey = secretFrom(env, `${prefix}SECRET_KEY`)
    if (accessKey && secretKey) return { accessKey, secretKey }
  }
  return undefined
}
