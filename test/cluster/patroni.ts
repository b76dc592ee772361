/**
 * PostgreSQL with a synchronous standby under Patroni, as plain processes in a temporary folder. It needs Debian's
 * packages postgresql, patroni and etcd-server; PostgreSQL does not run as root, so the nodes run as postgres.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../ceph/cluster.ts'
import { Daemon, runTool } from '../ceph/daemon.ts'

const START_MS = 90_000
const POLL_MS = 250
const SERVER_PROGRAMS = '/usr/lib/postgresql'

export interface PatroniOptions {
  readonly nodes: number
  /** The address of all nodes. */
  readonly address: string
  /** The network that may connect. */
  readonly clients: string
  /** False lets the primary acknowledge commits that no standby has. */
  readonly isSynchronous: boolean
}

const ON_LOOPBACK: PatroniOptions = { nodes: 2, address: '127.0.0.1', clients: '127.0.0.1/32', isSynchronous: true }

interface Node {
  readonly name: string
  readonly port: number
  readonly rest: number
  readonly data: string
  daemon: Daemon | undefined
}

interface SeenNode {
  readonly name: string
  readonly role: string
  readonly state: string
}

function newestServer(): string {
  const versions = readdirSync(SERVER_PROGRAMS).sort((a, b) => Number(a) - Number(b))
  return join(SERVER_PROGRAMS, versions.at(-1)!, 'bin')
}

/** JSON is YAML. */
function configuration(
  { name, port, rest, data }: Node,
  etcd: number,
  folder: string,
  options: PatroniOptions,
): string {
  const { address, clients, isSynchronous } = options
  return JSON.stringify({
    scope: 'holdfast',
    name,
    restapi: { listen: `${address}:${rest}`, connect_address: `${address}:${rest}` },
    etcd3: { host: `${address}:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        master_start_timeout: 0,
        maximum_lag_on_failover: 2 ** 30,
        synchronous_mode: isSynchronous,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 100, wal_retrieve_retry_interval: '100ms', wal_keep_size: '256MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `${address}:${port}`,
      connect_address: `${address}:${port}`,
      data_dir: data,
      bin_dir: newestServer(),
      pgpass: join(folder, `${name}.pass`),
      pg_hba: [`host all all ${clients} trust`, `host replication all ${clients} trust`],
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
      parameters: { unix_socket_directories: folder, password_encryption: 'scram-sha-256' },
    },
  })
}

export async function startPatroni(options: Partial<PatroniOptions> = {}): Promise<Patroni> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-patroni-'))
  const patroni = new Patroni(folder, { ...ON_LOOPBACK, ...options })
  try {
    await patroni.start()
    return patroni
  } catch (error) {
    await patroni.stop()
    throw error
  }
}

export class Patroni {
  readonly #folder: string
  readonly #options: PatroniOptions
  readonly #nodes: Node[] = []
  #etcd: Daemon | undefined

  constructor(folder: string, options: PatroniOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** All addresses; clients find the primary among them. */
  get url(): string {
    const { address } = this.#options
    return `postgres://postgres@${this.#nodes.map(({ port }) => `${address}:${port}`).join(',')}/postgres`
  }

  async start(): Promise<void> {
    const folder = this.#folder
    const { address, nodes } = this.#options
    const [client, peer] = [await freePort(), await freePort()]
    const [clientUrl, peerUrl] = [`http://${address}:${client}`, `http://${address}:${peer}`]
    this.#etcd = new Daemon(
      'etcd',
      'etcd',
      [
        ...[
          '--data-dir',
          join(folder, 'etcd'),
          '--listen-client-urls',
          clientUrl,
          '--advertise-client-urls',
          clientUrl,
        ],
        ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
        ...['--initial-cluster', `default=${peerUrl}`, '--log-level', 'error'],
      ],
      folder,
    )
    await this.#until('etcd answers', async () => (await fetch(`${clientUrl}/health`)).ok)
    for (let i = 0; i < nodes; i++) {
      const name = `pg${i}`
      const node = { name, port: await freePort(), rest: await freePort(), data: join(folder, name), daemon: undefined }
      await mkdir(node.data)
      await writeFile(join(folder, `${name}.yml`), configuration(node, client, folder, this.#options))
      this.#nodes.push(node)
    }
    await promisify(execFile)('chown', ['-R', 'postgres', folder])
    await promisify(execFile)('chmod', ['755', folder])
    for (const node of this.#nodes) {
      await promisify(execFile)('chmod', ['700', node.data])
      this.#startNode(node)
    }
    await this.untilWhole()
  }

  #startNode(node: Node): void {
    const asPostgres = ['--reuid=postgres', '--regid=postgres', '--clear-groups', 'env', 'LC_ALL=C']
    const program = ['patroni', join(this.#folder, `${node.name}.yml`)]
    node.daemon = new Daemon(node.name, 'setpriv', [...asPostgres, ...program], this.#folder)
  }

  async #seen(): Promise<readonly SeenNode[]> {
    for (const { rest } of this.#nodes) {
      try {
        const response = await fetch(`http://${this.#options.address}:${rest}/cluster`, {
          signal: AbortSignal.timeout(2_000),
        })
        return ((await response.json()) as { members: SeenNode[] }).members
      } catch {}
    }
    return []
  }

  /** Resolves when there is a primary and a synchronous standby. */
  untilWhole(): Promise<void> {
    const standby = this.#options.isSynchronous ? 'sync_standby' : 'replica'
    return this.#until('a primary and a synchronous standby run', async () => {
      const seen = await this.#seen()
      const roles = seen.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role)
      return roles.includes('leader') && (this.#nodes.length === 1 || roles.includes(standby))
    })
  }

  async #primary(): Promise<Node | undefined> {
    const leader = (await this.#seen()).find(({ role }) => role === 'leader')
    return this.#nodes.find(({ name }) => name === leader?.name)
  }

  /** Kills the server process of the primary, and resolves when Patroni has promoted the standby. */
  async killPrimary(): Promise<void> {
    const node = await this.#primary()
    if (node === undefined) throw new Error('Patroni knows no primary')
    const pid = Number((await readFile(join(node.data, 'postmaster.pid'), 'utf8')).split('\n')[0])
    process.kill(pid, 'SIGKILL')
    await this.#until('another primary is there', async () => ![undefined, node].includes(await this.#primary()))
  }

  /** No packet of the connection of the standby to the primary arrives any more; neither notices at once. */
  async cutStandbyOff(): Promise<void> {
    const primary = (await this.#primary())!
    const server = ['-h', this.#options.address, '-p', String(primary.port), '-U', 'postgres']
    const query = ['-A', '-t', '-c', 'SELECT client_port FROM pg_stat_replication']
    const port = (await runTool(join(newestServer(), 'psql'), [...server, ...query])).trim()
    const rules = `tcp sport ${port} drop; tcp dport ${port} drop;`
    await runTool('nft', [`table inet standby { chain input { type filter hook input priority 0; ${rules} }; }`])
  }

  async #until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_MS
    while (!(await isDone().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`Patroni: ${what}: not after ${START_MS} ms`)
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map(({ daemon }) => daemon?.stop()))
    await this.#etcd?.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}
