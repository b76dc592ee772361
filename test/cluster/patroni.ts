/**
 * PostgreSQL with a synchronous standby under Patroni, as plain processes in a temporary folder on loopback. It needs
 * Debian's packages postgresql, patroni and etcd-server; PostgreSQL does not run as root, so the nodes run as postgres.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../ceph/cluster.ts'
import { Daemon } from '../ceph/daemon.ts'

const START_MS = 90_000
const POLL_MS = 250
const SERVER_PROGRAMS = '/usr/lib/postgresql'

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
const configuration = ({ name, port, rest, data }: Node, etcd: number, folder: string): string =>
  JSON.stringify({
    scope: 'holdfast',
    name,
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        master_start_timeout: 0,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 100, wal_retrieve_retry_interval: '100ms', wal_keep_size: '256MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir: newestServer(),
      pgpass: join(folder, `${name}.pass`),
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
      parameters: { unix_socket_directories: folder, password_encryption: 'scram-sha-256' },
    },
  })

export async function startPatroni(nodes = 2): Promise<Patroni> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-patroni-'))
  const patroni = new Patroni(folder)
  try {
    await patroni.start(nodes)
    return patroni
  } catch (error) {
    await patroni.stop()
    throw error
  }
}

export class Patroni {
  readonly #folder: string
  readonly #nodes: Node[] = []
  #etcd: Daemon | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** All addresses; clients find the primary among them. */
  get url(): string {
    return `postgres://postgres@${this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres`
  }

  async start(count: number): Promise<void> {
    const folder = this.#folder
    const [client, peer] = [await freePort(), await freePort()]
    const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`]
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
    for (let i = 0; i < count; i++) {
      const name = `pg${i}`
      const node = { name, port: await freePort(), rest: await freePort(), data: join(folder, name), daemon: undefined }
      await mkdir(node.data)
      await writeFile(join(folder, `${name}.yml`), configuration(node, client, folder))
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
        const response = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal: AbortSignal.timeout(2_000) })
        return ((await response.json()) as { members: SeenNode[] }).members
      } catch {}
    }
    return []
  }

  /** Resolves when there is a primary and a synchronous standby. */
  untilWhole(): Promise<void> {
    return this.#until('a primary and a synchronous standby run', async () => {
      const seen = await this.#seen()
      const roles = seen.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role)
      return roles.includes('leader') && (this.#nodes.length === 1 || roles.includes('sync_standby'))
    })
  }

  /** Kills the server process of the primary; Patroni promotes the standby. */
  async killPrimary(): Promise<void> {
    const leader = (await this.#seen()).find(({ role }) => role === 'leader')
    const node = this.#nodes.find(({ name }) => name === leader?.name)
    if (node === undefined) throw new Error('Patroni knows no primary')
    const pid = Number((await readFile(join(node.data, 'postmaster.pid'), 'utf8')).split('\n')[0])
    process.kill(pid, 'SIGKILL')
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
