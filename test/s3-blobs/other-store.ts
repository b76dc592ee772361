/** Other S3 servers in processes of their own, which a test may kill and start again on the same port and folder. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { S3Client } from '../../src/s3/client.ts'
import { launch } from '../cli/program.ts'

export interface OtherStore {
  readonly name: string
  /** Its process, as it is started in this folder and on this port. */
  start(folder: string, port: number): Promise<ChildProcess>
}

export const OTHER_KEY = { accessKey: 'OTHERSTOREKEY', secretKey: 'the-secret-of-the-other-store' }
export const OTHER_BUCKET = 'below'

const READY_MS_MAX = 60_000
const POLL_MS = 50

/** The kernel hands out ports from 32768 on by itself. */
const isListening = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const settle = (is: boolean) => (): void => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', settle(true)).once('error', settle(false))
  })

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (!(await isListening(port))) return port
  }
}

export const holdfastBelow: OtherStore = {
  name: 'another Holdfast',
  async start(folder, port) {
    const args = ['serve', '--data', folder, '--listen', `127.0.0.1:${port}`, '--console', 'off', '--workers', '1']
    const { accessKey, secretKey } = OTHER_KEY
    return launch(args, { HOLDFAST_ROOT_ACCESS_KEY: accessKey, HOLDFAST_ROOT_SECRET_KEY: secretKey })
  },
}

export const versitygwBelow = (program: string): OtherStore => ({
  name: 'versitygw',
  async start(folder, port) {
    const { accessKey, secretKey } = OTHER_KEY
    for (const name of ['data', 'uploads']) await mkdir(join(folder, name), { recursive: true })
    const args = [
      '--quiet',
      '--keep-alive',
      '--port',
      `127.0.0.1:${port}`,
      '--access',
      accessKey,
      '--secret',
      secretKey,
    ]
    return spawn(program, [...args, 'posix', join(folder, 'data')], { stdio: ['ignore', 'pipe', 'pipe'] })
  },
})

export class RunningStore {
  readonly endpoint: string
  readonly #store: OtherStore
  readonly #folder: string
  readonly #port: number
  #child: ChildProcess | undefined
  #said = ''

  private constructor(store: OtherStore, folder: string, port: number) {
    this.#store = store
    this.#folder = folder
    this.#port = port
    this.endpoint = `http://127.0.0.1:${port}`
  }

  /** With an empty bucket. */
  static async start(store: OtherStore, folder: string): Promise<RunningStore> {
    await mkdir(folder, { recursive: true })
    const running = new RunningStore(store, folder, await freePort())
    await running.start()
    const client = running.client()
    await client.request({ method: 'PUT' })
    client.close()
    return running
  }

  client(): S3Client {
    const endpoint = new URL(this.endpoint)
    return new S3Client({ endpoint, bucket: OTHER_BUCKET, region: 'us-east-1', key: OTHER_KEY, inFlight: 64 })
  }

  /** An address for `--blobs` with a prefix of its own. */
  newPlace(): string {
    return `s3://${OTHER_BUCKET}/${randomUUID()}?endpoint=${this.endpoint}`
  }

  async start(): Promise<void> {
    const child = await this.#store.start(this.#folder, this.#port)
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => (this.#said += String(text)))
    process.once('exit', this.#killNow)
    for (let waited = 0; !(await isListening(this.#port)); waited += POLL_MS) {
      assert(child.exitCode === null && waited < READY_MS_MAX, `${this.#store.name} did not start: ${this.#said}`)
      await wait(POLL_MS)
    }
  }

  readonly #killNow = (): void => void this.#child?.kill('SIGKILL')

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    process.off('exit', this.#killNow)
  }
}
