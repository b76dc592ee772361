/**
 * Checks the environment of a store and says what to change. The store is neither opened nor changed;
 * probes written to its folders or to another store are removed again.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { IS_SUPPORTED, RUNTIME, RUNTIMES_SUPPORTED } from '../../lib/runtime.ts'
import { blobFindings } from '../../server/blob-findings.ts'
import { BadConfig, FLAGS, readConfig, variable } from '../../server/config.ts'
import { unknownVariables } from '../../server/config-variables.ts'
import { databaseFindings } from '../../server/database-findings.ts'
import { bad, type DoctorFinding, good, odd } from '../../server/doctor-finding.ts'
import { folderFindings } from '../../server/folder-findings.ts'
import { formatProblem, stampOfFolder } from '../../server/folder-format.ts'
import { adminAddressOf } from '../../server/open-admin.ts'
import { type CommandResult, type Invocation, onFolder } from '../command.ts'
import { adminAt, dataFolder } from '../connect.ts'

/** The keys in these files decrypt everything, so only the owner may read them. */
function privacy(check: string, path: string, wanted: number): DoctorFinding {
  const { mode, uid } = statSync(path)
  const shown = (mode & 0o777).toString(8)
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own) {
    return bad(check, `${path} belongs to another user`, `run the server as its owner, or chown ${own} ${path}`)
  }
  if ((mode & 0o077) !== 0) {
    return bad(check, `${path} has mode ${shown}: others can read it`, `chmod ${wanted.toString(8)} ${path}`)
  }
  return good(check, `${path} has mode ${shown}`)
}

/** An unreadable folder must not be reported as missing. */
function unreadableFinding(folder: string): DoctorFinding | undefined {
  try {
    if (statSync(folder, { throwIfNoEntry: false }) !== undefined) readdirSync(folder)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return bad('folder', `${folder} cannot be read (${code})`, 'run this as its owner, or name the right folder')
  }
}

function secrecyFindings(folder: string): DoctorFinding[] {
  const findings = [privacy('folder', folder, 0o700)]
  for (const name of ['keyring', 'root-key']) {
    if (existsSync(join(folder, name))) findings.push(privacy(name, join(folder, name), 0o600))
  }
  if (existsSync(join(folder, 'meta')) && !existsSync(join(folder, 'keyring'))) {
    findings.push(bad('keyring', 'is missing', 'restore it from a backup: without it sealed data cannot be read'))
  }
  return findings
}

async function formatFinding(folder: string): Promise<DoctorFinding> {
  const stamp = await stampOfFolder(folder)
  if (stamp === undefined) return good('format', 'no stamp: the next start writes one')
  const found = `format ${stamp.format}, written by ${stamp.writtenBy}`
  const problem = formatProblem(folder, stamp)
  return problem === undefined ? good('format', found) : bad('format', found, problem)
}

const YEAR_MIN = 2026
const AHEAD_MS_MAX = 60_000

function clockFinding(folder: string): DoctorFinding {
  const now = systemClock.now()
  const newest = ['meta/data.mdb', 'keyring', 'root-key']
    .map(name => join(folder, name))
    .filter(path => existsSync(path))
    .map(path => statSync(path).mtimeMs)
  const found = new Date(now).toISOString()
  if (new Date(now).getUTCFullYear() < YEAR_MIN)
    return bad('clock', found, 'set the clock: signatures and locks need it')
  if (newest.some(at => at > now + AHEAD_MS_MAX)) {
    return bad('clock', `${found}, but files of the store are from later`, 'set the clock: it has gone back')
  }
  return good('clock', found)
}

function runtimeFindings(): DoctorFinding[] {
  const findings = [IS_SUPPORTED ? good('runtime', RUNTIME) : bad('runtime', RUNTIME, `use ${RUNTIMES_SUPPORTED}`)]
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  if (files !== undefined) {
    const few = Number(files) < 4096
    findings.push(few ? odd('open files', files, 'raise the limit: ulimit -n 65536') : good('open files', files))
  }
  return findings
}

function settingFindings(env: NodeJS.ProcessEnv): DoctorFinding[] {
  const findings = unknownVariables(env, Object.keys(FLAGS).map(variable)).map(name =>
    odd('settings', `${name} is not a setting`, 'look for a misspelling'),
  )
  try {
    const config = readConfig([], env)
    if (config?.durability === 'os') {
      findings.push(odd('settings', 'durability is os', 'use fsync: a power cut loses acknowledged writes'))
    }
    if (config?.tls !== undefined) findings.push(privacy('TLS key', config.tls.key, 0o600))
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    findings.push(bad('settings', error.message, 'the server would not start'))
  }
  return findings.length === 0 ? [good('settings', 'fine')] : findings
}

async function serverFindings(call: Invocation, folder: string): Promise<DoctorFinding[]> {
  const address = await adminAddressOf(folder)
  if (address === undefined) return [good('server', 'none has left its address')]
  try {
    const admin = await adminAt(call, new URL(address))
    let measures = ''
    for await (const piece of admin.lines('GetMetrics')) measures += piece
    return [good('server', `answers at ${address}`), ...workerFindings(measures)]
  } catch (error) {
    return [odd('server', `cannot be asked at ${address}: ${(error as Error).message}`, 'see whether it runs')]
  }
}

/** Reads the heartbeat metrics of the workers. */
export function workerFindings(measures: string): DoctorFinding[] {
  const figure = (name: string): number | undefined => {
    const found = new RegExp(`^holdfast_${name} (\\S+)$`, 'm').exec(measures)?.[1]
    return found === undefined ? undefined : Number(found)
  }
  const silence = figure('worker_silence_seconds')
  if (silence === undefined) return []
  const ended = figure('workers_unresponsive_total') ?? 0
  if (silence > 0) {
    const advice = 'find the cause (a signal, a debugger, a hanging disk); the server will replace it'
    return [bad('workers', `one has not responded for ${silence} s`, advice)]
  }
  if (ended > 0) {
    return [odd('workers', `all respond; ${ended} did not and were replaced`, 'see the log for the cause')]
  }
  return [good('workers', 'all respond')]
}

async function look(call: Invocation): Promise<CommandResult> {
  const folder = dataFolder(call)
  const findings = [...runtimeFindings(), ...settingFindings(call.env)]
  const unreadable = unreadableFinding(folder)
  if (unreadable !== undefined) findings.push(unreadable)
  else if (!existsSync(folder)) findings.push(odd('folder', `${folder} does not exist`, 'the first start creates it'))
  else {
    findings.push(...secrecyFindings(folder), ...(await folderFindings(folder, 'metadata')))
    findings.push(await formatFinding(folder), clockFinding(folder), ...(await serverFindings(call, folder)))
  }
  const metaUrl = call.flag('meta')
  if (metaUrl !== undefined) findings.push(...(await databaseFindings(metaUrl)))
  const blobsPlace = call.flag('blobs')
  if (blobsPlace !== undefined) findings.push(...(await blobFindings(blobsPlace)))
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, state, found, advice }) => [
    `${state.padEnd(4)}  ${check.padEnd(width)}  ${found}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 8)}→ ${advice}`]),
  ])
  const wrong = findings.some(({ state }) => state === 'bad')
  return { value: { findings }, text: lines.join('\n'), code: wrong ? 1 : 0 }
}

export const doctorCommand = onFolder({
  name: 'doctor',
  summary:
    'check disk, data folder, clock, settings, database and the place of blobs; exits 1 if something must be changed',
  examples: ['doctor --data ./data'],
  run: look,
})
