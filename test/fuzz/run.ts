/**
 * `run --server COMMAND [--count N] [--seed N] [--only SHOT]`: starts a server, shoots at it, and checks for damage.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openFolder } from '../../src/server/compose.ts'
import { audit } from '../crash/maintenance.ts'
import { enginesOf } from '../engines.ts'
import { type Campaign, shoot, Tally } from './campaign.ts'
import { leftOpen } from './descriptors.ts'
import { type Figures, type Server, startServer } from './server.ts'
import { ACCOUNTS, BASE_HOST, ROOT, SECRET, World } from './world.ts'

const ANSWER_MS_MAX = 5_000
const LANES = 16
/** After this many shots the world is restored. */
const ROUND = 250
/** By then buffers, caches and compiled code have reached their size. */
const WARM_UP = 2_000
const BYTES_MORE_MAX = 50 * 2 ** 20
/** An idle collector rarely returns memory: after over half a minute, or longer on a busy machine. */
const SETTLE_MS_MAX = 120_000
const FAILURES_SHOWN = 20
/** Long runs report their progress. */
const PROGRESS = 10_000

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    count: { type: 'string', default: '5000' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
})

function whole(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} takes a whole number`)
  return Number(text)
}

const seed = whole('seed', values.seed ?? String((Date.now() % 1_000_000) + 1))
const only = values.only === undefined ? undefined : whole('only', values.only)
const count = whole('count', values.count)
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
const failed = join(tmpdir(), 'holdfast-fuzz-failed')
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

console.log(`seed ${seed}`)
const startedAt = performance.now()
const data = join(scratch, 'data')
const accounts = join(scratch, 'accounts.json')
writeFileSync(accounts, JSON.stringify(ACCOUNTS))
const command = JSON.parse(values.server ?? '[]') as string[]
const server = await startServer({ command, data, accounts, baseHost: BASE_HOST, rootKey: ROOT })
const tally = new Tally()
const problems = await attack(server)
report()

async function attack(running: Server): Promise<string[]> {
  const world = await World.make(running.port)
  const { port, consolePort } = running
  const base = { port, consolePort, seed, secret: SECRET, answerMsMax: ANSWER_MS_MAX, lanes: LANES, folder: failed }
  const campaign = (): Campaign => ({ ...base, target: world.target })
  let before = running.figures()
  const [first, end] = only === undefined ? [0, count] : [only, only + 1]
  for (let at = first; at < end && running.complaints.length === 0; at += ROUND) {
    if (at > first) await world.restore()
    await shoot(campaign(), tally, at, Math.min(end, at + ROUND))
    if ((at + ROUND) % PROGRESS === 0) console.log(`${tally.shots} shots, ${tally.failed} failed`)
    // One figure is taken before any shot, the other once all permanent resources exist.
    if (at - first < WARM_UP) before = warmed(before, running.figures())
  }
  const found = [...running.complaints]
  if (found.length === 0) {
    found.push(...(await world.differences()).map(line => `changed: ${line}`))
    found.push(...(await settled(running, before)))
  }
  const code = await running.stop()
  if (code !== 0) found.push(`the server ended with ${code}`)
  const { store, close } = await openFolder({ folder: data, ...(await enginesOf(data)) })
  found.push(...(await audit(store)))
  await close()
  return found
}

function warmed(cold: Figures | undefined, now: Figures | undefined): Figures | undefined {
  return cold && now && { descriptors: cold.descriptors, bytes: now.bytes }
}

/** Checks whether the server retains resources of the shots; it gets some time to release them. */
async function settled(running: Server, before: Figures | undefined): Promise<string[]> {
  if (before === undefined) {
    console.log('descriptors and memory are not looked at: this system does not tell them')
    return []
  }
  for (const deadline = performance.now() + SETTLE_MS_MAX; ; await wait(250)) {
    const now = running.figures()
    if (now === undefined) return []
    const left = stayed(before, now)
    const bytes = grown(before, now)
    const isSettled = left === 0 && bytes < BYTES_MORE_MAX
    if (!isSettled && performance.now() < deadline) continue
    const open = [...now.descriptors.values()].flat()
    const all = [...now.bytes.values()].reduce((sum, one) => sum + one, 0)
    console.log(`descriptors ${open.length} (${left} left open), memory ${mib(all)} (one process ${mib(bytes)} more)`)
    return isSettled ? [] : [`not settled: ${left} left open, ${mib(bytes)} more; open: ${open.sort().join(', ')}`]
  }
}

/** How many descriptors requests left behind, over all processes. */
function stayed(before: Figures, now: Figures): number {
  const left = [...now.descriptors].map(([pid, targets]) => leftOpen(before.descriptors.get(pid) ?? [], targets))
  return left.reduce((sum, one) => sum + Math.max(0, one), 0)
}

/** The growth of the process that grew the most. */
function grown(before: Figures, now: Figures): number {
  return Math.max(...[...now.bytes].map(([pid, bytes]) => bytes - (before.bytes.get(pid) ?? 0)))
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function report(): void {
  const sorted = (map: ReadonlyMap<unknown, number>): string =>
    [...map]
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      .map(([what, times]) => `${what}: ${times}`)
      .join(', ')
  const seconds = (performance.now() - startedAt) / 1000
  console.log(`${tally.shots} shots in ${seconds.toFixed(1)} s (${sorted(tally.kinds)})`)
  console.log(`answers: ${sorted(tally.statuses)}; ended without one, as they may: ${tally.closed}`)
  for (const { shot, kind, problem, file } of tally.failures.slice(0, FAILURES_SHOWN)) {
    console.log(`shot ${shot} (${kind}): ${problem.slice(0, 600)}`)
    console.log(`  sent: ${file}; again: npm run test:fuzz -- --seed ${seed} --only ${shot}`)
  }
  for (const problem of problems) console.log(`harm: ${problem.slice(0, 3_000)}`)
  console.log(`${tally.shots - tally.failed} passed, ${tally.failed + problems.length} failed`)
  process.exitCode = tally.failed + problems.length > 0 ? 1 : 0
}
