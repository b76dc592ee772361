/** The settings in force and the serving processes, as administrators see them. */
import type { ServingProcess } from '../admin/route.ts'
import type { Sample } from '../telemetry/families.ts'
import type { Config } from './config.ts'

/** Addresses may have a user and a password in them, and secrets among their parameters. */
function withoutSecrets(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return address
  const url = new URL(address)
  if (url.password !== '') url.password = '***'
  for (const name of new Set(url.searchParams.keys())) {
    if (/pass|secret|key|token/i.test(name)) url.searchParams.set(name, '***')
  }
  return url.href
}

const place = (at: Config['listen'] | undefined): string => (at === undefined ? 'off' : `${at.host}:${at.port}`)

/** Named after the flags. Secrets are shown as being set. */
export function shownSettings(config: Config): Readonly<Record<string, unknown>> {
  const { namedKeys, website, metrics, tls } = config
  return {
    data: config.memory ? undefined : config.data,
    memory: config.memory,
    listen: place(config.listen),
    console: place(config.console),
    'console-url': config.consoleUrls,
    'object-url': config.objectUrl,
    'oidc-issuer': config.oidc?.issuer,
    'oidc-client-id': config.oidc?.clientId,
    'oidc-client-secret': config.oidc?.clientSecret === undefined ? undefined : 'set',
    'oidc-claim': config.oidc?.claim,
    'oidc-name': config.oidc?.name,
    'base-host': config.baseHosts,
    'website-host': website.hosts,
    'website-on-bucket-host': website.onBucketHost,
    region: config.anyRegion ? undefined : config.region,
    'no-sigv2': !config.sigV2,
    'anonymous-dialect': config.anonymousDialect,
    accounts: config.accounts,
    buckets: config.buckets,
    'verenc-keys': namedKeys.have,
    'verenc-strict-keys': namedKeys.strict,
    meta: withoutSecrets(config.meta),
    blobs: withoutSecrets(config.blobs),
    'blobs-from': withoutSecrets(config.blobsFrom),
    cluster: config.cluster?.name,
    'backup-folder': config.backupFolder,
    workers: config.workers,
    'worker-timeout': config.workerTimeoutMs / 1000,
    'tls-cert': tls?.cert,
    'require-tls-for-customer-keys': config.tlsForCustomerKeys,
    'metrics-token': metrics.token === undefined ? undefined : 'set',
    'metrics-public': metrics.isPublic,
    'audit-log': config.auditLog,
    'log-level': config.logLevel,
    'log-format': config.logFormat,
    'require-durable-filesystem': config.requireDurableFilesystem,
    durability: config.durability,
    tracing: config.tracing === undefined ? undefined : 'on',
  }
}

/** A process with what its samples tell. */
export function processShown(
  samples: readonly Sample[],
  process: { readonly pid: number; readonly startedAt: number; readonly listening: boolean },
): ServingProcess {
  const sum = (name: Sample[0]): number | undefined => {
    const own = samples.filter(([family]) => family === name)
    return own.length === 0 ? undefined : own.reduce((total, [, , value]) => total + value, 0)
  }
  return {
    ...process,
    startedAt: new Date(process.startedAt).toISOString(),
    residentBytes: sum('holdfast_process_resident_bytes'),
    cpuSeconds: sum('holdfast_process_cpu_seconds_total'),
    requestsInFlight: sum('holdfast_requests_in_flight'),
  }
}
