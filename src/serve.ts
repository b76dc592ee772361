/** Puts the server together: the store, the accounts, the pipeline and the listener, and the upkeep between them. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { addAccountsFile, canonicalIdOf, Directory, ROOT_ACCOUNT_ID } from './auth/directory.ts'
import { openFolder } from './compose.ts'
import type { Config, HostAndPort } from './config.ts'
import { Health } from './edge/health.ts'
import type { Certificate } from './edge/listener.ts'
import { systemClock } from './lib/clock.ts'
import { type Disk, realDisk } from './lib/disk.ts'
import { systemRandom } from './lib/random.ts'
import { Fault } from './model/faults.ts'
import { listenerFor } from './object-api.ts'
import type { Store } from './store/store.ts'
import type { Tell } from './tell.ts'
import { choresOf, Upkeep } from './upkeep.ts'
import { Sweeper } from './workers/sweep.ts'
import { runUntilIdle } from './workers/worker.ts'

export interface Running {
  readonly url: string
  /** `off` when there is none. */
  readonly consoleUrl: string
  /** Reads the certificate's files again. */
  renewCertificate(): Promise<void>
  close(): Promise<void>
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

async function certificateOf({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  return { cert: await readText(realDisk, tls.cert), key: await readText(realDisk, tls.key) }
}

const at = ({ host, port }: HostAndPort): [string, number] => [host, port]

function urlOf(scheme: string, { family, address, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
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
    const upkeep = new Upkeep(choresOf(store), tell)
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
        await upkeep.stop()
        await parts.close()
      },
    }
  } catch (error) {
    await parts.close()
    throw error
  }
}
