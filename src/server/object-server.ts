/** The object API on its port: what a server that is alone does, and each of several workers. */
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../http/listen.ts'
import { systemClock } from '../lib/clock.ts'
import { systemRandom } from '../lib/random.ts'
import { IdentityCache, type RootKey } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { Sample } from '../telemetry/families.ts'
import type { Role } from '../telemetry/process-metrics.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
import { listenerFor } from './object-api.ts'
import { RenewableServer } from './renewable-server.ts'
import { openRecorders } from './request-recorders.ts'

/** How often it is looked for clients that keep the server waiting. */
const OVERDUE_MS = 1_000

export interface ObjectServer {
  readonly address: AddressInfo
  /** What requests, and this process, measure. */
  samples(): Promise<Sample[]>
  renew(certificate: Certificate): Promise<void>
  /** Files that somebody may have moved away are opened anew. */
  reopen(): void
  /** No new connections; resolves when what is in flight is finished. */
  close(): Promise<void>
}

/** What a worker is told; its role is known. */
export interface ObjectServerOptions {
  readonly config: Config
  readonly rootKey: RootKey
  readonly certificate: Certificate | undefined
  readonly port: number
  readonly role: Role
}

export async function serveObjects(store: Store, options: ObjectServerOptions, tell: Log): Promise<ObjectServer> {
  const { config, rootKey, certificate, port } = options
  const { region, anyRegion, sigV2, anonymousDialect, baseHosts, website, tlsForCustomerKeys } = config
  const directory = new IdentityCache(store.context, rootKey)
  const named = { region, anyRegion, sigV2, anonymousDialect, baseHosts, website, tlsForCustomerKeys }
  const watching = openRecorders(store, options, tell)
  const tools = { clock: systemClock, random: systemRandom, tell, watchers: watching.watchers }
  const server = new RenewableServer(config.listen.host, certificate, secured =>
    listenerFor({ store, directory, ...named, certificate: secured, ...tools }),
  )
  const address = await server.listen(port).catch(async (error: unknown) => {
    await watching.stop()
    throw error
  })
  const overdue = setInterval(() => server.current.endOverdue(), OVERDUE_MS)
  return {
    address,
    samples: () => watching.samples(),
    reopen: () => watching.reopen(),
    renew: renewed => server.renew(renewed),
    async close() {
      await server.close()
      clearInterval(overdue)
      await watching.stop()
    },
  }
}
