/**
 * Parses flags and environment once. Every flag is also a variable (`--base-host` = `HOLDFAST_BASE_HOST`); the flag
 * wins.
 */
import { availableParallelism } from 'node:os'
import type { OidcSettings } from '../admin/console/oidc/oidc-issuer.ts'
import {
  CommandLine,
  CommandLineError,
  type FlagDeclaration,
  type FlagValues,
  HelpRequested,
} from '../lib/command-line.ts'
import { addressesOf } from '../meta/postgres/address.ts'
import { isBucketName, isRegionName } from '../rules/naming.ts'
import type { TracerOptions } from '../telemetry/tracer.ts'
import { BadConfig } from './bad-config.ts'
import { checkBlobsPlace } from './blob-driver.ts'
import { clusterFrom, clusterName } from './cluster-config.ts'
import type { ClusterSettings } from './cluster-keyring.ts'
import { backupFolderFrom } from './config-backup.ts'
import { checkMemory } from './config-memory.ts'
import { metricsToken } from './config-metrics.ts'
import { OIDC_FLAGS, oidcFrom } from './config-oidc.ts'
import { originFrom, originsFrom } from './config-origins.ts'
import { secretFrom } from './config-secrets.ts'
import { checkVariables } from './config-variables.ts'
import { isLogLevel, type LogFormat, type LogLevel } from './log.ts'
import { type HostAndPort, type RootCredentials, rootKeyFrom } from './root-key.ts'
import { tracingFrom } from './tracing.ts'

export interface Config {
  readonly data: string
  /** Data are in memory only, and `data` is not used. */
  readonly memory: boolean
  readonly listen: HostAndPort
  /** Undefined when it is off. */
  readonly console: HostAndPort | undefined
  /** Origins under which browsers reach the console through a proxy. */
  readonly consoleUrls: readonly string[]
  /** The origin under which browsers reach the object API. */
  readonly objectUrl: string | undefined
  readonly oidc: OidcSettings | undefined
  readonly baseHosts: readonly string[]
  readonly website: {
    readonly hosts: readonly string[]
    /** Objects that redirect do so on their bucket's host as well. */
    readonly onBucketHost: boolean
  }
  /** R22. Named keys to create, and whether others must be created before use. */
  readonly namedKeys: { readonly have: readonly string[]; readonly strict: boolean }
  readonly region: string
  /** No region is set, and signatures for any region are accepted. */
  readonly anyRegion: boolean
  /** D31. */
  readonly sigV2: boolean
  /** The dialect of unsigned requests without a header of either dialect. */
  readonly anonymousDialect: 'svc' | 's3'
  readonly accounts: string | undefined
  readonly buckets: readonly string[]
  readonly meta: string | undefined
  /** A folder, or the address of an engine. */
  readonly blobs: string | undefined
  /** Where they move from. */
  readonly blobsFrom: string | undefined
  /** Below it the server may take backups itself. */
  readonly backupFolder: string | undefined
  /** The gateways that share the store; undefined for a server alone. */
  readonly cluster: ClusterSettings | undefined
  readonly workers: number
  /** A worker that does not respond for this long is replaced. */
  readonly workerTimeoutMs: number
  readonly durability: 'fsync' | 'os'
  /** Unsafe filesystems are refused instead of causing a warning. */
  readonly requireDurableFilesystem: boolean
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  /** Access to the metrics besides administrators. */
  readonly metrics: { readonly token: string | undefined; readonly isPublic: boolean }
  /** A file, or `-` for standard output. */
  readonly auditLog: string | undefined
  readonly logLevel: LogLevel
  /** `auto`: text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat
  readonly tracing: TracerOptions | undefined
  /** D24. Customer-provided keys are refused over plain HTTP. */
  readonly tlsForCustomerKeys: boolean
  readonly rootKey: RootCredentials | undefined
  /** Warnings about ignored settings. */
  readonly warnings: readonly string[]
}

export { BadConfig }

type Read<T> = (value: string, flag: string) => T

interface Flag<T> {
  readonly value: string
  readonly meaning: string
  readonly preset: string | undefined
  readonly read: Read<T>
}

const asIs: Read<string> = value => value

/** An empty path would be the current working directory. */
const folder: Read<string> = (value, flag) => {
  if (value === '') throw new BadConfig(`--${flag} needs a folder`)
  return value
}

/** Reported when no other region is configured or signed for. */
const DEFAULT_REGION = 'us-east-1'

const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

const hostNames: Read<readonly string[]> = (value, flag) => {
  const given = value
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
  if (given.every(name => HOST_NAME.test(name))) return given
  throw new BadConfig(`--${flag} is a list of host names without protocol and port, not "${value}"`)
}

const regionName: Read<string> = (value, flag) => {
  if (!isRegionName(value)) throw new BadConfig(`--${flag} is letters, digits, - and ., not "${value}"`)
  return value
}

const hostAndPort: Read<HostAndPort> = (value, flag) => {
  const match = /^(.+):(\d{1,5})$/.exec(value)
  if (match === null || Number(match[2]) > 65_535) throw new BadConfig(`--${flag} needs HOST:PORT, not ${value}`)
  return { host: match[1]!.replace(/^\[(.*)\]$/, '$1'), port: Number(match[2]) }
}

const hostAndPortOrOff: Read<HostAndPort | 'off'> = (value, flag) =>
  value === 'off' ? value : hostAndPort(value, flag)

const WORKERS_MAX = 128

const workerCount: Read<number> = (value, flag) => {
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0
  if (count < 1 || count > WORKERS_MAX) {
    throw new BadConfig(`--${flag} is a number from 1 to ${WORKERS_MAX}, not ${value}`)
  }
  return count
}

const SECONDS_MAX = 3600

const seconds: Read<number> = (value, flag) => {
  const count = /^\d{1,4}$/.test(value) ? Number(value) : 0
  if (count < 1 || count > SECONDS_MAX) {
    throw new BadConfig(`--${flag} is a number of seconds from 1 to ${SECONDS_MAX}, not ${value}`)
  }
  return count
}

const trueOrFalse: Read<boolean> = (value, flag) => {
  if (value !== 'true' && value !== 'false') throw new BadConfig(`--${flag} is true or false, not ${value}`)
  return value === 'true'
}

const names: Read<readonly string[]> = value => value.split(',').filter(name => name !== '')

const bucketNames: Read<readonly string[]> = (value, flag) => {
  const given = names(value, flag)
  const wrong = given.find(name => !isBucketName(name))
  if (wrong === undefined) return given
  throw new BadConfig(`--${flag}: ${wrong} is not a valid bucket name: 3 to 63 of a-z, 0-9, - and ., no IP address`)
}

const durability: Read<Config['durability']> = (value, flag) => {
  if (value !== 'fsync' && value !== 'os') throw new BadConfig(`--${flag} is fsync or os, not ${value}`)
  return value
}

const dialectName: Read<Config['anonymousDialect']> = (value, flag) => {
  if (value !== 'svc' && value !== 's3') throw new BadConfig(`--${flag} is svc or s3, not ${value}`)
  return value
}

const level: Read<LogLevel> = (value, flag) => {
  if (!isLogLevel(value)) throw new BadConfig(`--${flag} is error, warn or info, not ${value}`)
  return value
}

const logFormat: Read<LogFormat> = (value, flag) => {
  if (value === 'auto' || value === 'text' || value === 'json') return value
  throw new BadConfig(`--${flag} is auto, text or json, not ${value}`)
}

/** The bare flag means true; its variable has an explicit value. */
const onOrOff: Read<boolean> = (value, flag) => {
  if (value !== 'true' && value !== 'false') throw new BadConfig(`--${flag} is true or false, not ${value}`)
  return value === 'true'
}

const metaUrl: Read<string> = (value, flag) => {
  try {
    addressesOf(value)
  } catch (error) {
    throw new BadConfig(`--${flag}: ${(error as Error).message}`)
  }
  return value
}

const blobsPlace: Read<string> = (value, flag) => {
  if (value === '') throw new BadConfig(`--${flag} needs a folder or an address`)
  try {
    checkBlobsPlace(value)
  } catch (error) {
    throw new BadConfig(`--${flag}: ${(error as Error).message}`)
  }
  return value
}

const flag = <T>(value: string, meaning: string, read: Read<T>, preset?: string): Flag<T> => ({
  value,
  meaning,
  read,
  preset,
})

export const FLAGS = {
  data: flag('DIR', 'everything the server keeps', folder, './data'),
  listen: flag('HOST:PORT', 'the object API; port 0 picks a free one', hostAndPort, '127.0.0.1:9000'),
  console: flag('HOST:PORT', 'console, admin API and health checks; off for none', hostAndPortOrOff, '127.0.0.1:9001'),
  'console-url': flag('A,B', 'URLs of the console behind a proxy or under another name', originsFrom),
  'object-url': flag(
    'URL',
    "URL of the object API for browsers; by default the console's host and the API's port",
    originFrom,
  ),
  ...OIDC_FLAGS,
  'base-host': flag('A,B', 'buckets answer at <bucket>.NAME of each; by path on any host', hostNames, 'localhost'),
  'website-host': flag('A,B', 'websites answer at <bucket>.NAME of each; by default website.<base host>', hostNames),
  'website-on-bucket-host': flag(
    'true|false',
    "follow redirects of objects on the bucket's own host as well",
    trueOrFalse,
    'true',
  ),
  region: flag('NAME', 'the only region accepted in signatures; by default any, reported as us-east-1', regionName),
  'no-sigv2': flag('', 'refuse presigned URLs and forms signed with Signature Version 2', onOrOff, 'false'),
  'anonymous-dialect': flag(
    'svc|s3',
    'the dialect of unsigned requests without x-svc- or x-amz- headers',
    dialectName,
    'svc',
  ),
  accounts: flag('FILE', 'accounts to have, as JSON; applied at every start', asIs),
  buckets: flag('a,b', 'buckets to have, owned by the root account', bucketNames, ''),
  'verenc-keys': flag('a,b', 'named encryption keys to create if missing', names, ''),
  'verenc-strict-keys': flag(
    'true|false',
    'refuse unknown named keys instead of creating them on first use',
    trueOrFalse,
    'false',
  ),
  meta: flag('URL', 'where metadata live: postgres://…; by default LMDB in the data folder', metaUrl),
  blobs: flag('DIR|URL', 'where bytes live; by default in the data folder', blobsPlace),
  'blobs-from': flag(
    'DIR|URL',
    'the previous place of the bytes, which are moved to --blobs while serving',
    blobsPlace,
  ),
  'backup-folder': flag('DIR', 'the folder below which administrators may have the server take backups', folder),
  cluster: flag('NAME', 'serve as one of many gateways on the same database and bytes', clusterName),
  'cluster-key-file': flag('FILE', 'key that encrypts secrets shared by gateways; or HOLDFAST_CLUSTER_KEY', asIs),
  'cluster-key-url': flag('URL', 'a transit key of Vault or OpenBao instead of --cluster-key-file', asIs),
  memory: flag('', 'keep everything in memory; all data is lost when the server stops', onOrOff, 'false'),
  workers: flag('N', 'serving processes; by default one per core', workerCount, String(availableParallelism())),
  'worker-timeout': flag('SECONDS', 'a worker that does not respond for this long is replaced', seconds, '30'),
  'tls-cert': flag('FILE', 'HTTPS on the object API and the console, with --tls-key; read again on SIGHUP', asIs),
  'tls-key': flag('FILE', 'key of the certificate', asIs),
  'require-tls-for-customer-keys': flag('', 'refuse customer keys (SSE-C) over plain HTTP', onOrOff, 'false'),
  'metrics-token-file': flag('FILE', 'token that lets Prometheus read /metrics; or HOLDFAST_METRICS_TOKEN', asIs),
  'metrics-public': flag('', 'serve /metrics to any client that reaches the console', onOrOff, 'false'),
  'audit-log': flag('FILE', 'audit log of access decisions, one JSON line each; - for standard output', asIs),
  'log-level': flag('error|warn|info', 'the least severe level to log', level, 'info'),
  'log-format': flag('auto|text|json', 'auto: text on a terminal, JSON otherwise', logFormat, 'auto'),
  'require-durable-filesystem': flag(
    '',
    'do not start on memory, network, FUSE or container filesystems, or without barriers',
    onOrOff,
    'false',
  ),
  durability: flag('fsync|os', 'fsync: nothing is acknowledged before it is on stable storage', durability, 'fsync'),
} as const

type Values = { readonly [K in keyof typeof FLAGS]: ReturnType<(typeof FLAGS)[K]['read']> | undefined }

/** For help and completion. */
export const SERVE_FLAGS: readonly FlagDeclaration[] = Object.entries(FLAGS).map(
  ([name, { value, meaning, preset }]) =>
    value === ''
      ? { name, meaning }
      : { name, value, meaning: preset === undefined || preset === '' ? meaning : `${meaning} (${preset})` },
)

/** The environment variable of a flag. */
export const variable = (name: string): string => `HOLDFAST_${name.replaceAll('-', '_').toUpperCase()}`

const serveLine = (): CommandLine =>
  new CommandLine('holdfast serve').usage('[flags]').withFlags(SERVE_FLAGS).allowExcessArguments()

export const serveHelp = (): string => serveLine().helpText()

/** Undefined when help was asked for. A leading `serve` is optional. */
function parseArguments(args: readonly string[]): FlagValues | undefined {
  const line = serveLine()
  try {
    line.parse(args, { from: 'user' })
  } catch (error) {
    if (error instanceof HelpRequested) return undefined
    throw error instanceof CommandLineError ? new BadConfig(error.message) : error
  }
  const [first, ...more] = line.args
  const unexpected = first === 'serve' ? more[0] : first
  if (unexpected !== undefined) throw new BadConfig(`unexpected argument ${unexpected}: ${line.usageLine()}`)
  return line.givenFlags()
}

/** Undefined when help was asked for. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config | undefined {
  const given = parseArguments(args)
  if (given === undefined) return undefined
  const warnings = checkVariables(env, Object.keys(FLAGS).map(variable))
  // The address of a database has its password in it.
  const fromFile = given.has('meta') ? {} : { HOLDFAST_META: secretFrom(env, 'HOLDFAST_META') }
  const variables: NodeJS.ProcessEnv = { ...env, ...fromFile }
  const values = Object.fromEntries(
    Object.entries(FLAGS).map(([name, { read, preset }]) => {
      const text = given.get(name)?.toString() ?? variables[variable(name)] ?? preset
      return [name, text === undefined ? undefined : (read as Read<unknown>)(text, name)]
    }),
  ) as Values
  const memory = values.memory === true
  if (memory) checkMemory({ flag: name => given.get(name)?.toString(), variable: name => variables[variable(name)] })
  return {
    data: values.data!,
    memory,
    listen: values.listen!,
    console: values.console === 'off' ? undefined : values.console,
    consoleUrls: values['console-url'] ?? [],
    objectUrl: values['object-url'],
    oidc: oidcFrom(values),
    baseHosts: values['base-host']!,
    website: {
      hosts: values['website-host'] ?? values['base-host']!.map(name => `website.${name}`),
      onBucketHost: values['website-on-bucket-host']!,
    },
    namedKeys: { have: values['verenc-keys']!, strict: values['verenc-strict-keys']! },
    region: values.region ?? DEFAULT_REGION,
    anyRegion: values.region === undefined,
    sigV2: values['no-sigv2'] !== true,
    anonymousDialect: values['anonymous-dialect']!,
    accounts: values.accounts,
    buckets: values.buckets!,
    meta: values.meta,
    blobs: values.blobs,
    blobsFrom: values['blobs-from'],
    backupFolder: backupFolderFrom(values['backup-folder'], memory ? undefined : values.data, values.blobs),
    cluster: clusterFrom(env, {
      name: values.cluster,
      keyFile: values['cluster-key-file'],
      keyUrl: values['cluster-key-url'],
      meta: values.meta,
      blobs: values.blobs,
    }),
    workers: memory ? 1 : values.workers!,
    workerTimeoutMs: values['worker-timeout']! * 1000,
    durability: values.durability!,
    requireDurableFilesystem: values['require-durable-filesystem'] === true,
    tls: tlsFiles(values['tls-cert'], values['tls-key']),
    tlsForCustomerKeys: values['require-tls-for-customer-keys'] === true,
    metrics: { token: metricsToken(env, values['metrics-token-file']), isPublic: values['metrics-public'] === true },
    auditLog: values['audit-log'] === '' ? undefined : values['audit-log'],
    logLevel: values['log-level']!,
    logFormat: values['log-format']!,
    tracing: tracingFrom(env),
    rootKey: rootKeyFrom(env, {
      listen: values.listen!,
      console: values.console === 'off' ? undefined : values.console,
    }),
    warnings,
  }
}

function tlsFiles(cert: string | undefined, key: string | undefined): Config['tls'] {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) throw new BadConfig('--tls-cert and --tls-key go together')
  return { cert, key }
}
