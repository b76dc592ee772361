/** Reads what an operator should know about the servers of a database. Changes nothing, and accepts any server. */
import pg from 'pg'
import type { Clock } from '../../lib/clock.ts'
import { type ClockOffset, measureClockOffset } from '../../lib/clock-offset.ts'
import { addressesOf } from './address.ts'
import { hostAndPort } from './connection.ts'
import { whyOf } from './outage.ts'
import { SERVER_TIME } from './schema.ts'

const WAIT_MS = 5_000
const CLOCK_READINGS = 5

/** Connections of one process: two for commits, one for gets, two for scans. */
export const CONNECTIONS_PER_PROCESS = 5

export interface PostgresFacts {
  /** HOST:PORT, without secrets. */
  readonly host: string
  readonly isStandby: boolean
  /** Such as `15.6`, and 150006. */
  readonly version: string
  readonly versionNumber: number
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly synchronousStandbyNames: string
  /** Attached standbys that commits wait for; undefined when this user may not see them. */
  readonly synchronousStandbys: number | undefined
  /** Connections that ordinary users may have. */
  readonly connectionsMax: number
  /** Of the server's clock from this machine's. */
  readonly clockOffset: ClockOffset
}

export interface UnreachableServer {
  readonly host: string
  readonly failure: string
}

const FACTS = `SELECT pg_is_in_recovery() AS standby, current_setting('server_version') AS version,
  current_setting('server_version_num')::int AS number, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS pages, current_setting('synchronous_commit') AS commit,
  current_setting('synchronous_standby_names') AS names,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections`

const STANDBYS = 'SELECT sync_state FROM pg_stat_replication'

async function synchronousStandbys(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ sync_state: string | null }>(STANDBYS)
  if (rows.some(({ sync_state: state }) => state === null)) return undefined
  return rows.filter(({ sync_state: state }) => state === 'sync' || state === 'quorum').length
}

async function serverTime(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ ms: number }>(SERVER_TIME)
  return rows[0]!.ms
}

async function inspectServer(address: string, clock: Clock): Promise<PostgresFacts | UnreachableServer> {
  const host = hostAndPort(address)
  const client = new pg.Client({
    connectionString: address,
    application_name: 'holdfast doctor',
    connectionTimeoutMillis: WAIT_MS,
    query_timeout: WAIT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const [facts] = (await client.query(FACTS)).rows
    return {
      host,
      isStandby: facts.standby,
      version: facts.version,
      versionNumber: facts.number,
      fsync: facts.fsync,
      fullPageWrites: facts.pages,
      synchronousCommit: facts.commit,
      synchronousStandbyNames: facts.names,
      synchronousStandbys: await synchronousStandbys(client),
      connectionsMax: facts.connections,
      clockOffset: await measureClockOffset(clock, () => serverTime(client), CLOCK_READINGS),
    }
  } catch (error) {
    return { host, failure: whyOf(error) }
  } finally {
    void client.end().catch(() => {})
  }
}

/** In the order of the addresses. */
export const inspectPostgres = (url: string, clock: Clock): Promise<readonly (PostgresFacts | UnreachableServer)[]> =>
  Promise.all(addressesOf(url).map(address => inspectServer(address, clock)))
