/** The servers that are compared. Each is started as its manual says, with an empty store and the bucket `bench`. */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { RUNTIME } from '../../src/lib/runtime.ts'
import { freePort } from '../../test/ceph/cluster.ts'
import { startHoldfast } from '../http/processes.ts'
import { KEYS, REGION, signedRequest } from '../http/signed.ts'
import type { Scene } from '../scene.ts'

const READY_MS_MAX = 30_000
/** Garage makes ids and secrets of its own form. */
const GARAGE_KEYS = { accessKey: `GK${'b'.repeat(24)}`, secretKey: 'b'.repeat(64) }

export interface Peer {
  readonly name: string
  readonly version: string
  readonly port: number
  readonly pid: number
  readonly keys: typeof KEYS
  /** A plain file server, which has neither signatures nor writes, serves this folder: it is the measure for reads. */
  readonly folder?: string
  stop(): Promise<void>
}

type Start = (scene: Scene, program: string) => Promise<Omit<Peer, 'version'>>

interface Process {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
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

/** Runs until it is stopped; ready when it accepts connections. */
async function run(port: number, { program, args, env = {} }: Process): Promise<Pick<Peer, 'port' | 'pid' | 'stop'>> {
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  const ended = once(child, 'exit')
  const endWithUs = (): boolean => child.kill('SIGKILL')
  process.once('exit', endWithUs)
  const deadline = performance.now() + READY_MS_MAX
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${program} does not start`)
    await pause(50)
  }
  return {
    port,
    pid: child.pid!,
    async stop() {
      process.removeListener('exit', endWithUs)
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function createBucket({ port, keys }: Pick<Peer, 'port' | 'keys'>): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(signedRequest(`127.0.0.1:${port}`, { method: 'PUT', path: '/bench' }, keys))
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`no bucket: ${head.toString()}`)
}

const holdfast: Start = async scene => {
  const server = await startHoldfast(scene, { workers: 'default' })
  return { name: 'Holdfast', keys: KEYS, ...server }
}

const versitygw: Start = async (scene, program) => {
  const port = await freePort()
  // It closes every connection and logs every request unless told otherwise.
  const flags = ['--port', `127.0.0.1:${port}`, '--region', REGION, '--keep-alive', '--quiet']
  const env = { ROOT_ACCESS_KEY: KEYS.accessKey, ROOT_SECRET_KEY: KEYS.secretKey }
  const server = await run(port, { program, args: [...flags, 'posix', scene.newFolder('versitygw')], env })
  await created({ port, keys: KEYS })
  return { name: 'versitygw', keys: KEYS, ...server }
}

const minio: Start = async (scene, program) => {
  const port = await freePort()
  const env = { MINIO_ROOT_USER: KEYS.accessKey, MINIO_ROOT_PASSWORD: KEYS.secretKey, MINIO_UPDATE: 'off' }
  const args = ['server', '--quiet', '--address', `127.0.0.1:${port}`, scene.newFolder('minio')]
  const server = await run(port, { program, args, env })
  await created({ port, keys: KEYS })
  return { name: 'MinIO', keys: KEYS, ...server }
}

/** A server that accepts connections may still be preparing its store. */
async function created(server: Pick<Peer, 'port' | 'keys'>): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  for (;;) {
    try {
      return await createBucket(server)
    } catch (error) {
      if (performance.now() > deadline) throw error
      await pause(200)
    }
  }
}

const garage: Start = async (scene, program) => {
  const folder = scene.newFolder('garage')
  const [port, rpc] = [await freePort(), await freePort()]
  const config = join(folder, 'garage.toml')
  const lines = [
    `metadata_dir = "${folder}/meta"`,
    `data_dir = "${folder}/data"`,
    'db_engine = "lmdb"',
    'replication_factor = 1',
    `rpc_bind_addr = "127.0.0.1:${rpc}"`,
    `rpc_public_addr = "127.0.0.1:${rpc}"`,
    `rpc_secret = "${randomBytes(32).toString('hex')}"`,
    '[s3_api]',
    `s3_region = "${REGION}"`,
    `api_bind_addr = "127.0.0.1:${port}"`,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const server = await run(port, { program, args: ['-c', config, 'server'], env: { RUST_LOG: 'error' } })
  const tell = (...args: string[]): string =>
    execFileSync(program, ['-c', config, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const node = tell('node', 'id', '-q').trim().split('@')[0]!
  tell('layout', 'assign', '-z', 'here', '-c', '100G', node)
  tell('layout', 'apply', '--version', '1')
  tell('key', 'import', '--yes', GARAGE_KEYS.accessKey, GARAGE_KEYS.secretKey)
  tell('bucket', 'create', 'bench')
  tell('bucket', 'allow', '--read', '--write', '--owner', 'bench', '--key', GARAGE_KEYS.accessKey)
  return { name: 'Garage', keys: GARAGE_KEYS, ...server }
}

const nginx: Start = async (scene, program) => {
  const folder = scene.newFolder('nginx')
  mkdirSync(join(folder, 'bench'))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map(kind => `${kind}_temp_path ${folder}/${kind};`).join('\n')
  const listen = `server { listen 127.0.0.1:${port}; location / { root ${folder}; } }`
  writeFileSync(
    config,
    `user root; worker_processes auto; daemon off; pid ${folder}/pid; error_log ${folder}/error;
events {}
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
${paths}
${listen} }
`,
  )
  const server = await run(port, { program, args: ['-c', config, '-p', folder] })
  return { name: 'nginx', keys: KEYS, folder, ...server }
}

/** By the environment variable that names the program; another one may name its version. */
const STARTS: Readonly<Record<string, Start>> = {
  HOLDFAST_VERSITYGW: versitygw,
  HOLDFAST_MINIO: minio,
  HOLDFAST_GARAGE: garage,
  HOLDFAST_NGINX: nginx,
}

export async function startPeers(scene: Scene): Promise<readonly Peer[]> {
  const peers: Peer[] = [{ ...(await holdfast(scene, '')), version: RUNTIME }]
  for (const [variable, start] of Object.entries(STARTS)) {
    const program = process.env[variable]
    if (program === undefined) process.stderr.write(`${variable} is not set: left out\n`)
    else peers.push({ ...(await start(scene, program)), version: process.env[`${variable}_VERSION`] ?? '' })
  }
  return peers
}
