/**
 * Many gateways in one process: real store code over simulated metadata, bytes, clocks and network, with crashes,
 * pauses, partitions and late messages. A seed decides everything, so a failure can be replayed.
 */
import assert from 'node:assert/strict'
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { readCluster } from '../../src/store/cluster/cluster-records.ts'
import { Expelled, expel } from '../../src/store/cluster/membership.ts'
import { Store } from '../../src/store/store.ts'
import { assertWhole, chance, makeBucket, oneOf, settle } from '../store/fixture.ts'
import { Clients, LOCKED, PLAIN } from './clients.ts'
import { Database } from './database.ts'
import { ALL_MECHANISMS, BLOBS, Gateway, KEYS, LIMITS, type Mechanisms, type SharedGround } from './gateway.ts'
import { Scheduler } from './scheduler.ts'

export interface SimulationOptions {
  readonly seed: number
  readonly gateways: number
  readonly mechanisms?: Mechanisms
}

export interface SimulationResult {
  readonly violations: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly calls: number
  readonly held: number
}

const CLIENTS = 4
const RUN_MS = 40_000
/** Longer than any message takes. */
const QUIET_MS = 30_000
const LIMIT_MS = 1_000_000
const FAULT_PAUSE_MS = 2_500

const FAULTS = ['kill', 'suspend', 'cut off metadata', 'cut off bytes', 'expel', 'fail over'] as const

class World {
  readonly #ground: SharedGround
  readonly #database: Database
  readonly #random: Random
  readonly #scheduler: Scheduler
  readonly #clients: Clients
  readonly #count: number
  #gateways: Gateway[] = []
  #isOver = false
  readonly faults: Record<string, number> = Object.fromEntries(FAULTS.map(fault => [fault, 0]))

  constructor(ground: SharedGround, database: Database, count: number) {
    this.#ground = ground
    this.#database = database
    this.#random = ground.random
    this.#scheduler = ground.scheduler
    this.#count = count
    this.#clients = new Clients(ground.scheduler, ground.random, () =>
      this.#gateways.filter(one => !one.machine.isDead),
    )
    this.#clients.membersNow = async () => [...(await readCluster(ground.meta)).members.keys()]
  }

  async run(): Promise<Clients> {
    for (let i = 0; i < this.#count; i++) this.#gateways.push(await this.#start())
    const store = await reopen(this.#ground)
    await makeBucket(store, PLAIN)
    await makeBucket(store, LOCKED, 'locked')
    const clients = Array.from({ length: CLIENTS }, () => this.#clients.run())
    const others = [this.#breakThings(), this.#replaceLost()]
    await this.#scheduler.sleep(RUN_MS)
    this.#isOver = true
    this.#clients.isOver = true
    await Promise.all([...clients, ...others])
    for (const { machine } of this.#gateways) {
      machine.resume()
      machine.die()
    }
    await this.#scheduler.sleep(QUIET_MS)
    return this.#clients
  }

  /** A gateway whose messages are late is expelled before it serves, and joins again. */
  async #start(): Promise<Gateway> {
    for (;;) {
      try {
        return await Gateway.start(this.#ground)
      } catch (error) {
        if (!(error instanceof Expelled)) throw error
      }
    }
  }

  /** Expelled and dead gateways are replaced by new ones. */
  async #replaceLost(): Promise<void> {
    while (!this.#isOver) {
      await this.#scheduler.sleep(this.#random.fraction() * 2_000)
      const lost = this.#gateways.filter(gateway => !gateway.isServing)
      // An expelled one goes on as a zombie for a while: its clients may still use it.
      this.#gateways = this.#gateways.filter(
        one => one.isServing || (!one.machine.isDead && this.#random.fraction() < 0.5),
      )
      for (let i = this.#gateways.length; i < this.#count && lost.length > 0; i++) {
        this.#gateways.push(await this.#start())
      }
    }
  }

  async #breakThings(): Promise<void> {
    while (!this.#isOver) {
      await this.#scheduler.sleep(this.#random.fraction() * FAULT_PAUSE_MS)
      const serving = this.#gateways.filter(gateway => gateway.isServing)
      if (serving.length === 0) continue
      const fault = oneOf(this.#random, FAULTS)
      this.faults[fault]!++
      await this.#break(oneOf(this.#random, serving), fault)
    }
  }

  /** For a while nobody reaches the database; what was on its way may or may not have been committed. */
  async #failOver(): Promise<void> {
    const cut = this.#gateways.filter(({ machine }) => !machine.isCutOff.meta)
    for (const { machine } of cut) machine.isCutOff.meta = true
    if (!this.#ground.mechanisms.synchronousStandby) await this.#database.loseRecent()
    this.#scheduler.after(3_000 * this.#random.fraction(), () => {
      for (const { machine } of cut) machine.isCutOff.meta = false
    })
  }

  async #break({ machine, membership }: Gateway, fault: (typeof FAULTS)[number]): Promise<void> {
    const forSome = (ms: number, end: () => void): void => this.#scheduler.after(ms * this.#random.fraction(), end)
    if (fault === 'kill') machine.die()
    else if (fault === 'fail over') await this.#failOver()
    else if (fault === 'suspend') {
      machine.suspend()
      forSome(12_000, () => machine.resume())
    } else if (fault === 'expel') {
      const member = (await readCluster(this.#ground.meta)).members.get(membership.id.toString('hex'))
      if (member !== undefined) await expel(this.#ground.meta, member)
    } else {
      const what = fault === 'cut off bytes' ? 'disk' : 'meta'
      machine.isCutOff[what] = true
      forSome(8_000, () => {
        machine.isCutOff[what] = false
      })
    }
  }
}

/** A store of its own over what the gateways have left. */
async function reopen({ meta, disk, random }: SharedGround): Promise<Store> {
  const ids = new Ids(random)
  const blobs = await openBlobs({ disk, folder: BLOBS, writer: ids.writer, ...LIMITS })
  const keyring = await Keyring.open({ storage: keyringInFolder(disk, KEYS), random })
  return Store.open({ meta, blobs, keyring, clock: new ManualClock(), random, ids })
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, gateways, mechanisms = ALL_MECHANISMS } = options
  const random = chance(seed)
  const scheduler = new Scheduler()
  const database = new Database(await openMemoryMeta(), scheduler)
  const ground = { scheduler, random, meta: database.meta, disk: new MemoryDisk(), mechanisms }
  await ground.disk.makeFolder(KEYS)
  const world = new World(ground, database, gateways)
  const done: { clients?: Clients; error?: unknown } = {}
  world.run().then(
    clients => Object.assign(done, { clients }),
    (error: unknown) => Object.assign(done, { error }),
  )
  await scheduler.runUntil(() => done.clients !== undefined || done.error !== undefined, LIMIT_MS)
  if (done.clients === undefined) throw done.error
  const { clients } = done
  const violations = clients.violations
  const store = await reopen(ground)
  const check = async (what: string, work: () => Promise<void>): Promise<void> => {
    await work().catch((error: Error) => void violations.push(`${what}: ${error.message}`))
  }
  await check('reading everything at the end', () => clients.readAll(store))
  await check('maintenance at the end', () => settle(store))
  await check('the store at the end', () => assertWhole(store))
  await check('reading everything after maintenance', () => clients.readAll(store))
  for (const key of clients.history.broken()) violations.push(`no order of calls explains the history of ${key}`)
  assert.ok(clients.history.size > 0)
  return { violations, faults: world.faults, calls: clients.history.size, held: clients.heldCount }
}
