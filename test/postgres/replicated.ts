/** A primary with a synchronous standby, and the ways in which a primary is lost. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const bin = process.env.HOLDFAST_POSTGRES_BIN
/** A command that drops the rights of root, as words. */
const dropRights = (process.env.HOLDFAST_POSTGRES_AS ?? '').split(' ').filter(Boolean)
/** Undefined when the tests are not run through `run.sh`. */
export const canReplicate = bin !== undefined

const START_MS_MAX = 60_000

async function run(program: string, ...args: readonly string[]): Promise<void> {
  const [command, ...rest] = [...dropRights, join(bin!, program), ...args]
  await promisify(execFile)(command!, rest, { timeout: START_MS_MAX })
}

/** Below 32768, where the kernel gives out no ports by itself. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    try {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      return port
    } catch {
    } finally {
      server.close()
    }
  }
}

class Node {
  readonly data: string
  readonly port: number
  #process: ChildProcess | undefined

  constructor(data: string, port: number) {
    this.data = data
    this.port = port
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async query<T>(text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(text)).rows as T[]
    } finally {
      await client.end().catch(() => {})
    }
  }

  async start(): Promise<void> {
    const settings = [
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.data}`,
      'wal_retrieve_retry_interval=100ms',
      'max_connections=60',
      'fsync=on',
    ].flatMap(setting => ['-c', setting])
    const args = [...dropRights, join(bin!, 'postgres'), '-D', this.data, '-p', String(this.port), ...settings]
    this.#process = spawn(args[0]!, args.slice(1), { stdio: 'ignore' })
    await this.#until(async () => (await this.query('SELECT 1')).length === 1, 'the server does not answer')
  }

  async #until(isTrue: () => Promise<boolean>, failure: string): Promise<void> {
    for (const endsAt = performance.now() + START_MS_MAX; performance.now() < endsAt; ) {
      if (await isTrue().catch(() => false)) return
      await new Promise(resolve => setImmediate(resolve))
    }
    throw new Error(failure)
  }

  untilSynchronous(): Promise<void> {
    const isSync = async (): Promise<boolean> =>
      (await this.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 1
    return this.#until(isSync, 'the standby does not attach')
  }

  /** The server and its processes, which are in sessions of their own. */
  async #pids(): Promise<readonly number[]> {
    const { pid } = this.#process!
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return [pid!, ...children.split(' ').filter(Boolean).map(Number)]
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.#pids()) process.kill(pid, signal)
  }

  hang(): Promise<void> {
    return this.#signal('SIGSTOP')
  }

  resume(): Promise<void> {
    return this.#signal('SIGCONT')
  }

  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const pids = await this.#pids()
    const ended = once(child, 'exit')
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
    await ended
  }

  promote(): Promise<void> {
    return run('pg_ctl', '-D', this.data, '-w', '-t', '30', 'promote')
  }

  /** Becomes a standby of another server, with a new copy of its data. */
  async follow(other: Node): Promise<void> {
    await rm(this.data, { recursive: true, force: true })
    const copy = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync']
    await run('pg_basebackup', '-h', '127.0.0.1', '-p', String(other.port), '-U', 'postgres', '-D', this.data, ...copy)
    await this.start()
  }
}

export interface Replicated {
  readonly primary: Node
  readonly standby: Node
  /** Names both servers. */
  readonly url: string
}

export async function withReplication(use: (cluster: Replicated) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(process.env.HOLDFAST_POSTGRES_FOLDER!, 'replicated-'))
  if (dropRights.length > 0) await promisify(execFile)('chown', ['postgres', folder])
  const primary = new Node(join(folder, 'one'), await freePort())
  const standby = new Node(join(folder, 'two'), await freePort())
  try {
    await run('initdb', '-D', primary.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync')
    await primary.start()
    await standby.follow(primary)
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await primary.query('SELECT pg_reload_conf()')
    await primary.untilSynchronous()
    const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
    await use({ primary, standby, url })
  } finally {
    await Promise.all([primary.resume().catch(() => {}), standby.resume().catch(() => {})])
    await Promise.all([primary.kill(), standby.kill()])
    await rm(folder, { recursive: true, force: true })
  }
}
