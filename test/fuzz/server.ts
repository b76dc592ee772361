/** A server as a user starts it: a separate process, a folder, a free port. Also measures its resources. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { engineFlags, onEngines } from '../engines.ts'
import type { Descriptors } from './descriptors.ts'

export interface Figures {
  /** Open descriptors, by process. */
  readonly descriptors: ReadonlyMap<number, Descriptors>
  /** Private memory, by process; mapped files are not counted. */
  readonly bytes: ReadonlyMap<number, number>
}

export interface Server {
  readonly port: number
  readonly consolePort: number
  /** Errors that the server logged, and why it exited if it has. */
  readonly complaints: readonly string[]
  /** Undefined where the system does not report them. */
  figures(): Figures | undefined
  stop(): Promise<number | null>
}

export interface Starting {
  /** The program and the arguments before our own. */
  readonly command: readonly string[]
  readonly data: string
  readonly accounts: string
  readonly baseHost: string
  readonly rootKey: { readonly accessKey: string; readonly secretKey: string }
}

const READY_MS_MAX = 30_000
const STOP_MS_MAX = 40_000

export async function startServer({ command, data, accounts, baseHost, rootKey }: Starting): Promise<Server> {
  const [program = '', ...before] = command
  const listen = ['--listen', '127.0.0.1:0', '--console', '127.0.0.1:0']
  // Durability is not tested here: a disk kept busy by others must not look like a hanging server.
  const flags = ['--data', data, ...listen, '--accounts', accounts, '--durability', 'os', ...(await engineFlags(data))]
  const { PATH = '' } = process.env
  const child = spawn(program, [...before, 'serve', '--base-host', baseHost, ...flags], {
    env: { PATH, HOLDFAST_ROOT_ACCESS_KEY: rootKey.accessKey, HOLDFAST_ROOT_SECRET_KEY: rootKey.secretKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const complaints: string[] = []
  let isStopping = false
  createInterface(child.stderr).on('line', line => {
    // Every request is a log line, and the program has a few messages of its own; anything else is an error.
    const isUsual = line.startsWith('{') ? !line.includes('"level":"error"') : line.startsWith('holdfast: ')
    if (!isUsual) complaints.push(line)
  })
  const ended = once(child, 'exit')
  void ended.then(([code, signal]) => isStopping || complaints.push(`the server ended by itself: ${code ?? signal}`))
  const endWithUs = (): boolean => child.kill('SIGKILL')
  process.once('exit', endWithUs)
  const [port, consolePort] = await ready(child, complaints)
  return {
    port,
    consolePort,
    complaints,
    // Connections to engines come and go.
    figures: () => (onEngines ? undefined : figuresOf(child.pid!)),
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      const [code] = (await ended) as [number | null]
      clearTimeout(timer)
      process.removeListener('exit', endWithUs)
      return code
    },
  }
}

function ready(child: ChildProcess, complaints: readonly string[]): Promise<[number, number]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server was not ready in time')), READY_MS_MAX)
    child.once('exit', () => reject(new Error(`the server ended at once: ${complaints.join('\n')}`)))
    createInterface(child.stdout!).on('line', line => {
      const [, port, console] = /^holdfast ready http:\/\/[^ ]*:(\d+) console http:\/\/[^ ]*:(\d+)/.exec(line) ?? []
      if (port === undefined) return
      clearTimeout(timer)
      resolve([Number(port), Number(console)])
    })
  })
}

/** The process and all its descendants. */
function family(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`
  if (!existsSync(path)) return [pid]
  const children = readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}

function figuresOf(pid: number): Figures | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return undefined
  const descriptors = new Map<number, Descriptors>()
  const bytes = new Map<number, number>()
  for (const one of family(pid)) {
    descriptors.set(one, descriptorsOf(one))
    const kib = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1]
    bytes.set(one, Number(kib ?? 0) * 1024)
  }
  return { descriptors, bytes }
}

function descriptorsOf(pid: number): Descriptors {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).flatMap(name => {
    try {
      return [readlinkSync(`${folder}/${name}`)]
    } catch {
      // It was closed in between.
      return []
    }
  })
}
