/** Faults that a cluster suffers while clients use it. Each fault ends by itself; the gateways may take longer. */
import type { Random } from '../../src/lib/random.ts'
import { type Cluster, POOL, pause, until } from './cluster.ts'
import type { GatewayProcess } from './gateways.ts'
import { HalfSentPut, SlowRead } from './in-flight.ts'
import type { Load } from './load.ts'
import { BLOBS, DATABASE } from './network.ts'

/** Shorter than expulsion. */
const SHORT_MS = 4_000
const KILLED_MS_MAX = 3_000
/** Without barriers, what was deleted is freed within this time. */
const FREED_MS = 10_000
const CLOCK_OFF_SECONDS = 600
const FULL_MS = 60_000
const REFUSED = /\b507\b|InsufficientStorage|StorageFull|full/i

export interface Target {
  readonly cluster: Cluster
  readonly load: Load
  readonly random: Random
}

export type Faults = Readonly<Record<string, () => Promise<void>>>

export function faultsOf(target: Target): Faults {
  const { cluster, random } = target
  const { patroni, ceph, gateways } = cluster
  const below = (limit: number): number => Math.floor(random.fraction() * limit)
  const any = (): GatewayProcess => gateways[below(gateways.length)]!
  const restart = async (gateway: GatewayProcess): Promise<void> => {
    await gateway.kill()
    await pause(below(KILLED_MS_MAX))
    await gateway.start()
  }
  const isolate = async (gateway: GatewayProcess, addresses: readonly string[], wait: () => Promise<void>) => {
    await gateway.host.cutOff(addresses)
    await wait()
    await gateway.host.reconnect()
  }
  const shortly = (): Promise<void> => pause(SHORT_MS)
  return {
    'kill a gateway': () => restart(any()),
    'kill the leader': async () => restart(await cluster.leader()),
    'kill a worker': async () => {
      const { workers } = any()
      if (workers.length > 0) process.kill(workers[below(workers.length)]!, 'SIGKILL')
    },
    'suspend a gateway beyond expulsion': () => suspend(any(), target),
    'kill the primary of PostgreSQL': async () => {
      await patroni.killPrimary()
      await patroni.untilWhole()
    },
    'kill an OSD': async () => {
      const osd = below(3)
      await ceph.killOsd(osd)
      await pause(2_000)
      ceph.startOsd(osd)
      await ceph.untilUp(3)
      await ceph.untilClean()
    },
    'cut a gateway off from the database': () => isolate(any(), [DATABASE], shortly),
    'cut a gateway off from the database beyond expulsion': async () => {
      const gateway = any()
      await isolate(gateway, [DATABASE], () => cluster.untilExpelled(gateway))
    },
    'cut a gateway off from the blobs': () => isolate(any(), [BLOBS], shortly),
    'cut a gateway off from the other gateways': async () => {
      const gateway = any()
      await isolate(gateway, cluster.othersOf(gateway), shortly)
    },
    'fill the pool': () => fillPool(target),
    'set a clock off by ten minutes': () => setClockOff(any(), (below(2) * 2 - 1) * CLOCK_OFF_SECONDS, target),
    'delete what is being read': () => deleteWhatIsRead(target),
  }
}

/** A write that is in flight meanwhile must not be acknowledged after the gateway was expelled. */
async function suspend(gateway: GatewayProcess, { cluster, load }: Target): Promise<void> {
  const put = await HalfSentPut.begin(gateway)
  gateway.signalAll('SIGSTOP')
  await cluster.untilExpelled(gateway)
  gateway.signalAll('SIGCONT')
  if (await put.isAcknowledged()) load.violations.push(`${gateway.name} acknowledged a write after it was expelled`)
}

/** Writes are refused, reads go on. */
async function fillPool({ cluster, load }: Target): Promise<void> {
  const gateway = cluster.gateways[0]!
  const client = gateway.client('bucket')
  await cluster.ceph.setQuota(POOL, 1)
  let refusal = ''
  await until('a full pool refuses writes', FULL_MS, () =>
    client.requestOnce({ method: 'PUT', key: 'probe', body: Buffer.alloc(100_000) }).then(
      () => false,
      (error: Error & { status?: number; code?: string }) => {
        refusal = `${error.status} ${error.code}`
        return true
      },
    ),
  )
  if (!REFUSED.test(refusal)) load.violations.push(`a write to a full pool was answered with ${refusal}`)
  await load.readSource(gateway)
  await cluster.ceph.setQuota(POOL, 0)
  client.close()
}

/** Such a gateway says what is wrong and does not join. */
async function setClockOff(gateway: GatewayProcess, seconds: number, { load }: Target): Promise<void> {
  await gateway.stop()
  const failure = await gateway.start(seconds).then(
    () => undefined,
    (error: Error) => error,
  )
  if (failure === undefined) {
    load.violations.push(`${gateway.name} joined with its clock off by ${seconds} s`)
    await gateway.stop()
  } else if (!/clock/.test(failure.message)) throw failure
  await gateway.start()
}

/** Bytes are freed only when nobody reads them any more, through whichever gateway. */
async function deleteWhatIsRead({ cluster, load }: Target): Promise<void> {
  const leader = await cluster.leader()
  const other = cluster.gateways.find(gateway => gateway !== leader)!
  const read = await SlowRead.begin(other)
  await read.deleteThrough(leader)
  await pause(FREED_MS)
  const problem = await read.finish()
  if (problem !== undefined) load.violations.push(`an object that was deleted while it was read: ${problem}`)
}
