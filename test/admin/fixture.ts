/** A console over an in-memory store, and a client that signs correctly or with deliberate errors. */
import { createHash, createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { AdminServer, type AdminServerParts } from '../../src/admin/admin-server.ts'
import { Sessions } from '../../src/admin/console/sessions.ts'
import { FsckRound } from '../../src/admin/fsck-round.ts'
import { ADMIN_ROUTES } from '../../src/admin/index.ts'
import { ScrubRound } from '../../src/admin/scrub-round.ts'
import { BackupLeases } from '../../src/backup/lease.ts'
import { type BackupPlace, ServerBackups } from '../../src/backup/server-backup.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openMemory, type ServerParts } from '../../src/server/compose.ts'
import { explain } from '../../src/server/explain.ts'
import { Accounts } from '../../src/store/identity/accounts.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { adminLine } from '../../src/telemetry/exchange-recorder.ts'

export const ROOT = { accessKey: 'AKROOT', secretKey: 'the-secret-of-the-root' }

export interface Key {
  readonly accessKey: string
  readonly secretKey: string
}

export interface Asking {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  /** Null sends no signature. */
  readonly as?: Key | null
  readonly dialect?: 'svc' | 's3'
  readonly service?: string
  readonly region?: string
  /** Replaces the hash of the body. */
  readonly hash?: string
  /** How far the client's clock is ahead, in milliseconds. */
  readonly ahead?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  json(): Record<string, unknown>
}

const WORDS = {
  svc: { version: 'SVC4', prefix: 'x-svc-' },
  s3: { version: 'AWS4', prefix: 'x-amz-' },
} as const

const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

export function signedHeaders(asking: Asking, body: string, host: string, now: number): Record<string, string> {
  const { as = ROOT, dialect = 'svc', service = 'admin', region = 'us-east-1' } = asking
  if (as === null) return {}
  const { version, prefix } = WORDS[dialect]
  const stamp = new Date(now + (asking.ahead ?? 0)).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const hash = asking.hash ?? sha(body)
  const [path = '', query = ''] = asking.path.split('?')
  const names = `host;${prefix}content-sha256;${prefix}date`
  const lines = [`host:${host}`, `${prefix}content-sha256:${hash}`, `${prefix}date:${stamp}`, '']
  const sorted = query.split('&').sort().join('&')
  const canonical = [asking.method ?? 'GET', path, sorted, ...lines, names, hash].join('\n')
  const scope = [stamp.slice(0, 8), region, service, `${version.toLowerCase()}_request`]
  const toSign = [`${version}-HMAC-SHA256`, stamp, scope.join('/'), sha(canonical)].join('\n')
  const key = scope.reduce<Buffer | string>((k, word) => mac(k, word), version + as.secretKey)
  const signature = mac(key, toSign).toString('hex')
  const credential = `Credential=${as.accessKey}/${scope.join('/')}`
  return {
    [`${prefix}content-sha256`]: hash,
    [`${prefix}date`]: stamp,
    authorization: `${version}-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

export interface Consoled {
  readonly ask: (asking: Asking) => Promise<Answer>
  readonly port: number
  readonly parts: ServerParts
  readonly accounts: Accounts
  readonly clock: ManualClock
  /** The parsed log lines. */
  readonly log: readonly Readonly<Record<string, unknown>>[]
}

const bodyOf = ({ body }: Asking): string =>
  body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)

function exchange(asking: Asking, port: number, now: number): Promise<Answer> {
  const body = bodyOf(asking)
  const host = `127.0.0.1:${port}`
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const headers = { host, ...length, ...signedHeaders(asking, body, host, now) }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, method: asking.method ?? 'GET', path: asking.path, headers }, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', chunk => {
        text += chunk
      })
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: () => JSON.parse(text) }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}

export async function withConsole(
  use: (consoled: Consoled) => Promise<void>,
  { place, ...more }: Partial<AdminServerParts> & { readonly place?: BackupPlace | undefined } = {},
  clock = new ManualClock(),
): Promise<void> {
  const parts = await openMemory({ clock })
  const log: Readonly<Record<string, unknown>>[] = []
  const directory = new IdentityCache(parts.store.context, ROOT)
  const scrub = new ScrubRound(parts.store.context)
  const fsck = new FsckRound(parts.store.context, parts.snapshot)
  const backups = new BackupLeases(parts.store.context, parts.snapshot)
  const serverBackups = new ServerBackups(backups, clock, place)
  const console = new AdminServer({
    store: parts.store,
    directory,
    scrub,
    fsck,
    backups,
    serverBackups,
    explain: question => explain(parts.store, directory, question),
    routes: ADMIN_ROUTES,
    clock,
    random: systemRandom,
    region: 'us-east-1',
    collectMetrics: async () => [['holdfast_info', '', 1]],
    facts: async () => ({ version: '0.0.0', runtime: 'none', filesystems: [] }),
    scraping: { token: undefined, isPublic: false },
    isReady: async () => true,
    console: { host: '127.0.0.1', urls: [], objectUrl: undefined, objectPort: 9000 },
    sessions: new Sessions(clock, systemRandom),
    files: async () => undefined,
    ...more,
    record: act => log.push(adminLine(act)),
    onError: error => log.push({ error: String((error as Error)?.stack ?? error) }),
  })
  const { port } = await console.listen('127.0.0.1', 0)
  const ask = (asking: Asking): Promise<Answer> => exchange(asking, port, clock.now())
  try {
    await use({ ask, port, parts, accounts: new Accounts(parts.store.context), clock, log })
  } finally {
    await scrub.stop()
    await fsck.close()
    await serverBackups.close()
    await console.close()
    await parts.close()
  }
}
