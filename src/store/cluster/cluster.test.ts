import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { openMemoryMeta } from '../../meta/memory/memory.ts'
import type { Meta, Minitransaction } from '../../meta/meta.ts'
import { FencedMeta } from '../commit/fenced-meta.ts'
import type { LocalBarrier } from './barriers.ts'
import { type BarrierKind, readCluster } from './cluster-records.ts'
import { type Joined, type JoinOptions, joinCluster, StoreInUse } from './join.ts'
import { Expelled, expel, LeadershipLost, type Membership } from './membership.ts'

const TIMING = { renewMs: 1_000, expelMs: 5_000 }
const [KEY, OTHER] = [Buffer.from('a'), Buffer.from('b')]
const write = (key: Buffer) => ({ checks: [], writes: [{ key, value: Buffer.from('1') }] })

/** Gateways that share records; each has a clock of its own. */
class Gateways {
  readonly meta: Meta
  #last = 0

  constructor(meta: Meta) {
    this.meta = meta
  }

  static async open(): Promise<Gateways> {
    return new Gateways(await openMemoryMeta())
  }

  async join(given: Partial<JoinOptions & { isExclusive: boolean; clock: ManualClock; serves: boolean }> = {}) {
    const clock = given.clock ?? new ManualClock()
    const id = Buffer.from(String(++this.#last).padStart(6, '0'))
    const { isExclusive = false, serves = true, ...options } = given
    const member = { address: `gateway-${this.#last}`, version: '1', isExclusive, socket: '' }
    const shared = { meta: this.meta, random: systemRandom, timing: TIMING, id, member, isKnownDead: async () => false }
    const joined: Joined = await joinCluster({ ...shared, ...options, clock })
    const gateway = new Gateway(joined, clock)
    if (serves) gateway.serve()
    return gateway
  }
}

class Gateway {
  readonly membership: Membership
  readonly clock: ManualClock
  readonly joined: Joined
  /** Barriers of each kind that have begun here, and those that something still holds up. */
  readonly begun: BarrierKind[] = []
  isBusy = false

  constructor(joined: Joined, clock: ManualClock) {
    this.joined = joined
    this.membership = joined.membership
    this.clock = clock
  }

  serve(): void {
    this.membership.serve({ begin: kind => this.#begin(kind) })
  }

  #begin(kind: BarrierKind): LocalBarrier {
    this.begun.push(kind)
    return { hasPassed: () => !this.isBusy }
  }

  get name(): string {
    return this.membership.id.toString('hex')
  }

  async steps(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.clock.move(TIMING.renewMs)
      await this.membership.step()
    }
  }
}

/** All of them take steps in turn. */
async function inTurn(count: number, ...gateways: Gateway[]): Promise<void> {
  for (let i = 0; i < count; i++) for (const gateway of gateways) await gateway.steps(1)
}

const isExpelled = (error: unknown): boolean => error instanceof Expelled

test('a stalled member is expelled, and its later commits are refused', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  await one.steps(4)
  assert.equal(await two.membership.meta.commit(write(KEY)), true, 'it was expelled before its time')
  await one.steps(2)
  assert.deepEqual([...one.membership.view!.members.keys()].length, 2)
  await one.steps(1)
  assert.deepEqual([...one.membership.view!.members.keys()], [one.name])
  await assert.rejects(two.membership.meta.commit(write(OTHER)), isExpelled)
  assert.equal(await gateways.meta.get(OTHER), undefined)
  await assert.rejects(two.steps(1), isExpelled)
})

test('a pause of the watcher does not count against the members it did not watch', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  // As after a database outage or a suspended machine: both were silent for long.
  one.clock.move(60_000)
  await one.steps(1)
  await two.steps(1)
  assert.equal((await readCluster(gateways.meta)).members.size, 2)
})

test('clocks of members are never compared', async () => {
  const gateways = await Gateways.open()
  const one = await gateways.join({ clock: new ManualClock(Date.UTC(2026, 0, 1)) })
  const two = await gateways.join({ clock: new ManualClock(Date.UTC(2031, 0, 1)) })
  await inTurn(20, one, two)
  assert.equal((await readCluster(gateways.meta)).members.size, 2)
})

test('when the leader stalls another member takes over, and the old one can no longer lead', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  const old = one.membership.leaderMeta!
  assert.ok(old !== undefined && two.membership.leaderMeta === undefined)
  assert.equal(await old.commit(write(KEY)), true)
  await two.steps(6)
  assert.ok(two.membership.leaderMeta !== undefined)
  await assert.rejects(old.commit(write(OTHER)), isExpelled)
  assert.equal(await gateways.meta.get(OTHER), undefined)
  assert.equal((await readCluster(gateways.meta)).leader!.term, 2)
})

test('a leader that was replaced but not expelled is refused by its term alone', async () => {
  const gateways = await Gateways.open()
  const one = await gateways.join()
  await one.steps(2)
  const old = one.membership.leaderMeta!
  const { leader } = await readCluster(gateways.meta)
  await gateways.meta.commit({ checks: [], writes: [{ key: leader!.entry.key, value: leader!.entry.value }] })
  await assert.rejects(old.commit(write(KEY)), error => error instanceof LeadershipLost)
  assert.equal(await gateways.meta.get(KEY), undefined)
  assert.equal(await one.membership.meta.commit(write(KEY)), true, 'it is still a member')
})

test('a barrier passes only when every member has passed it', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  two.isBusy = true
  const barrier = one.membership.raiseBarrier('readers')
  await inTurn(5, one, two)
  assert.deepEqual(two.begun, ['readers'])
  assert.equal(barrier.hasPassed(), false)
  two.isBusy = false
  await inTurn(2, one, two)
  assert.equal(barrier.hasPassed(), true)
})

test('a barrier waits neither for expelled members nor for later ones', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  two.isBusy = true
  const barrier = one.membership.raiseBarrier('drafts')
  await inTurn(3, one, two)
  const three = await gateways.join()
  three.isBusy = true
  await inTurn(7, one, three)
  assert.equal(barrier.hasPassed(), true)
  assert.deepEqual(three.begun, [])
})

test('a member that joins before a barrier gets its number must pass it', async () => {
  const gateways = await Gateways.open()
  const one = await gateways.join()
  await one.steps(2)
  const barrier = one.membership.raiseBarrier('readers')
  const two = await gateways.join()
  two.isBusy = true
  await inTurn(5, one, two)
  assert.equal(barrier.hasPassed(), false)
})

test('barriers asked for between two steps share a number; later ones wait for later readers', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  assert.equal(one.membership.raiseBarrier('readers'), one.membership.raiseBarrier('readers'))
  await inTurn(1, one, two)
  assert.notEqual(one.membership.raiseBarrier('readers'), one.membership.raiseBarrier('drafts'))
  await inTurn(4, one, two)
  assert.deepEqual(two.begun.toSorted(), ['drafts', 'readers', 'readers'])
})

test('a server without a cluster is refused while another one lives, and takes over from a dead one', async () => {
  const gateways = await Gateways.open()
  const first = await gateways.join({ isExclusive: true })
  const clock = new ManualClock()
  const living = Object.assign(clock, {
    sleep: async (ms: number) => {
      clock.move(ms)
      await first.steps(1)
    },
  })
  for (const isExclusive of [true, false]) {
    await assert.rejects(gateways.join({ isExclusive, clock: living }), error => error instanceof StoreInUse)
  }
  assert.equal(await first.membership.meta.commit(write(KEY)), true, 'the living server goes on')
  const waits: string[] = []
  const second = await gateways.join({ isExclusive: true, onWait: address => waits.push(address) })
  assert.deepEqual(waits, ['gateway-1'])
  assert.ok(second.clock.elapsed() >= TIMING.expelMs)
  assert.deepEqual([first.joined.incarnation, second.joined.incarnation], [1, 2])
  await assert.rejects(first.membership.meta.commit(write(KEY)), isExpelled)
})

/** Calls back before every commit. */
class WatchedMeta extends FencedMeta {
  readonly #before: () => Promise<void>

  constructor(meta: Meta, before: () => Promise<void>) {
    super(meta, [])
    this.#before = before
  }

  override async commit(tx: Minitransaction): Promise<boolean> {
    await this.#before()
    return super.commit(tx)
  }
}

test('of a gateway and a server without a cluster that join while the last member leaves, one is refused', async () => {
  const gateways = await Gateways.open()
  const last = await gateways.join()
  let join = (): void => {}
  const mayJoin = new Promise<void>(resolve => {
    join = resolve
  })
  // It has seen the last member, and joins after the other server has seen none.
  const gateway = await new Promise<{ readonly joining: Promise<Gateway> }>(resolve => {
    const meta = new WatchedMeta(gateways.meta, () => {
      resolve({ joining })
      return mayJoin
    })
    const joining = gateways.join({ meta })
  })
  await last.membership.leave()
  const clock = new ManualClock()
  const living = Object.assign(clock, {
    sleep: async (ms: number) => {
      clock.move(ms)
      await (await gateway.joining).steps(1)
    },
  })
  const meta = new WatchedMeta(gateways.meta, async () => {
    join()
    await gateway.joining
  })
  await assert.rejects(gateways.join({ isExclusive: true, meta, clock: living }), error => error instanceof StoreInUse)
  assert.deepEqual([...(await readCluster(gateways.meta)).members.keys()], [(await gateway.joining).name])
})

test('a member known to be dead is expelled without waiting', async () => {
  const gateways = await Gateways.open()
  await gateways.join({ isExclusive: true })
  const next = await gateways.join({ isExclusive: true, isKnownDead: async () => true })
  assert.equal(next.clock.elapsed(), 0)
})

test('members of a cluster share an incarnation; only the first of them begins one', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  assert.deepEqual(
    [one.joined.incarnation, one.joined.isFirst, two.joined.incarnation, two.joined.isFirst],
    [1, true, 1, false],
  )
  await one.membership.leave()
  await two.membership.leave()
  const next = await gateways.join()
  assert.deepEqual([next.joined.incarnation, next.joined.isFirst], [2, true])
})

test('a member that leaves hands over at once, and its late commits are refused', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  await one.membership.leave()
  await two.steps(2)
  assert.ok(two.membership.leaderMeta !== undefined)
  await assert.rejects(one.membership.meta.commit(write(KEY)), isExpelled)
})

test('an operator can expel a member that renews', async () => {
  const gateways = await Gateways.open()
  const [one, two] = [await gateways.join(), await gateways.join()]
  await inTurn(2, one, two)
  const { members } = await readCluster(gateways.meta)
  assert.equal(await expel(one.membership.meta, members.get(two.name)!), true)
  await assert.rejects(two.steps(1), isExpelled)
})

test('a reclamation hold takes effect once every member has seen it, and ends with its member', async () => {
  const gateways = await Gateways.open()
  const [one, two, three] = [await gateways.join(), await gateways.join(), await gateways.join()]
  await inTurn(2, one, two, three)
  const release = await two.membership.hold()
  const barrier = two.membership.raiseBarrier('holds')
  await inTurn(3, one, two, three)
  assert.equal(barrier.hasPassed(), true)
  assert.deepEqual(
    [one, two, three].map(({ membership }) => membership.view!.isHeld),
    [true, true, true],
  )
  release()
  await three.membership.hold()
  await inTurn(2, one, two, three)
  assert.equal(one.membership.view!.isHeld, true)
  await three.membership.leave()
  await inTurn(2, one, two)
  assert.equal(one.membership.view!.isHeld, false)
  assert.deepEqual(one.membership.view!.strayHolds, [])
})

test('a member that has joined but does not serve yet delays barriers until it serves', async () => {
  const gateways = await Gateways.open()
  const one = await gateways.join()
  await one.steps(2)
  const two = await gateways.join({ serves: false })
  const barrier = one.membership.raiseBarrier('keys')
  await inTurn(3, one, two)
  assert.equal(barrier.hasPassed(), false)
  two.serve()
  await inTurn(3, one, two)
  assert.deepEqual([two.begun, barrier.hasPassed()], [['keys'], true])
})
