/** PostgreSQL under Patroni, a Ceph and the gateways above them, with their addresses on one bridge. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Ceph, startCeph } from '../ceph/cluster.ts'
import { BUCKET, GatewayProcess, LOCKED, ROOT } from './gateways.ts'
import { BLOBS, createBridge, DATABASE, EVERY_HOST, Host } from './network.ts'
import { type Patroni, startPatroni } from './patroni.ts'

export const POOL = 'holdfast'
const GATEWAYS = 3
const WORKERS = 2
const OSDS = 3
const OSD_BYTES = 4 * 2 ** 30
const SERVES_MS = 120_000
const EXPELLED_MS = 60_000
const POLL_MS = 250
/** Too large to be stored with the metadata. */
const PROBE = Buffer.alloc(100_000)
const COMMAND_MS = 300_000
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js')

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
export const log = (line: string): void =>
  console.log(`${(performance.now() / 1000).toFixed(1).padStart(7)} s  ${line}`)

export interface ClusterOptions {
  /** The program of the gateways; the one that was built, when absent. */
  readonly main?: string
  readonly isSynchronous?: boolean
}

interface ClusterView {
  readonly leader?: string
  readonly members: readonly { readonly address: string }[]
}

export class Cluster {
  readonly patroni: Patroni
  readonly ceph: Ceph
  readonly gateways: GatewayProcess[] = []
  readonly #folder: string
  readonly #flags: readonly string[]
  /** Gateways that ended although nothing had killed them. */
  unexpectedEnds = 0

  private constructor(folder: string, patroni: Patroni, ceph: Ceph, keyFile: string) {
    this.#folder = folder
    this.patroni = patroni
    this.ceph = ceph
    this.#flags = [
      ...['--cluster', 'test', '--cluster-key-file', keyFile, '--meta', patroni.url],
      ...['--blobs', `rados://${POOL}?conf=${ceph.conf}`],
    ]
  }

  static async start({ main = MAIN, isSynchronous = true }: ClusterOptions = {}): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'gateways-'))
    const keyFile = join(folder, 'cluster-key')
    await writeFile(keyFile, randomBytes(32).toString('hex'))
    await createBridge()
    const [patroni, ceph] = await Promise.all([
      startPatroni({ address: DATABASE, clients: EVERY_HOST, isSynchronous }),
      startCeph({ osds: OSDS, osdBytes: OSD_BYTES, address: BLOBS }),
    ])
    await ceph.createPool(POOL, { size: OSDS, minSize: 2 })
    log('PostgreSQL and Ceph are up')
    const cluster = new Cluster(folder, patroni, ceph, keyFile)
    await cluster.#createGateways(main)
    log(`${GATEWAYS} gateways serve`)
    return cluster
  }

  async #createGateways(main: string): Promise<void> {
    for (let i = 0; i < GATEWAYS; i++) {
      const host = await Host.create(i)
      const folder = join(this.#folder, host.name)
      const flags = [...this.#flags, '--buckets', BUCKET]
      this.gateways.push(new GatewayProcess({ host, folder, flags, workers: WORKERS, main }))
    }
    await this.startGateways()
    const client = this.gateways[0]!.client(LOCKED)
    await client.request({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
    client.close()
  }

  async startGateways(): Promise<void> {
    for (const gateway of this.gateways) await gateway.start()
  }

  async stopGateways(): Promise<void> {
    await Promise.all(this.gateways.map(gateway => gateway.stop()))
  }

  /** Resolves when a write through every gateway is acknowledged. One that has ended is started again. */
  async untilServing(): Promise<void> {
    for (const gateway of this.gateways) {
      if (!gateway.isRunning) {
        this.unexpectedEnds++
        log(`${gateway.name} had ended by itself: ${gateway.lastLines.trim().split('\n').at(-1)}`)
        await gateway.start()
      }
      const client = gateway.client(BUCKET)
      await until(`${gateway.name} serves`, SERVES_MS, async () => {
        await client.requestOnce({ method: 'PUT', key: 'probe', body: PROBE })
        return true
      })
      client.close()
    }
  }

  /** Runs a command of the program and returns its output. */
  async command(...words: readonly string[]): Promise<string> {
    const env = { ...process.env, HOLDFAST_ACCESS_KEY: ROOT.accessKey, HOLDFAST_SECRET_KEY: ROOT.secretKey }
    return (await promisify(execFile)(process.execPath, [MAIN, ...words], { env, timeout: COMMAND_MS })).stdout
  }

  async #seen(through: GatewayProcess): Promise<ClusterView> {
    return JSON.parse(
      await this.command('cluster', 'status', '--json', '--endpoint', through.consoleUrl),
    ) as ClusterView
  }

  async leader(): Promise<GatewayProcess> {
    const { leader } = await this.#seen(this.gateways[0]!)
    return this.gateways.find(({ address }) => leader?.endsWith(address)) ?? this.gateways[0]!
  }

  /** Resolves when the others no longer count it as a member. */
  async untilExpelled(gateway: GatewayProcess): Promise<void> {
    const other = this.gateways.find(one => one !== gateway)!
    await until(`${gateway.name} is expelled`, EXPELLED_MS, async () => {
      const { members } = await this.#seen(other)
      return members.every(({ address }) => !address.endsWith(gateway.address))
    })
  }

  /** The others in the eyes of one. */
  othersOf(gateway: GatewayProcess): readonly string[] {
    return this.gateways.filter(one => one !== gateway).map(({ host }) => host.address)
  }

  /** The problems of the store. No gateway may run. */
  async faultsAtRest(): Promise<string[]> {
    const folder = join(this.#folder, 'at-rest')
    const wrong: string[] = []
    for (const words of [
      ['fsck', '--deep'],
      ['ledger', 'verify', LOCKED],
    ]) {
      await this.command(...words, '--data', folder, ...this.#flags).then(
        report => log(`${words.join(' ')}: ${report.trim().split('\n').slice(0, 3).join(', ')}`),
        (error: Error & { stdout?: string }) =>
          wrong.push(`${words.join(' ')}: ${error.message} ${error.stdout ?? ''}`),
      )
    }
    return wrong
  }
}

/** A condition that throws does not hold yet. */
export async function until(what: string, limitMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + limitMs
  let lastError: Error | undefined
  const holds = (): Promise<boolean> =>
    isTrue().catch((error: Error) => {
      lastError = error
      return false
    })
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not after ${limitMs / 1000} s: ${lastError?.message}`)
    await pause(POLL_MS)
  }
}
