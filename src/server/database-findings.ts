/** Judges the settings of the database that a server keeps its metadata in. */
import { availableParallelism } from 'node:os'
import { systemClock } from '../lib/clock.ts'
import type { PostgresFacts, UnreachableServer } from '../meta/postgres/inspect.ts'
import { CLOCK_ADVICE, clockOffsetText, judgeClockOffset } from '../rules/clock-offset.ts'
import { bad, type DoctorFinding, good, odd } from './doctor-finding.ts'

const VERSION_MIN = 12_00_00

function settingFinding(name: string, value: string, accepted: readonly string[]): DoctorFinding {
  const found = `${name} is ${value}`
  if (accepted.includes(value)) return good('database', found)
  return bad('database', found, `set ${name} = on: an acknowledged write could be lost, so the server refuses it`)
}

function standbyFinding({
  synchronousStandbyNames: names,
  synchronousStandbys: attached,
}: PostgresFacts): DoctorFinding {
  if (names === '') {
    const advice = 'name a synchronous standby: without one, acknowledged writes are lost with the disk of the primary'
    return odd('standbys', 'no synchronous standby is named', advice)
  }
  const named = `synchronous_standby_names is ${names}`
  if (attached === undefined) return odd('standbys', named, 'grant pg_monitor to this user, to see whether they attach')
  if (attached === 0) return bad('standbys', `${named}, and none is attached`, 'attach a standby: every commit waits')
  return good('standbys', `${named}; attached: ${attached}`)
}

function connectionFinding({ connectionsMax }: PostgresFacts, perProcess: number, workers: number): DoctorFinding {
  // The owner of the folder has connections of its own, and a backup or a start takes two more.
  const perServer = (workers === 1 ? 1 : workers + 1) * perProcess + 2
  const servers = Math.floor(connectionsMax / perServer)
  const found = `${connectionsMax} connections, ${perServer} for a server with ${workers} workers: up to ${servers}`
  return servers === 0
    ? bad('connections', found, `raise max_connections to at least ${perServer} for each server`)
    : good('connections', found)
}

function clockFinding({ clockOffset }: PostgresFacts): DoctorFinding {
  const [state, found] = [judgeClockOffset(clockOffset), clockOffsetText(clockOffset)]
  if (state === 'good') return good('clocks', found)
  return state === 'odd'
    ? odd('clocks', found, CLOCK_ADVICE)
    : bad('clocks', found, `${CLOCK_ADVICE}; a server refuses to start`)
}

function versionFinding({ version, versionNumber }: PostgresFacts): DoctorFinding {
  const found = `PostgreSQL ${version}`
  return versionNumber < VERSION_MIN ? bad('database', found, 'use PostgreSQL 12 or later') : good('database', found)
}

const isReachable = (server: PostgresFacts | UnreachableServer): server is PostgresFacts => 'version' in server

/** The findings about servers as they were inspected. */
export function judgeDatabase(
  servers: readonly (PostgresFacts | UnreachableServer)[],
  perProcess: number,
  workers: number,
): DoctorFinding[] {
  const findings: DoctorFinding[] = []
  for (const server of servers) {
    if (!isReachable(server))
      findings.push(bad('database', `${server.host}: ${server.failure}`, 'see whether it runs and accepts this user'))
    else findings.push(good('database', `${server.host} is ${server.isStandby ? 'a standby' : 'the primary'}`))
  }
  const primaries = servers.filter(isReachable).filter(({ isStandby }) => !isStandby)
  if (primaries.length === 0) findings.push(bad('database', 'no primary', 'start one, or promote a standby'))
  if (primaries.length > 1) {
    const advice = 'stop all but one now: writes to the others are lost'
    findings.push(bad('database', `${primaries.length} primaries`, advice))
  }
  for (const primary of primaries) {
    findings.push(
      versionFinding(primary),
      settingFinding('fsync', primary.fsync, ['on']),
      settingFinding('full_page_writes', primary.fullPageWrites, ['on']),
      settingFinding('synchronous_commit', primary.synchronousCommit, ['on', 'remote_apply']),
      standbyFinding(primary),
      connectionFinding(primary, perProcess, workers),
      clockFinding(primary),
    )
  }
  return findings
}

export async function databaseFindings(url: string, workers = availableParallelism()): Promise<DoctorFinding[]> {
  const { CONNECTIONS_PER_PROCESS, inspectPostgres } = await import('../meta/postgres/inspect.ts')
  return judgeDatabase(await inspectPostgres(url, systemClock), CONNECTIONS_PER_PROCESS, workers)
}
