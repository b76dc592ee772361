/** The cost of membership for PostgreSQL: each member in turn reads the records of all and renews its own. */
import { systemClock } from '../../src/lib/clock.ts'
import { WRITER_BYTES } from '../../src/lib/ids.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { joinCluster } from '../../src/store/cluster/join.ts'
import { type Row, rowOf } from '../measure.ts'
import { processorMs } from '../processor-time.ts'
import { postmaster, type Stage } from './stage.ts'

const TIMING = { renewMs: 2_000, expelMs: 600_000 }
const RENEWALS = 400

/** Microseconds of the primary's processor time for one renewal. */
async function renewalTime({ scene, postgres: { primary } }: Stage, members: number): Promise<number> {
  const meta = await openPostgresMeta({ url: primary.url, table: `members_${members}` })
  try {
    const joined = []
    for (let n = 0; n < members; n++) {
      const { membership } = await joinCluster({
        ...{ meta, clock: systemClock, random: systemRandom, timing: TIMING, id: systemRandom.bytes(WRITER_BYTES) },
        member: { address: `gateway-${n}:9000`, version: '0', isExclusive: false, socket: '' },
        isKnownDead: async () => false,
      })
      joined.push(membership)
    }
    for (const membership of joined) await membership.step()
    const renewals = scene.quick ? members : RENEWALS
    const before = processorMs([postmaster(primary.data)])
    for (let n = 0; n < renewals; n++) await joined[n % members]!.step()
    return ((processorMs([postmaster(primary.data)]) - before) * 1000) / renewals
  } finally {
    await meta.close()
  }
}

export async function renewals(stage: Stage): Promise<Row[]> {
  const [few, many] = [await renewalTime(stage, 3), await renewalTime(stage, 100)]
  return [rowOf('renew-100-vs-3-cpu-primary', 'µs', many, few)]
}
