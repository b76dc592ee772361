/** One workload on one, two and three gateways, on radosgw, on one server with a folder, and on the bare engines. */
import { join } from 'node:path'
import type { Loaded } from '../http/load-child.ts'
import { type Prepared, prepare, resultOf, send } from '../http/processes.ts'
import { aloneRow, inTurns, median, type Row, rowOf } from '../measure.ts'
import { processorMs } from '../processor-time.ts'
import type { Group } from '../suite.ts'
import type { RawWork } from './raw-child.ts'
import { HOST, POOL, postmaster, type Stage } from './stage.ts'
import type { Workload } from './workloads.ts'

/** Processes whose time is counted apart. */
type Parts = Readonly<Record<string, readonly number[]>>

/** Requests a second, and microseconds of processor time for one of them. */
interface Figures {
  readonly rate: number
  readonly time: Readonly<Record<string, number>>
}

const WORDS = new Map([
  ['get', 'op/s'],
  ['put', 'op/s'],
  ['list', 'page/s'],
])
const MIB = 2 ** 20

/** Commits are batches: each takes a number from one sequence. */
interface Counters {
  readonly walBytes: number
  readonly commits: number
}

class Comparison {
  readonly #stage: Stage
  readonly #workload: Workload
  readonly #requests: Prepared
  readonly #plan: { readonly connections: number; readonly milliseconds: number; readonly answers: number }
  readonly #engines: Parts

  constructor(stage: Stage, workload: Workload) {
    this.#stage = stage
    this.#workload = workload
    this.#requests = prepare(stage.scene, HOST, workload.asked)
    const milliseconds = workload.answers === undefined ? (stage.scene.quick ? 300 : 800) : 600_000
    const answers = workload.answers ?? Number.MAX_SAFE_INTEGER
    this.#plan = { connections: workload.connections, milliseconds, answers }
    this.#engines = {
      primary: [postmaster(stage.postgres.primary.data)],
      standby: [postmaster(stage.postgres.standby.data)],
      osds: stage.ceph.osdPids,
    }
  }

  async warmUp(): Promise<void> {
    const { scene, gateways, single } = this.#stage
    const { connections, warmUp } = this.#workload
    const plan = { connections, answers: scene.quick ? Math.min(connections, warmUp) : warmUp }
    for (const { port } of [...gateways, single]) await send([port], this.#requests, plan)
  }

  async fill(): Promise<void> {
    const { before } = this.#workload
    if (before === undefined) return
    const { scene, gateways, radosgw, single } = this.#stage
    const requests = prepare(scene, HOST, before)
    const plan = { connections: Math.min(64, before.length), answers: before.length }
    for (const { port } of [gateways[0]!, radosgw, single]) await send([port], requests, plan)
  }

  async #measured(parts: Parts, load: () => Promise<Loaded>): Promise<Figures> {
    const before = Object.entries(parts).map(([name, pids]) => ({ name, pids, ms: processorMs(pids) }))
    const { answers, milliseconds } = await load()
    const time = before.map(({ name, pids, ms }) => [name, ((processorMs(pids) - ms) * 1000) / answers])
    return { rate: (answers * 1000) / milliseconds, time: Object.fromEntries(time) }
  }

  byGateways(count: number): Promise<Figures> {
    const gateways = this.#stage.gateways.slice(0, count)
    const parts = { gateway: gateways.map(({ pid }) => pid), ...this.#engines }
    const ports = gateways.map(({ port }) => port)
    return this.#measured(parts, () => send(ports, this.#requests, this.#plan))
  }

  byRadosgw(): Promise<Figures> {
    const { port, pid } = this.#stage.radosgw
    const parts = { gateway: [pid], osds: this.#stage.ceph.osdPids }
    return this.#measured(parts, () => send([port], this.#requests, this.#plan))
  }

  bySingle(): Promise<Figures> {
    const { port, pid } = this.#stage.single
    return this.#measured({ gateway: [pid] }, () => send([port], this.#requests, this.#plan))
  }

  byEngines(): Promise<Figures> {
    const { ceph, postgres } = this.#stage
    const { kind, bytes, connections: width } = this.#workload
    const { milliseconds, answers } = this.#plan
    const work: RawWork = {
      ...{ kind, bytes, width, milliseconds, answers },
      ...{ url: postgres.primary.url, conf: ceph.conf, pool: POOL },
    }
    return this.#measured(this.#engines, () => resultOf(join(import.meta.dirname, 'raw-child.js'), work))
  }

  /** Counts of PostgreSQL for one request, apart from the turns. */
  async counts(): Promise<readonly Row[]> {
    const { name } = this.#workload
    const before = await this.#counters()
    const { answers } = await send([this.#stage.gateways[0]!.port], this.#requests, this.#plan)
    const after = await this.#counters()
    const perRequest = (counter: keyof Counters): number => Math.max(0, after[counter] - before[counter]) / answers
    return [
      aloneRow(`${name}-commits`, 'commit', perRequest('commits')),
      aloneRow(`${name}-wal-bytes`, 'bytes', perRequest('walBytes')),
    ]
  }

  async #counters(): Promise<Counters> {
    const { postgres } = this.#stage
    const [found] = await postgres.primary.query<{ bytes: string; commits: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes,
        (SELECT last_value FROM holdfast_meta_stamp) AS commits`,
    )
    return { walBytes: Number(found!.bytes), commits: Number(found!.commits) }
  }
}

const medianOf = (turns: readonly Figures[], figure: (turn: Figures) => number): number => median(turns.map(figure))

/** The workload's rows. */
export const compared =
  (workload: Workload): Group<Stage> =>
  async stage => {
    const { name, kind, bytes } = workload
    const comparison = new Comparison(stage, workload)
    await comparison.fill()
    await comparison.warmUp()
    const [one, two, three, radosgw, single, engines] = await inTurns(stage.scene.quick ? 1 : 4, [
      () => comparison.byGateways(1),
      () => comparison.byGateways(2),
      () => comparison.byGateways(3),
      () => comparison.byRadosgw(),
      () => comparison.bySingle(),
      () => comparison.byEngines(),
    ])
    const isLarge = workload.answers !== undefined
    const unit = isLarge ? 'MiB/s' : WORDS.get(kind)!
    const rate = (turns?: readonly Figures[]): number =>
      medianOf(turns!, turn => turn.rate) * (isLarge ? bytes / MIB : 1)
    const time = (part: string, turns?: readonly Figures[]): number => medianOf(turns!, turn => turn.time[part]!)
    const whole = (turns?: readonly Figures[]): number =>
      medianOf(turns!, turn => Object.values(turn.time).reduce((sum, us) => sum + us, 0))
    return [
      rowOf(`${name}-vs-radosgw`, unit, rate(one), rate(radosgw)),
      rowOf(`${name}-vs-engines`, unit, rate(one), rate(engines)),
      rowOf(`${name}-2-vs-1`, unit, rate(two), rate(one)),
      rowOf(`${name}-3-vs-1`, unit, rate(three), rate(one)),
      rowOf(`${name}-cpu-gateway`, 'µs', time('gateway', one), time('gateway', single)),
      rowOf(`${name}-cpu-gateway-of-3`, 'µs', time('gateway', three), time('gateway', single)),
      rowOf(`${name}-cpu-primary`, 'µs', time('primary', one), time('primary', engines)),
      ...(kind === 'put' ? [rowOf(`${name}-cpu-standby`, 'µs', time('standby', one), time('standby', engines))] : []),
      rowOf(`${name}-cpu-osds`, 'µs', time('osds', one), time('osds', radosgw)),
      rowOf(`${name}-cpu-whole`, 'µs', whole(one), whole(radosgw)),
      ...(kind === 'put' ? await comparison.counts() : []),
    ]
  }
