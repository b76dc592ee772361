/** The object API on its port, in a single-process server or in each worker. */
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../http/listen.ts'
import { systemClock } from '../lib/clock.ts'
import { systemRandom } from '../lib/random.ts'
import { IdentityCache, type RootKey } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { Sample } from '../telemetry/families.ts'
import type { Role } from '../telemetry/process-metrics.ts'
import type { Config } from './config.ts'
import type { Logger } from './log.ts'
import { listenerFor } from './object-api.ts'
import { RenewableServer } from './renewable-server.ts'
import { openRecorders } from './request-recorders.ts'

/** How often overdue clients are disconnected. */
const OVERDUE_MS = 1_000

export interface ObjectServer {
  readonly address: AddressInfo
  /** Samples of requests and of this process. */
  samples(): Promise<Sample[]>
  /** The console listens only after the object API. */
  setConsolePort(port: number | undefined): void
  renew(certificate: Certificate): Promise<void>
  /** Reopens files that log rotation may have moved. */
  reopen(): void
  /** Refuses new connections; resolves when requests in flight are finished. */
  close(): Promise<void>
}

/** The options that a worker receives from its supervisor. */
export interface ObjectServerOptions {
  readonly config: Config
  readonly rootKey: RootKey
  readonly certificate: Certificate | undefined
  readonly port: number
  /** Undefined until the console listens, and without one. */
  readonly consolePort?: number | undefined
  readonly role: Role
}

export async function serveObjects(store: Store, options: ObjectServerOptions, logger: Logger): Promise<ObjectServer> {
  const { config, rootKey, certificate, port } = options
  const { region, anyRegion, sigV2, anonymousDialect, baseHosts, website, tlsForCustomerKeys } = config
  const directory = new IdentityCache(store.context, rootKey)
  const named = { region, anyRegion, sigV2, anonymousDialect, baseHosts, website, tlsForCustomerKeys }
  const console = { port: options.consolePort, urls: config.consoleUrls }
  const recorders = openRecorders(store, options, logger)
  const tools = { clock: systemClock, random: systemRandom, logger, sinks: recorders.sinks }
  const server = new RenewableServer(config.listen.host, certificate, secured =>
    listenerFor({ store, directory, ...named, console, certificate: secured, ...tools }),
  )
  const address = await server.listen(port).catch(async (error: unknown) => {
    await recorders.stop()
    throw error
  })
  const overdue = setInterval(() => server.current.endOverdue(), OVERDUE_MS)
  return {
    address,
    samples: () => recorders.samples(),
    reopen: () => recorders.reopen(),
    setConsolePort(port) {
      console.port = port
    },
    renew: renewed => server.renew(renewed),
    async close() {
      await server.close()
      clearInterval(overdue)
      await recorders.stop()
    },
  }
}
