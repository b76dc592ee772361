/**
 * `npm run test:simulation -- [--seeds N] [--from SEED] [--gateways N] [--without MECHANISM]`: simulates clusters of 3
 * to 100 gateways, one schedule per seed, then the controls: with a mechanism switched off, the checks must notice.
 */
import { parseArgs } from 'node:util'
import { ALL_MECHANISMS, type Mechanisms } from './gateway.ts'
import { simulate } from './world.ts'

/** Every control must be noticed within this many schedules. */
const CONTROL_SEEDS_MAX = 200
const FEW = 3

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    gateways: { type: 'string' },
    without: { type: 'string' },
  },
})

/** Mostly few gateways, where faults meet more often; now and then many. */
function gatewaysOf(seed: number): number {
  if (values.gateways !== undefined) return Number(values.gateways)
  if (seed % 250 === 0) return 100
  return seed % 25 === 0 ? 20 : FEW + (seed % 3)
}

async function violationsOf(seed: number, gateways: number, mechanisms: Mechanisms): Promise<readonly string[]> {
  try {
    return (await simulate({ seed, gateways, mechanisms })).violations
  } catch (error) {
    return [(error as Error).stack ?? String(error)]
  }
}

async function schedules(): Promise<{ passed: number; failed: number }> {
  const [from, count] = [Number(values.from), Number(values.seeds)]
  let failed = 0
  for (let seed = from; seed < from + count; seed++) {
    const violations = await violationsOf(seed, gatewaysOf(seed), ALL_MECHANISMS)
    if (violations.length === 0) continue
    failed++
    console.log(`seed ${seed}, ${gatewaysOf(seed)} gateways:\n  ${violations.join('\n  ')}`)
  }
  console.log(`${count} schedules from seed ${from}: ${failed} with violations`)
  return { passed: count - failed, failed }
}

/** True when the checks notice that a mechanism is missing. */
async function control(name: keyof Mechanisms): Promise<boolean> {
  for (let seed = 1; seed <= CONTROL_SEEDS_MAX; seed++) {
    const [violation] = await violationsOf(seed, FEW, { ...ALL_MECHANISMS, [name]: false })
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
