/**
 * The engines without a gateway: the same bytes and one row for each request, by the least code, through the same
 * binding of librados and the same client of PostgreSQL. Objects up to 4 KiB are inside their rows, as in the store.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { RadosPool } from '../../src/blobs/rados/pool.ts'
import type { Loaded } from '../http/load-child.ts'
import { inFlight } from '../measure.ts'

export interface RawWork {
  readonly url: string
  readonly conf: string
  readonly pool: string
  readonly kind: 'get' | 'put' | 'list'
  readonly bytes: number
  /** Requests at a time. */
  readonly width: number
  /** Stops after so many milliseconds or so many answers, whichever comes first. */
  readonly milliseconds: number
  readonly answers: number
}

const KEYS = 512
const PAGE = 1000
const IN_ROW_BYTES_MAX = 4096
const RECORD_BYTES = 200
const STRIPE_BYTES = 4 * 2 ** 20
/** With four objects at a time these are the sixteen operations in flight of `rados bench`. */
const STRIPES_IN_FLIGHT = 4
/** As many as a gateway with one worker has. */
const CONNECTIONS = 5
const TABLE = 'CREATE TABLE IF NOT EXISTS raw (k text PRIMARY KEY, v bytea NOT NULL)'
const PUT = 'INSERT INTO raw VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v'

const work = JSON.parse(process.argv[2]!) as RawWork
const { kind, bytes, width } = work
const rows = new pg.Pool({ connectionString: work.url, max: CONNECTIONS })
const pool = await RadosPool.connect({ pool: work.pool, namespace: 'raw', user: 'admin', conf: work.conf })
const objects = pool.namespace('raw')
const body = randomBytes(bytes)
const isInRow = bytes <= IN_ROW_BYTES_MAX
const record = isInRow ? body : randomBytes(RECORD_BYTES)
const stripes = Array.from({ length: Math.ceil(bytes / STRIPE_BYTES) }, (_, n) =>
  body.subarray(n * STRIPE_BYTES, (n + 1) * STRIPE_BYTES),
)
const keyOf = (n: number): string => `${kind === 'list' ? 'list' : bytes}-${n % (kind === 'list' ? 2 * PAGE : KEYS)}`

const query = (name: string, text: string, values: readonly unknown[]): Promise<unknown> =>
  rows.query({ name, text, values: [...values] })

async function put(n: number): Promise<void> {
  const key = keyOf(n)
  if (!isInRow) await inFlight(STRIPES_IN_FLIGHT, stripes.length, at => objects.write(`${key}.${at}`, stripes[at]!, 0))
  await query('put', PUT, [key, record])
}

async function get(n: number): Promise<void> {
  const key = keyOf(n)
  await query('get', 'SELECT v FROM raw WHERE k = $1', [key])
  if (isInRow) return
  const read = (at: number): Promise<number> =>
    objects.read(`${key}.${at}`, Buffer.allocUnsafeSlow(stripes[at]!.length), 0)
  await inFlight(STRIPES_IN_FLIGHT, stripes.length, read)
}

const list = (): Promise<unknown> => query('list', "SELECT k, v FROM raw WHERE k >= 'list' ORDER BY k LIMIT 1000", [])

const once = { get, put, list }[kind]
await rows.query(TABLE)
// A read that finds nothing would be too cheap. Names repeat, so this is done in the warm-up turn alone.
if (kind !== 'put') {
  const wanted = kind === 'list' ? 2 * PAGE : Math.min(KEYS, work.answers)
  const found = await rows.query('SELECT count(*)::int AS n FROM raw WHERE k LIKE $1', [`${keyOf(0).split('-')[0]}-%`])
  if (found.rows[0].n < wanted) await inFlight(width, wanted, put)
}
const startedAt = performance.now()
let answers = 0
const lane = async (): Promise<void> => {
  while (answers < work.answers && performance.now() - startedAt < work.milliseconds) await once(answers++)
}
await Promise.all(Array.from({ length: width }, lane))
const loaded: Loaded = { answers, bytes: answers * bytes, milliseconds: performance.now() - startedAt }
await rows.end()
await pool.close()
process.stdout.write(`${JSON.stringify(loaded)}\n`)
