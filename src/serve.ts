/** Puts the server together: the store, the accounts, the pipeline and the listener, and the upkeep between them. */
import { accountsGiven, haveAccounts, readText, rootKey } from './accounts.ts'
import { openConsole, urlOf } from './admin-console.ts'
import { openFolder } from './compose.ts'
import type { Config, HostAndPort } from './config.ts'
import type { Certificate } from './edge/listener.ts'
import { systemClock } from './lib/clock.ts'
import { realDisk } from './lib/disk.ts'
import { systemRandom } from './lib/random.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from './model/account.ts'
import { Fault } from './model/faults.ts'
import { listenerFor } from './object-api.ts'
import { Directory } from './store/directory.ts'
import type { Store } from './store/store.ts'
import type { Tell } from './tell.ts'
import { choresOf, Upkeep } from './upkeep.ts'
import { Sweeper } from './workers/sweep.ts'
import { runUntilIdle } from './workers/worker.ts'

/** How often it is looked for clients that keep the server waiting. */
const OVERDUE_MS = 1_000

const KEYS_IN_CLEAR =
  'customer keys (SSE-C) are accepted over plain HTTP; --require-tls-for-customer-keys refuses them, --tls-cert helps'

export interface Running {
  readonly url: string
  /** `off` when there is none. */
  readonly consoleUrl: string
  /** Reads the certificate's files again. */
  renewCertificate(): Promise<void>
  close(): Promise<void>
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

export async function serve(config: Config, tell: Tell): Promise<Running> {
  const given = await accountsGiven(config)
  const parts = await openFolder({
    folder: config.data,
    durability: config.durability,
    ...(config.meta === undefined ? {} : { metaUrl: config.meta }),
    ...(config.blobs === undefined ? {} : { blobsFolder: config.blobs }),
  })
  const { store } = parts
  try {
    const directory = new Directory(store.engine, await rootKey(config, tell.once))
    await haveAccounts(store, given, config.accounts)
    await haveBuckets(store, config.buckets)
    await runUntilIdle(new Sweeper(store.engine))
    const { region, baseHost, website, tlsForCustomerKeys } = config
    const certificate = await certificateOf(config)
    const tools = { clock: systemClock, random: systemRandom, tell }
    const named = { region, baseHost, website, tlsForCustomerKeys }
    const listener = listenerFor({ store, directory, ...named, certificate, ...tools })
    const url = urlOf(certificate === undefined ? 'http' : 'https', await listener.listen(...at(config.listen)))
    if (certificate === undefined && !tlsForCustomerKeys) tell.once(KEYS_IN_CLEAR)
    const overdue = setInterval(() => listener.endOverdue(), OVERDUE_MS)
    const console = await openConsole(config, { store, directory, certificate }, tell)
    const upkeep = new Upkeep(choresOf(store, tell), tell)
    return {
      url,
      consoleUrl: console?.url ?? 'off',
      async renewCertificate() {
        const renewed = await certificateOf(config)
        if (renewed === undefined) return
        listener.renew(renewed)
        console?.renew(renewed)
      },
      async close() {
        await listener.close()
        clearInterval(overdue)
        await console?.close()
        await upkeep.stop()
        await parts.close()
      },
    }
  } catch (error) {
    await parts.close()
    throw error
  }
}
