/** The servers that are measured and the load that is put on them: each a process of its own, on this runtime. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Scene } from '../scene.ts'
import type { Load, Loaded } from './load-child.ts'
import { type Asked, KEYS, signedRequest } from './signed.ts'

export interface Contender {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

const here = (name: string): string => join(import.meta.dirname, name)
/** The bundle that `npm start` runs, where there is one. */
const PROGRAM = process.env.HOLDFAST_BENCH_PROGRAM ?? join(import.meta.dirname, '..', '..', 'src', 'main.js')

function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  errors: 'ignore' | number = 'ignore',
): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ['ignore', 'pipe', errors],
    env: { ...process.env, ...env },
  })
  const endWithUs = (): boolean => child.kill('SIGKILL')
  process.once('exit', endWithUs)
  child.once('exit', () => process.removeListener('exit', endWithUs))
  return child
}

async function portOf(child: ChildProcess, ready: RegExp): Promise<number> {
  for await (const line of createInterface(child.stdout!)) {
    const match = ready.exec(line)
    if (match !== null) return Number(match[1])
  }
  throw new Error('the server ended before it was ready')
}

async function contender(child: ChildProcess, ready: RegExp): Promise<Contender> {
  const port = await portOf(child, ready)
  const ended = once(child, 'exit')
  return {
    port,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export interface Starting {
  /** One, unless the server is to decide for itself. */
  readonly workers?: number | 'default'
  /** A folder that is there already. */
  readonly data?: string
  readonly flags?: readonly string[]
  /** The file that gets the log; otherwise nothing does. */
  readonly log?: string
}

export function startHoldfast(scene: Scene, starting: Starting = {}): Promise<Contender> {
  const { workers = 1, data = scene.newFolder('holdfast'), flags: others = [], log } = starting
  const flags = [...others, '--data', data, '--listen', '127.0.0.1:0', '--console', 'off', '--buckets', 'bench']
  if (workers !== 'default') flags.push('--workers', String(workers))
  const env = { HOLDFAST_ROOT_ACCESS_KEY: KEYS.accessKey, HOLDFAST_ROOT_SECRET_KEY: KEYS.secretKey }
  const file = log === undefined ? undefined : openSync(log, 'a')
  const child = run([PROGRAM, 'serve', ...flags], env, file)
  if (file !== undefined) closeSync(file)
  return contender(child, /^holdfast ready http:\/\/127\.0\.0\.1:(\d+)/)
}

export const startReference = (kind: 'memory' | 'lmdb' | 'file', path = ''): Promise<Contender> =>
  contender(run([here('reference-child.js'), kind, path]), /^reference ready (\d+)/)

export interface Plan {
  readonly asked: readonly Asked[]
  readonly connections: number
  readonly milliseconds?: number
  readonly answers?: number
  readonly bytesPerSecond?: number
}

/** Requests in a file, as the load generator reads them. */
export type Prepared = Pick<Load, 'file' | 'lengths' | 'bodiless'>

let prepared = 0

/** Signed for this host, so that every server that is called by this name accepts them. */
export function prepare(scene: Scene, host: string, asked: readonly Asked[], keys = KEYS): Prepared {
  const requests = asked.map(one => signedRequest(host, one, keys))
  const file = join(scene.folder, `requests-${++prepared}`)
  writeFileSync(file, Buffer.concat(requests))
  return { file, lengths: requests.map(({ length }) => length), bodiless: asked[0]?.method === 'HEAD' }
}

/** Puts the load on a server and says what came of it. */
export function load(scene: Scene, { port }: Contender, plan: Plan): Promise<Loaded> {
  return send([port], prepare(scene, `127.0.0.1:${port}`, plan.asked), plan)
}

/** The same with requests that are ready, spread over servers. */
export function send(ports: readonly number[], requests: Prepared, plan: Omit<Plan, 'asked'>): Promise<Loaded> {
  const what: Load = {
    ...requests,
    ports,
    connections: plan.connections,
    milliseconds: plan.milliseconds ?? 600_000,
    answers: plan.answers ?? Number.MAX_SAFE_INTEGER,
    bytesPerSecond: plan.bytesPerSecond ?? 0,
  }
  return resultOf(here('load-child.js'), what)
}

/** Runs a program with its orders as JSON, and returns the JSON that it prints. */
export async function resultOf<Orders>(program: string, orders: Orders): Promise<Loaded> {
  const child = spawn(process.execPath, [...process.execArgv, program, JSON.stringify(orders)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', chunk => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the load ended with ${code}`)
  return JSON.parse(text) as Loaded
}

/** A figure that the kernel keeps for each process of a server, of the process where it is largest. */
function largestMegabytes({ pid }: Contender, figure: 'VmHWM' | 'RssAnon'): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  const figures = [pid, ...children].map(one => {
    const line = new RegExp(`${figure}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${one}/status`, 'utf8'))
    return (Number(line![1]) * 1024) / 1e6
  })
  return Math.max(...figures)
}

/** The most memory that any process of a server ever had. */
export const peakMegabytes = (server: Contender): number => largestMegabytes(server, 'VmHWM')

/** Memory of a process now, without pages of files that it has mapped: the system can drop those at any time. */
export const ownMegabytes = (server: Contender): number => largestMegabytes(server, 'RssAnon')
