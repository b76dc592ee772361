/** Gateways as processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { S3Client } from '../../src/s3/client.ts'

export const ROOT = { accessKey: 'cluster-test-root', secretKey: 'cluster-test-secret' }
export const BUCKET = 'bucket'
export const LOCKED = 'locked'
const REGION = 'us-east-1'
/** A gateway that does not answer for this long is given up by clients, as by a load balancer. */
const SILENCE_MS = 20_000
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js')

export interface GatewayOptions {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly consolePort: number
  readonly flags: readonly string[]
  readonly workers: number
}

export class GatewayProcess {
  readonly #options: GatewayOptions
  #process: ChildProcess | undefined
  isSuspended = false

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  get port(): number {
    return this.#options.port
  }

  get consoleUrl(): string {
    return `http://127.0.0.1:${this.#options.consolePort}`
  }

  client(bucket: string): S3Client {
    const endpoint = new URL(`http://127.0.0.1:${this.#options.port}`)
    return new S3Client({ endpoint, bucket, region: REGION, key: ROOT, inFlight: 8, silenceMsMax: SILENCE_MS })
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const { folder, port, consolePort, flags, workers } = this.#options
    const own = ['--data', folder, '--listen', `127.0.0.1:${port}`, '--console', `127.0.0.1:${consolePort}`]
    const child = spawn(process.execPath, [MAIN, 'serve', ...own, '--workers', String(workers), ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey },
    })
    this.#process = child
    process.once('exit', () => child.kill('SIGKILL'))
    child.stderr.on('data', (text: Buffer) => void appendFile(`${folder}.log`, text).catch(() => {}))
    for await (const line of createInterface(child.stdout)) if (line.startsWith('holdfast ready ')) return
    throw new Error(`gateway ${this.name} ended before it served: see ${folder}.log`)
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
    this.isSuspended = signal === 'SIGSTOP'
    for (const pid of [this.#process!.pid!, ...this.workers]) process.kill(pid, signal)
  }
}
