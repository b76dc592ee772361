/**
 * A real Ceph as plain processes of this user in a temporary folder: one monitor, one manager and some OSDs on
 * loopback, without authentication. It needs Debian's packages ceph-mon, ceph-mgr, ceph-osd and ceph-common.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Daemon, runTool } from './daemon.ts'

export interface CephOptions {
  readonly osds: number
  /** `memstore` starts faster; `bluestore` stores on a file as in production. */
  readonly store?: 'bluestore' | 'memstore'
  /** Size of each OSD. */
  readonly osdBytes?: number
  /** The address of all daemons; loopback when absent. */
  readonly address?: string
}

export interface PoolOptions {
  /** Number of copies; 3 when absent. */
  readonly size?: number
  readonly minSize?: number
  readonly placementGroups?: number
}

const LOOPBACK = '127.0.0.1'
const START_MS = 120_000
const POLL_MS = 250
/** The kernel hands out ports from 32768 on by itself. */
const PORTS = [20_000, 32_000] as const
const PLACEMENT_GROUPS = 8

const takenPorts = new Set<number>()

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = randomInt(PORTS[0], PORTS[1])
    // A port that was handed out need not be in use yet.
    if (takenPorts.has(port)) continue
    takenPorts.add(port)
    const isFree = await new Promise<boolean>(resolve => {
      const server = createServer()
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
  throw new Error('no free port was found')
}

function configuration(folder: string, fsid: string, port: number, options: CephOptions): string {
  const { osds, store = 'bluestore', osdBytes = 4 * 2 ** 30, address = LOOPBACK } = options
  const settings = {
    fsid,
    mon_host: `[v2:${address}:${port}/0]`,
    mon_initial_members: 'a',
    public_addr: address,
    auth_cluster_required: 'none',
    auth_service_required: 'none',
    auth_client_required: 'none',
    run_dir: folder,
    admin_socket: '',
    log_file: `${folder}/$name.log`,
    mon_cluster_log_file: `${folder}/cluster.log`,
    mon_data: `${folder}/mon`,
    mgr_data: `${folder}/mgr`,
    osd_data: `${folder}/osd.$id`,
    osd_objectstore: store,
    bluestore_block_size: osdBytes,
    memstore_device_bytes: osdBytes,
    osd_memory_target: 939_524_096,
    osd_pool_default_size: Math.min(3, osds),
    osd_pool_default_min_size: Math.min(2, osds),
    osd_pool_default_pg_autoscale_mode: 'off',
    // All OSDs are on one host.
    osd_crush_chooseleaf_type: 0,
    osd_crush_update_on_start: false,
    osd_heartbeat_interval: 2,
    osd_heartbeat_grace: 6,
    mon_osd_min_down_reporters: 1,
    mon_allow_pool_delete: true,
    mon_allow_pool_size_one: true,
    // The pools of tests are small, and the disk below them may be nearly full.
    mon_data_avail_crit: 1,
    mon_data_avail_warn: 1,
    mgr_stats_period: 1,
    mon_tick_interval: 1,
  }
  return ['[global]', ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`), ''].join('\n')
}

export async function startCeph(options: CephOptions): Promise<Ceph> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-ceph-'))
  const ceph = new Ceph(folder)
  try {
    await ceph.start(options)
    return ceph
  } catch (error) {
    await ceph.stop()
    throw error
  }
}

export class Ceph {
  /** The configuration file for clients. */
  readonly conf: string
  readonly #folder: string
  readonly #daemons: Daemon[] = []
  readonly #osds = new Map<number, Daemon>()

  constructor(folder: string) {
    this.#folder = folder
    this.conf = join(folder, 'ceph.conf')
  }

  async start(options: CephOptions): Promise<void> {
    const [fsid, port] = [randomUUID(), await freePort()]
    await writeFile(this.conf, configuration(this.#folder, fsid, port, options))
    for (const name of ['mon', 'mgr']) await mkdir(join(this.#folder, name))
    const map = join(this.#folder, 'monmap')
    await runTool('monmaptool', [
      '--create',
      '--fsid',
      fsid,
      '--addv',
      'a',
      `[v2:${options.address ?? LOOPBACK}:${port}]`,
      map,
    ])
    await runTool('ceph-mon', ['--conf', this.conf, '--mkfs', '-i', 'a', '--monmap', map])
    this.#daemons.push(this.#daemon('mon.a', 'ceph-mon', ['-f', '-i', 'a']))
    await this.command('mon', 'enable-msgr2')
    this.#daemons.push(this.#daemon('mgr.x', 'ceph-mgr', ['-f', '-i', 'x']))
    for (let id = 0; id < options.osds; id++) await this.#createOsd(id)
    await this.#until('all OSDs are up', async () => (await this.osdsUp()) === options.osds)
  }

  #daemon(name: string, program: string, args: readonly string[]): Daemon {
    return new Daemon(name, program, ['--conf', this.conf, ...args], this.#folder)
  }

  async #createOsd(id: number): Promise<void> {
    const uuid = randomUUID()
    await mkdir(join(this.#folder, `osd.${id}`))
    await this.command('osd', 'new', uuid, String(id))
    await this.command('osd', 'crush', 'add', `osd.${id}`, '1', 'root=default')
    await runTool('ceph-osd', ['--conf', this.conf, '--mkfs', '-i', String(id), '--osd-uuid', uuid])
    this.startOsd(id)
  }

  startOsd(id: number): void {
    assert(this.#osds.get(id)?.isRunning !== true, `osd.${id} is running`)
    this.#osds.set(id, this.#daemon(`osd.${id}`, 'ceph-osd', ['-f', '-i', String(id)]))
  }

  /** Resolves when the process has ended. */
  async killOsd(id: number): Promise<void> {
    await this.#osds.get(id)!.stop('SIGKILL')
  }

  /** Sends a command to the monitors and returns their output, which is JSON. */
  async command(...args: readonly string[]): Promise<string> {
    return runTool('ceph', ['--conf', this.conf, '--connect-timeout', '30', '--format', 'json', ...args])
  }

  get osdPids(): readonly number[] {
    return [...this.#osds.values()].map(({ pid }) => pid)
  }

  async osdsUp(): Promise<number> {
    const found = JSON.parse(await this.command('osd', 'stat')) as { num_up_osds: number }
    return found.num_up_osds
  }

  /** Resolves when the pool can be written. */
  async createPool(name: string, options: PoolOptions = {}): Promise<void> {
    const { size, minSize, placementGroups = PLACEMENT_GROUPS } = options
    const groups = String(placementGroups)
    await this.command('osd', 'pool', 'create', name, groups, groups, 'replicated')
    if (size !== undefined) {
      const confirm = size === 1 ? ['--yes-i-really-mean-it'] : []
      await this.command('osd', 'pool', 'set', name, 'size', String(size), ...confirm)
      await this.command('osd', 'pool', 'set', name, 'min_size', String(minSize ?? Math.min(2, size)))
    }
    await this.command('osd', 'pool', 'application', 'enable', name, 'holdfast')
    await this.untilClean()
  }

  /** Zero removes the quota. */
  async setQuota(pool: string, bytes: number): Promise<void> {
    await this.command('osd', 'pool', 'set-quota', pool, 'max_bytes', String(bytes))
  }

  /** Resolves when every placement group has all its copies. */
  async untilClean(): Promise<void> {
    await this.#until('all placement groups are clean', async () => {
      const { pg_summary: summary } = JSON.parse(await this.command('pg', 'stat')) as {
        pg_summary: { num_pgs: number; num_pg_by_state: { name: string; num: number }[] }
      }
      const clean = summary.num_pg_by_state.filter(({ name }) => /^active\+clean(\+|$)/.test(name))
      return summary.num_pgs > 0 && clean.reduce((sum, { num }) => sum + num, 0) === summary.num_pgs
    })
  }

  async untilUp(osds: number): Promise<void> {
    await this.#until(`${osds} OSDs are up`, async () => (await this.osdsUp()) === osds)
  }

  async #until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_MS
    while (!(await isDone())) {
      const ended = [...this.#daemons, ...this.#osds.values()].find(({ isRunning }) => !isRunning)
      if (performance.now() > deadline) {
        throw new Error(
          `Ceph: ${what}: not after ${START_MS} ms${ended === undefined ? '' : `, and ${ended.name} ended`}`,
        )
      }
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }

  /** Ends every process and removes the folder. */
  async stop(): Promise<void> {
    await Promise.all([...this.#daemons, ...this.#osds.values()].map(daemon => daemon.stop('SIGKILL')))
    await rm(this.#folder, { recursive: true, force: true })
  }
}
