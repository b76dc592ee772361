/** `run --server JSON --scripts DIR [--bun FILE] [--only NAME]`: every client's round, one line each, and the sum. */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { awsCli } from './aws-cli.ts'
import { run } from './command.ts'
import { DEFAULTS } from './defaults.ts'
import { type LogLine, type Served, startHoldfast } from './holdfast.ts'
import { Unavailable } from './install.ts'
import { rclone } from './rclone.ts'
import { restic } from './restic.ts'
import type { Round } from './round.ts'
import { s3cmd } from './s3cmd.ts'
import { SCRIPTED } from './scripted.ts'
import { bothDialects } from './svc.ts'
import { BASE_HOST, FOR_INSTALLING, makeBig, type World } from './world.ts'

const ROUNDS: readonly Round[] = [bothDialects, ...SCRIPTED, ...DEFAULTS, awsCli, s3cmd, rclone, restic]
const BIG_BYTES = 100_000_000
const SHOWN_LINES_MAX = 12

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    scripts: { type: 'string' },
    bun: { type: 'string' },
    only: { type: 'string' },
  },
})
if (values.server === undefined || values.scripts === undefined) throw new Error('--server and --scripts are needed')
const command = JSON.parse(values.server) as readonly string[]
const chosen = ROUNDS.filter(round => values.only === undefined || round.name.startsWith(values.only))
if (chosen.length === 0) throw new Error(`no such client; there are ${ROUNDS.map(round => round.name).join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'holdfast-clients-'))
// On exit, also by a signal.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const tally = { passed: 0, failed: 0, skipped: 0 }
const world = await makeWorld(values.scripts)
for (const round of chosen) await attempt(round)
for (const server of [world.plain, world.defaults, world.secure]) await server?.stop()
console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`)
process.exitCode = tally.failed > 0 ? 1 : 0

async function makeWorld(scripts: string): Promise<World> {
  await mkdir(join(folder, 'home'))
  const big = await makeBig(join(folder, 'big.bin'), BIG_BYTES)
  const plain = await startHoldfast({ command, data: join(folder, 'data') })
  const defaults = await startHoldfast({ command, data: join(folder, 'data-defaults'), asItComes: true })
  const tls = await certificate().catch(() => undefined)
  const secure = tls && (await startHoldfast({ command, data: join(folder, 'data-tls'), tls }))
  return { scripts, bun: values.bun, folder, plain, defaults, secure, big }
}

/** Clients send different bodies over TLS: trailers instead of hashes. */
async function certificate(): Promise<{ cert: string; key: string }> {
  const cert = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  const names = `subjectAltName=IP:127.0.0.1,DNS:${BASE_HOST},DNS:*.${BASE_HOST}`
  const about = ['-subj', '/CN=holdfast', '-addext', names, '-days', '2']
  const files = ['-keyout', key, '-out', cert]
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...about, ...files], { env: FOR_INSTALLING })
  return { cert, key }
}

function tell(verdict: keyof typeof tally, text: string, more: readonly string[] = []): void {
  tally[verdict]++
  console.log(`${verdict} ${text}`)
  for (const line of more) console.log(`  ${line}`)
}

async function attempt(round: Round): Promise<void> {
  let server: Served
  let ready: Awaited<ReturnType<Round['prepare']>>
  try {
    server = round.server(world)
    ready = await round.prepare(world)
  } catch (error) {
    if (error instanceof Unavailable) tell('skipped', `${round.name}: ${error.message}`)
    else tell('failed', `${round.name}: ${(error as Error).message}`)
    return
  }
  const logged = server.log.length
  const startedAt = performance.now()
  const problem = await ready.play().then(
    () => undefined,
    (error: unknown) => String((error as Error).message ?? error),
  )
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const lines = server.log.slice(logged)
  const broken = lines.filter(isBroken)
  const operations = new Set(lines.map(line => line.operation).filter(name => name !== undefined))
  const figures = `${lines.length} requests, ${operations.size} operations, ${seconds} s`
  const name = [round.name, ready.version].join(' ').trim()
  if (problem === undefined && broken.length === 0) return tell('passed', `${name}: ${figures}`)
  const refused = lines.filter(line => Number(line.status) >= 400 || isBroken(line)).slice(-SHOWN_LINES_MAX)
  const why = problem ?? `${broken.length} answers of the server's own failure`
  tell(
    'failed',
    `${name}: ${figures}: ${why}`,
    refused.map(line => JSON.stringify(line)),
  )
}

/** A client may retry silently, so the server's own failures count whether or not the retry succeeded. 501 is valid. */
function isBroken(line: LogLine): boolean {
  return line.level === 'error' || (Number(line.status) >= 500 && line.status !== 501)
}
