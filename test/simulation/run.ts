/**
 * `npm run test:simulation -- [--seeds N] [--from SEED] [--gateways N] [--without MECHANISM]`: simulates clusters of 3
 * to 100 gateways, one schedule per seed, then the controls: with a mechanism switched off, the checks must notice.
 */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { ALL_MECHANISMS, type Mechanisms } from './gateway.ts'
import { FEWEST_GATEWAYS, violationsOf } from './schedule.ts'
import type { Share, Violated } from './schedules-thread.ts'

/** Every control must be noticed within this many schedules. */
const CONTROL_SEEDS_MAX = 200

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    gateways: { type: 'string' },
    without: { type: 'string' },
  },
})

/** Runs a share of the schedules in a thread and returns how many violated something. */
async function runShare(share: Share): Promise<number> {
  let failed = 0
  const thread = new Worker(new URL('./schedules-thread.js', import.meta.url), { workerData: share })
  thread.on('message', ({ seed, gateways, violations }: Violated) => {
    failed++
    console.log(`seed ${seed}, ${gateways} gateways:\n  ${violations.join('\n  ')}`)
  })
  const [code] = await once(thread, 'exit')
  if (code !== 0) throw new Error(`the thread of seed ${share.from} and following ended with ${code}`)
  return failed
}

async function schedules(): Promise<{ passed: number; failed: number }> {
  const [from, count] = [Number(values.from), Number(values.seeds)]
  const gateways = values.gateways === undefined ? undefined : Number(values.gateways)
  const step = Math.min(availableParallelism(), count)
  const shares = Array.from({ length: step }, (_, n) => ({ from: from + n, to: from + count, step, gateways }))
  const failures = await Promise.all(shares.map(runShare))
  const failed = failures.reduce((sum, one) => sum + one, 0)
  console.log(`${count} schedules from seed ${from}: ${failed} with violations`)
  return { passed: count - failed, failed }
}

/** True when the checks notice that a mechanism is missing. */
async function control(name: keyof Mechanisms): Promise<boolean> {
  for (let seed = 1; seed <= CONTROL_SEEDS_MAX; seed++) {
    const [violation] = await violationsOf(seed, FEWEST_GATEWAYS, { ...ALL_MECHANISMS, [name]: false })
    if (violation === undefined) continue
    console.log(`control without ${name}: noticed by seed ${seed}: ${violation.split('\n')[0]}`)
    return true
  }
  console.log(`control without ${name}: not noticed in ${CONTROL_SEEDS_MAX} schedules`)
  return false
}

if (values.without !== undefined) {
  if (!Object.hasOwn(ALL_MECHANISMS, values.without)) {
    console.error(`unknown mechanism ${values.without}: ${Object.keys(ALL_MECHANISMS).join(', ')}`)
    process.exit(2)
  }
  process.exitCode = (await control(values.without as keyof Mechanisms)) ? 0 : 1
} else {
  let { passed, failed } = await schedules()
  for (const name of Object.keys(ALL_MECHANISMS) as (keyof Mechanisms)[]) {
    if (await control(name)) passed++
    else failed++
  }
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
