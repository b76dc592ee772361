/**
 * `npm run test:cluster -- [--faults N]`: three gateways with two workers each on PostgreSQL under Patroni and on a
 * Ceph with three OSDs; clients of mixed load; then one fault after the other. At the end nothing acknowledged is lost,
 * nothing wrong was read, no held version is gone, all counts are right, and one order of calls explains each key's
 * history.
 */
import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type Ceph, freePort, startCeph } from '../ceph/cluster.ts'
import { BUCKET, GatewayProcess, LOCKED, ROOT } from './gateways.ts'
import { Load } from './load.ts'
import { type Patroni, startPatroni } from './patroni.ts'

const { values } = parseArgs({ options: { faults: { type: 'string', default: '30' } } })
const FAULTS_WANTED = Number(values.faults)
const GATEWAYS = 3
const CLIENTS = 4
const POOL = 'holdfast'
/** Beyond expulsion. */
const SUSPENDED_MS = 16_000
const CALM_MS = 2_000
const SERVES_MS = 90_000
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js')

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const log = (line: string): void => console.log(`${(performance.now() / 1000).toFixed(1).padStart(7)} s  ${line}`)

class Cluster {
  readonly folder: string
  readonly patroni: Patroni
  readonly ceph: Ceph
  readonly flags: readonly string[]
  readonly gateways: GatewayProcess[] = []

  constructor(folder: string, patroni: Patroni, ceph: Ceph, keyFile: string) {
    this.folder = folder
    this.patroni = patroni
    this.ceph = ceph
    this.flags = [
      ...['--cluster', 'test', '--cluster-key-file', keyFile, '--meta', patroni.url],
      ...['--blobs', `rados://${POOL}?conf=${ceph.conf}`],
    ]
  }

  async startGateways(): Promise<void> {
    for (let i = 0; i < GATEWAYS; i++) {
      const [port, consolePort] = [await freePort(), await freePort()]
      const flags = [...this.flags, '--buckets', BUCKET]
      const folder = join(this.folder, `gateway-${i}`)
      const gateway = new GatewayProcess({ name: `gateway-${i}`, folder, port, consolePort, flags, workers: 2 })
      await gateway.start()
      this.gateways.push(gateway)
    }
    const client = this.gateways[0]!.client(LOCKED)
    await client.request({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
    client.close()
  }

  /** Resolves when a write through every gateway is acknowledged. */
  async untilServing(): Promise<void> {
    for (const gateway of this.gateways) {
      const client = gateway.client(BUCKET)
      const deadline = performance.now() + SERVES_MS
      for (;;) {
        const failure = await client.requestOnce({ method: 'PUT', key: 'probe', body: Buffer.from('probe') }).then(
          () => undefined,
          (error: Error) => error,
        )
        if (failure === undefined) break
        if (performance.now() > deadline) throw new Error(`${gateway.name} does not serve: ${failure.message}`)
        await pause(250)
      }
      client.close()
    }
  }

  async command(...words: readonly string[]): Promise<string> {
    const env = { ...process.env, HOLDFAST_ACCESS_KEY: ROOT.accessKey, HOLDFAST_SECRET_KEY: ROOT.secretKey }
    return (await promisify(execFile)(process.execPath, [MAIN, ...words], { env, timeout: 120_000 })).stdout
  }

  async leader(): Promise<GatewayProcess> {
    const text = await this.command('cluster', 'status', '--json', '--endpoint', this.gateways[0]!.consoleUrl)
    const { leader } = JSON.parse(text) as { leader?: string }
    return this.gateways.find(({ port }) => leader?.endsWith(`:${port}`)) ?? this.gateways[0]!
  }

  async stop(): Promise<void> {
    await Promise.all(this.gateways.map(gateway => gateway.kill()))
    await this.patroni.stop()
    await this.ceph.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

const any = (cluster: Cluster): GatewayProcess => cluster.gateways[randomInt(GATEWAYS)]!

async function restart(gateway: GatewayProcess): Promise<void> {
  await gateway.kill()
  await pause(randomInt(3_000))
  await gateway.start()
}

const FAULTS: Readonly<Record<string, (cluster: Cluster) => Promise<void>>> = {
  'kill a gateway': cluster => restart(any(cluster)),
  'kill the leader': async cluster => restart(await cluster.leader()),
  'kill a worker': async cluster => {
    const { workers } = any(cluster)
    if (workers.length > 0) process.kill(workers[randomInt(workers.length)]!, 'SIGKILL')
  },
  'suspend a gateway beyond expulsion': async cluster => {
    const gateway = any(cluster)
    gateway.signalAll('SIGSTOP')
    await pause(SUSPENDED_MS)
    gateway.signalAll('SIGCONT')
  },
  'kill the primary of PostgreSQL': async ({ patroni }) => {
    await patroni.killPrimary()
    await patroni.untilWhole()
  },
  'kill an OSD': async ({ ceph }) => {
    const osd = randomInt(3)
    await ceph.killOsd(osd)
    await pause(3_000)
    ceph.startOsd(osd)
    await ceph.untilUp(3)
  },
}

async function checkAtRest(cluster: Cluster, load: Load): Promise<void> {
  await load.readAll(any(cluster))
  for (const key of load.history.broken()) load.violations.push(`no order of calls explains the history of ${key}`)
  await Promise.all(cluster.gateways.map(gateway => gateway.stop()))
  const folder = join(cluster.folder, 'fsck')
  const report = await cluster.command('fsck', '--deep', '--data', folder, ...cluster.flags).catch((error: Error) => {
    load.violations.push(`fsck: ${error.message}`)
    return ''
  })
  log(`fsck: ${report.trim().split('\n').slice(0, 3).join(', ')}`)
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cluster-'))
  const keyFile = join(folder, 'cluster-key')
  await writeFile(keyFile, randomBytes(32).toString('hex'))
  const [patroni, ceph] = await Promise.all([
    startPatroni(),
    startCeph({ osds: 3, store: 'memstore', osdBytes: 2 ** 31 }),
  ])
  const cluster = new Cluster(folder, patroni, ceph, keyFile)
  let failed = 0
  try {
    await ceph.createPool(POOL, { size: 3, minSize: 2 })
    log('PostgreSQL and Ceph are up')
    await cluster.startGateways()
    const load = new Load(cluster.gateways)
    const clients = Array.from({ length: CLIENTS }, (_, number) => load.client(number))
    const names = Object.keys(FAULTS)
    for (let i = 0; i < FAULTS_WANTED; i++) {
      await pause(CALM_MS)
      const name = i < names.length ? names[i]! : names[randomInt(names.length)]!
      const before = load.acknowledged
      const started = performance.now()
      await FAULTS[name]!(cluster)
      await cluster.untilServing()
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      log(`${name}: serving after ${seconds} s, ${load.acknowledged - before} calls acknowledged meanwhile`)
      if (load.violations.length > 0) break
    }
    load.isOver = true
    await Promise.all(clients)
    await cluster.untilServing()
    await checkAtRest(cluster, load)
    for (const violation of load.violations) console.log(`violation: ${violation}`)
    failed = load.violations.length
    log(`${load.calls} calls, ${load.acknowledged} acknowledged, ${load.held} versions held`)
  } finally {
    await cluster.stop()
  }
  console.log(`${FAULTS_WANTED} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

// The processes that were started end with this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
await main()
