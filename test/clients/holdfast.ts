/**
 * A Holdfast server in a separate process, as a user would start it. Its log is kept, so that a round can be examined.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { engineFlags } from '../engines.ts'
import { BASE_HOST, KEYS, REGION } from './world.ts'

export type LogLine = Readonly<Record<string, unknown>>

export interface Served {
  readonly url: string
  readonly port: number
  /** The CA file for the server's certificate; empty without TLS. */
  readonly authority: string
  readonly log: readonly LogLine[]
  stop(): Promise<void>
}

export interface Starting {
  /** The program and the arguments before our own. */
  readonly command: readonly string[]
  readonly data: string
  /** Neither a region nor a base host is set. */
  readonly asItComes?: boolean
  readonly tls?: { readonly cert: string; readonly key: string }
}

const READY_MS_MAX = 30_000
const STOP_MS_MAX = 40_000

function environment(): Record<string, string> {
  const { PATH = '' } = process.env
  return { PATH, HOLDFAST_ROOT_ACCESS_KEY: KEYS.accessKey, HOLDFAST_ROOT_SECRET_KEY: KEYS.secretKey }
}

export async function startHoldfast({ command, data, tls, asItComes = false }: Starting): Promise<Served> {
  const [program = '', ...before] = command
  const flags = ['--data', data, '--listen', `${asItComes ? '0.0.0.0' : '127.0.0.1'}:0`, '--console', 'off']
  flags.push(...(await engineFlags(data)))
  if (!asItComes) flags.push('--region', REGION, '--base-host', BASE_HOST)
  if (tls !== undefined) flags.push('--tls-cert', tls.cert, '--tls-key', tls.key)
  const child = spawn(program, [...before, 'serve', ...flags], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const log: LogLine[] = []
  createInterface(child.stderr).on('line', line => log.push(parsed(line)))
  const url = await ready(child.stdout, ended, log).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  // The server must not outlive this program, however it ends.
  const endWithUs = (): boolean => child.kill('SIGKILL')
  process.once('exit', endWithUs)
  return {
    url: url.replace('0.0.0.0', '127.0.0.1'),
    port: Number(new URL(url).port),
    authority: tls?.cert ?? '',
    log,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      const [code] = await ended
      clearTimeout(timer)
      process.removeListener('exit', endWithUs)
      if (code !== 0) throw new Error(`the server ended with ${code}`)
    },
  }
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return { level: 'text', line }
  }
}

function ready(stdout: NodeJS.ReadableStream, ended: Promise<unknown[]>, log: readonly LogLine[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server was not ready in time')), READY_MS_MAX)
    void ended.then(() => reject(new Error(`the server ended at once: ${JSON.stringify(log)}`)))
    createInterface(stdout).on('line', line => {
      const url = /^holdfast ready (\S+)/.exec(line)?.[1]
      if (url === undefined) return
      clearTimeout(timer)
      resolve(url)
    })
  })
}
