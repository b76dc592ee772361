/** `npm run bench -- soak`: a thousand connections of mixed load for an hour. docs/performance.md has the rows. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { type Contender, ownMegabytes, startHoldfast } from './http/processes.ts'
import { aloneRow, median, type Row, rowOf } from './measure.ts'
import type { Scene } from './scene.ts'
import type { Clients, Minute } from './soak/clients-child.ts'
import { runSuite } from './suite.ts'

const CONNECTIONS = 1_000
const EVERY_MS = 500
/** A process of its own measures how long single small reads take meanwhile. */
const PROBE = { connections: 4, everyMs: 50 }
const PROBE_STARTS_MS = 10_000

async function* minutesOf(clients: Clients): AsyncGenerator<Minute> {
  const program = join(import.meta.dirname, 'soak', 'clients-child.js')
  const child = spawn(process.execPath, [...process.execArgv, program, JSON.stringify(clients)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout)) yield JSON.parse(line) as Minute
}

interface Observed {
  readonly answers: number
  readonly megabytes: number
}

/** Memory of the largest process, once a minute. */
async function loaded(server: Contender, clients: Clients): Promise<Observed[]> {
  const observed: Observed[] = []
  for await (const { answers } of minutesOf(clients)) {
    const megabytes = ownMegabytes(server)
    observed.push({ answers, megabytes })
    process.stderr.write(`minute ${observed.length}: ${answers} responses, ${megabytes.toFixed(0)} MB\n`)
  }
  return observed
}

async function probed(clients: Clients): Promise<Minute[]> {
  await pause(PROBE_STARTS_MS)
  const minutes: Minute[] = []
  for await (const minute of minutesOf(clients)) {
    minutes.push(minute)
    process.stderr.write(`GET of 4 KiB: median ${minute.medianMs.toFixed(2)} ms, p99 ${minute.p99Ms.toFixed(2)} ms\n`)
  }
  return minutes
}

const openFiles = (): number => Number(/Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))![1])

async function soak(scene: Scene): Promise<Row[]> {
  if (openFiles() < 2 * CONNECTIONS) throw new Error(`${2 * CONNECTIONS} open files are needed: ulimit -n`)
  const server = await startHoldfast(scene, { workers: 'default' })
  const duration = scene.quick ? { minutes: 4, minuteMs: 5_000 } : { minutes: 60, minuteMs: 60_000 }
  const { port } = server
  const [observed, reads] = await Promise.all([
    loaded(server, { port, connections: CONNECTIONS, everyMs: EVERY_MS, mix: 'all', ...duration }),
    probed({ port, ...PROBE, mix: 'small reads', ...duration, minutes: duration.minutes - 1 }),
  ])
  await server.stop()
  if (observed.length < duration.minutes || reads.length < duration.minutes - 1) throw new Error('the load ended early')
  const quarter = Math.floor(observed.length / 4)
  const memory = (from: number): number => median(observed.slice(from, from + quarter).map(one => one.megabytes))
  const seconds = (duration.minutes * duration.minuteMs) / 1000
  const answers = observed.reduce((sum, one) => sum + one.answers, 0)
  return [
    aloneRow('soak-rate', 'op/s', answers / seconds),
    rowOf('soak-memory-vs-second-quarter', 'MB', memory(observed.length - quarter), memory(quarter)),
    rowOf(
      'soak-get-4k-p99-vs-median',
      'ms',
      median(reads.map(one => one.p99Ms)),
      median(reads.map(one => one.medianMs)),
    ),
  ]
}

await runSuite('soak', { 'soak-rate': soak })
