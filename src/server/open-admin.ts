/** Opens the admin server over a store and leaves its address in the data folder for commands on this machine. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AdminServer } from '../admin/admin-server.ts'
import { OidcSignIn } from '../admin/console/oidc/oidc-sign-in.ts'
import { Sessions } from '../admin/console/sessions.ts'
import { FsckRound } from '../admin/fsck-round.ts'
import { ADMIN_ROUTES } from '../admin/index.ts'
import type { ServerInspection } from '../admin/route.ts'
import { ScrubRound } from '../admin/scrub-round.ts'
import { BackupLeases } from '../backup/lease.ts'
import { ServerBackups } from '../backup/server-backup.ts'
import type { Certificate } from '../http/listen.ts'
import { systemClock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import type { IdentityCache } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { AdminEvent } from '../telemetry/audit-log.ts'
import { adminLine } from '../telemetry/exchange-recorder.ts'
import { mergeSamples, type Sample } from '../telemetry/families.ts'
import { UsageMetrics } from '../telemetry/usage-metrics.ts'
import { readText } from './accounts.ts'
import { openAudit } from './audit-file.ts'
import { backupPlace } from './backups.ts'
import type { Capacity } from './capacity.ts'
import type { ServerParts } from './compose.ts'
import type { Config } from './config.ts'
import { consoleFiles } from './console-files.ts'
import { explain, type StoreQuestion } from './explain.ts'
import { isFatal, type Logger } from './log.ts'
import { RenewableServer } from './renewable-server.ts'
import { shownSettings } from './shown-settings.ts'

const ADDRESS_FILE = 'console-address'

interface RunningAdmin {
  readonly url: string
  readonly port: number
  renew(certificate: Certificate): Promise<void>
  reopen(): void
  close(): Promise<void>
}

interface AdminOptions {
  readonly store: Store
  readonly snapshot: ServerParts['snapshot']
  readonly directory: IdentityCache
  readonly certificate: Certificate | undefined
  /** The port of the object API. */
  readonly objectPort: number
  /** The object API is listening. */
  readonly isServing: () => boolean
  /** Writes are refused because the disk is full. */
  readonly isDiskFull: () => boolean
  /** Samples of everything but the admin server. */
  readonly collectMetrics: () => Promise<Sample[]>
  readonly capacity: Capacity
  readonly processes: ServerInspection['processes']
}

/** Undefined when the admin server is disabled. */
export async function openAdmin(config: Config, over: AdminOptions, logger: Logger): Promise<RunningAdmin | undefined> {
  const address = config.memory ? undefined : join(config.data, ADDRESS_FILE)
  // A stale address from an earlier start may lead to another process.
  if (address !== undefined) await realDisk.remove(address)
  if (config.console === undefined) return undefined
  const { store, snapshot, directory, certificate, isServing, isDiskFull, collectMetrics, capacity, objectPort } = over
  const rounds = openRounds(config, store, snapshot)
  const audit = openAudit(config.auditLog, logger)
  const usage = new UsageMetrics(store.context, async owner => (await directory.now()).byCanonicalId(owner)?.accountId)
  const parts = {
    store,
    directory,
    routes: ADMIN_ROUTES,
    clock: systemClock,
    random: systemRandom,
    region: config.region,
    anyRegion: config.anyRegion,
    explain: (question: StoreQuestion) => explain(store, directory, question),
    ...rounds.parts,
    scraping: config.metrics,
    facts: () => capacity.facts(),
    inspection: {
      processes: over.processes,
      settings: shownSettings(config),
      websiteHosts: config.website.hosts,
    },
    collectMetrics: async () => {
      const own = [...(await capacity.samples()), ...(await usage.samples()), ...rounds.samples()]
      return mergeSamples([...(await collectMetrics()), ...own, ...(audit?.log.samples() ?? [])])
    },
    isReady: async () => {
      await unguarded(store.context).meta.get(recordKey.owner())
      return isServing()
    },
    isDiskFull,
    console: { host: config.console.host, urls: config.consoleUrls, objectUrl: config.objectUrl, objectPort },
    ...signingIn(config),
    files: consoleFiles(),
    record: (act: AdminEvent) => {
      logger.log(adminLine(act))
      audit?.log.recordAdminEvent(act)
    },
    onError: (error: unknown, requestId: string) => {
      logger.log({ level: 'error', requestId, error: String((error as Error)?.stack ?? error) })
      if (isFatal(error)) logger.abort()
    },
  }
  const server = new RenewableServer(
    config.console.host,
    certificate,
    secured => new AdminServer({ ...parts, certificate: secured }),
  )
  const listening = await server.listen(config.console.port)
  const scheme = certificate === undefined ? 'http' : 'https'
  const reached = urlOf(scheme, { ...listening, address: reachable(listening.address) })
  if (address !== undefined) await announceAddress(address, reached, logger)
  return {
    url: urlOf(scheme, listening),
    port: listening.port,
    renew: renewed => server.renew(renewed),
    reopen: () => audit?.reopen(),
    async close() {
      if (address !== undefined) await realDisk.remove(address)
      await rounds.close()
      await server.close()
      audit?.close()
      await rounds.parts.backups.stop()
    },
  }
}

/** Long work that administrators start. */
function openRounds(config: Config, { context }: Store, snapshot: ServerParts['snapshot']) {
  const backups = new BackupLeases(context, snapshot)
  const serverBackups = new ServerBackups(backups, systemClock, backupPlace(config.backupFolder))
  const scrub = new ScrubRound(context)
  const fsck = new FsckRound(context, snapshot)
  return {
    parts: { backups, serverBackups, scrub, fsck },
    samples: () => [...scrub.samples(), ...fsck.samples()],
    async close() {
      await scrub.stop()
      await fsck.close()
      await serverBackups.close()
    },
  }
}

const signingIn = ({ oidc }: Config) => ({
  sessions: new Sessions(systemClock, systemRandom),
  oidc: oidc && new OidcSignIn(oidc, systemClock, systemRandom),
})

/** The address of the admin server that serves this folder; undefined when there is none. */
export async function adminAddressOf(folder: string): Promise<string | undefined> {
  if (!(await realDisk.list(folder)).includes(ADDRESS_FILE)) return undefined
  return (await readText(realDisk, join(folder, ADDRESS_FILE))).trim()
}

/** Without the file, commands on this machine need --endpoint, which is no reason not to serve. */
async function announceAddress(path: string, url: string, logger: Logger): Promise<void> {
  try {
    await writeAddress(path, url)
  } catch (error) {
    const message = `The address of the console cannot be written to ${path} (${String(error)}).`
    logger.log({ level: 'error', message })
  }
}

async function writeAddress(path: string, url: string): Promise<void> {
  await realDisk.remove(`${path}.new`)
  const file = await realDisk.open(`${path}.new`, 'create')
  await file.write([Buffer.from(`${url}\n`)], 0)
  await file.close()
  await realDisk.rename(`${path}.new`, path)
}

/** A server that listens on all addresses is reached on loopback. */
const reachable = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address

export function urlOf(scheme: string, { family, address, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
