/** The program with several workers in a separate process, and clients with separate connections. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ManualClock } from '../../src/lib/clock.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../../src/model/account.ts'
import { PROGRAM } from '../entry-point.ts'
import { BASE_HOST, Client, type Who } from '../http/server.ts'

export const ROOT: Who = {
  accessKey: 'AKROOT',
  secretKey: 'secret-of-root',
  accountId: ROOT_ACCOUNT_ID,
  canonicalId: canonicalIdOf(ROOT_ACCOUNT_ID),
}

export const BUCKET = 'bucket'
const POLL_MS = 20
const POLL_MS_MAX = 30_000

/** Waits until a condition holds; fails on timeout. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await isSo()); waited += POLL_MS) {
    if (waited > POLL_MS_MAX) assert.fail(`never so: ${what}`)
    await wait(POLL_MS)
  }
}

/** A client with one keep-alive connection. */
export function clientOf(port: number, agent = new Agent({ keepAlive: true, maxSockets: 1 })): Client {
  return new Client('s3', new ManualClock(Date.now()), port, agent)
}

export class Program {
  readonly child: ChildProcess
  readonly folder: string
  #out = ''
  #errors = ''

  constructor(folder: string, ...more: readonly string[]) {
    this.folder = folder
    const listen = ['--listen', '127.0.0.1:0', '--console', 'off', '--base-host', BASE_HOST]
    const args = ['serve', '--data', folder, ...listen, '--buckets', BUCKET, '--durability', 'os', ...more]
    this.child = spawn(process.execPath, [PROGRAM, ...args], {
      env: { ...process.env, HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A separate process group: a signal to the whole group must not reach the tests.
      detached: true,
    })
    this.child.stdout!.on('data', chunk => {
      this.#out += String(chunk)
    })
    this.child.stderr!.on('data', chunk => {
      this.#errors += String(chunk)
    })
  }

  static async start(folder: string, ...more: readonly string[]): Promise<Program> {
    const program = new Program(folder, '--workers', '2', ...more)
    await until('it is ready, or has ended', () => program.#out.includes('\n') || program.child.exitCode !== null)
    assert.equal(program.child.exitCode, null, program.errors)
    return program
  }

  get out(): string {
    return this.#out
  }

  get errors(): string {
    return this.#errors
  }

  get port(): number {
    const port = /^holdfast ready https?:\/\/127\.0\.0\.1:(\d+) /.exec(this.#out)?.[1]
    assert(port !== undefined, this.#out)
    return Number(port)
  }

  client(): Client {
    return clientOf(this.port)
  }

  /** Process ids of the live workers. */
  workers(): number[] {
    const tasks = `/proc/${this.child.pid}/task`
    return readdirSync(tasks).flatMap(task => {
      try {
        const children = readFileSync(join(tasks, task, 'children'), 'utf8')
        return children.split(' ').filter(Boolean).map(Number)
      } catch {
        // The thread has just ended; its children now belong to another.
        return []
      }
    })
  }

  /** Returns its exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    // A stopped worker keeps its output open, and outlives a supervisor that is killed.
    const ended = once(this.child, signal === 'SIGKILL' ? 'exit' : 'close')
    this.child.kill(signal)
    return (await ended)[0]
  }
}

export async function withProgram(
  folder: string,
  use: (program: Program) => Promise<void>,
  ...more: readonly string[]
): Promise<void> {
  const program = await Program.start(folder, ...more)
  try {
    await use(program)
  } finally {
    await program.end('SIGKILL')
  }
}

/** A zombie counts as dead. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Solo files below the data folder. */
export function solosIn(folder: string): string[] {
  return readdirSync(join(folder, 'blobs', 'solo'), { recursive: true, encoding: 'utf8' }).filter(name =>
    /[0-9a-f]{32}$/.test(name),
  )
}

export const socketsIn = (folder: string): string[] =>
  readdirSync(folder).filter(name => /^worker-.*\.sock$/.test(name))
