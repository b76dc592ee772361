/**
 * The servers that are compared: three gateways on PostgreSQL with a synchronous standby and on Ceph with three OSDs,
 * radosgw on the same Ceph, and one server with a folder.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Ceph, freePort, startCeph } from '../../test/ceph/cluster.ts'
import { Daemon, runTool } from '../../test/ceph/daemon.ts'
import { type Replicated, withReplication } from '../../test/postgres/replicated.ts'
import { type Contender, prepare, send, startHoldfast } from '../http/processes.ts'
import { KEYS } from '../http/signed.ts'
import type { Scene } from '../scene.ts'

const GATEWAYS = 3
export const POOL = 'holdfast'
/** As many as radosgw gives its own pools. */
const PLACEMENT_GROUPS = 32
const OSD_BYTES = 24 * 2 ** 30
/** Every server is called by this name, so that all of them get the same requests. */
export const HOST = 'gateway'
const READY_MS_MAX = 60_000

export interface Stage {
  readonly scene: Scene
  readonly ceph: Ceph
  readonly postgres: Replicated
  readonly gateways: readonly Contender[]
  readonly radosgw: Contender
  readonly single: Contender
}

export const postmaster = (folder: string): number =>
  Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])

async function startGateways(scene: Scene, postgres: Replicated, ceph: Ceph): Promise<readonly Contender[]> {
  const keyFile = join(scene.newFolder('key'), 'cluster-key')
  writeFileSync(keyFile, randomBytes(32).toString('hex'))
  const flags = [
    ...['--cluster', 'bench', '--cluster-key-file', keyFile, '--meta', postgres.url],
    ...['--blobs', `rados://${POOL}?conf=${ceph.conf}`],
  ]
  const gateways: Contender[] = []
  for (let i = 0; i < GATEWAYS; i++) gateways.push(await startHoldfast(scene, { flags }))
  return gateways
}

const accepts = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const settle = (is: boolean) => (): void => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', settle(true)).once('error', settle(false))
  })

async function startRadosgw(scene: Scene, ceph: Ceph): Promise<Contender> {
  const user = ['--uid', 'bench', '--display-name', 'bench']
  const keys = ['--access-key', KEYS.accessKey, '--secret-key', KEYS.secretKey]
  await runTool('radosgw-admin', ['--conf', ceph.conf, 'user', 'create', ...user, ...keys])
  const port = await freePort()
  // It insists on a secure connection by itself, which needs the authentication that this Ceph does not have.
  const connection = ['--name', 'client.admin', '--ms-mon-client-mode', 'crc', '--auth-client-required', 'none']
  const frontend = ['--rgw-frontends', `beast endpoint=127.0.0.1:${port}`]
  const daemon = new Daemon(
    'radosgw',
    'radosgw',
    ['-f', '--conf', ceph.conf, ...connection, ...frontend],
    scene.newFolder('radosgw'),
  )
  for (const endsAt = performance.now() + READY_MS_MAX; !(await accepts(port)); await pause(100)) {
    if (!daemon.isRunning || performance.now() > endsAt) throw new Error('radosgw does not start')
  }
  const makeBucket = prepare(scene, HOST, [{ method: 'PUT', path: '/bench' }])
  await send([port], makeBucket, { connections: 1, answers: 1 })
  return { port, pid: daemon.pid, stop: () => daemon.stop() }
}

/** Starts everything, lets `use` measure, and ends everything. */
export async function withStage(scene: Scene, use: (stage: Stage) => Promise<void>): Promise<void> {
  const ceph = await startCeph({ osds: 3, store: 'bluestore', osdBytes: OSD_BYTES })
  try {
    await ceph.createPool(POOL, { size: 3, minSize: 2, placementGroups: PLACEMENT_GROUPS })
    await withReplication(async postgres => {
      const servers: Contender[] = []
      try {
        const gateways = await startGateways(scene, postgres, ceph)
        servers.push(...gateways)
        const radosgw = await startRadosgw(scene, ceph)
        servers.push(radosgw)
        const single = await startHoldfast(scene)
        servers.push(single)
        await use({ scene, ceph, postgres, gateways, radosgw, single })
      } finally {
        await Promise.all(servers.map(server => server.stop()))
      }
    })
  } finally {
    await ceph.stop()
  }
}
