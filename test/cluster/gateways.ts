/** Gateways as processes of their own, each on a host of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { S3Client } from '../../src/s3/client.ts'
import type { Host } from './network.ts'

export const ROOT = { accessKey: 'cluster-test-root', secretKey: 'cluster-test-secret' }
export const BUCKET = 'bucket'
export const LOCKED = 'locked'
const REGION = 'us-east-1'
const PORT = 9000
const CONSOLE_PORT = 9001
/** A gateway that does not answer for this long is given up by clients, as by a load balancer. */
const SILENCE_MS = 20_000
const START_MS = 120_000
const LIBRARIES = '/usr/lib'

export interface GatewayOptions {
  readonly host: Host
  readonly folder: string
  readonly flags: readonly string[]
  readonly workers: number
  /** The program that it runs. */
  readonly main: string
}

/** Variables that make a process see a clock that is this many seconds off. */
function clockOff(seconds: number): NodeJS.ProcessEnv {
  const library = readdirSync(LIBRARIES).map(name => join(LIBRARIES, name, 'faketime', 'libfaketime.so.1'))
  return {
    LD_PRELOAD: library.find(path => existsSync(path))!,
    FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

export class GatewayProcess {
  readonly #options: GatewayOptions
  #process: ChildProcess | undefined
  /** The end of what it has logged. */
  lastLines = ''

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  get name(): string {
    return this.host.name
  }

  get host(): Host {
    return this.#options.host
  }

  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** As the addresses that members print end. */
  get address(): string {
    return `${this.host.address}:${PORT}`
  }

  get consoleUrl(): string {
    return `http://${this.host.address}:${CONSOLE_PORT}`
  }

  client(bucket: string, silenceMsMax = SILENCE_MS): S3Client {
    const endpoint = new URL(`http://${this.address}`)
    return new S3Client({ endpoint, bucket, region: REGION, key: ROOT, inFlight: 8, silenceMsMax })
  }

  /** Resolves when it serves. */
  async start(secondsOff = 0): Promise<void> {
    const { folder, flags, workers, main, host } = this.#options
    const own = ['--data', folder, '--listen', this.address, '--console', `${host.address}:${CONSOLE_PORT}`]
    const serve = [main, 'serve', ...own, '--workers', String(workers), ...flags]
    const child = spawn(...host.command(process.execPath, serve), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...(secondsOff === 0 ? {} : clockOff(secondsOff)),
        HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey,
        HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey,
      },
    })
    this.#process = child
    this.lastLines = ''
    child.stderr.on('data', (text: Buffer) => {
      this.lastLines = (this.lastLines + text.toString()).slice(-2_000)
      void appendFile(`${folder}.log`, text)
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), START_MS)
    try {
      for await (const line of createInterface(child.stdout)) if (line.startsWith('holdfast ready ')) return
    } finally {
      clearTimeout(timer)
    }
    throw new Error(`${this.name} ended before it served: ${this.lastLines}`)
  }

  /** Process ids of its workers. */
  get workers(): readonly number[] {
    const { pid } = this.#process!
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === undefined || !this.isRunning) return
    const exited = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    await exited
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** Suspends the server and its workers, or lets them go on. */
  signalAll(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const pid of [this.#process!.pid!, ...this.workers]) process.kill(pid, signal)
  }
}
