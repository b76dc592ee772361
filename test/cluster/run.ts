/**
 * `npm run test:cluster -- [--faults N] [--seed N]`: three gateways with two workers each, on hosts of their own,
 * on PostgreSQL under Patroni and on a Ceph with three OSDs; clients of mixed load; then one fault after the other.
 * Nothing acknowledged is lost, nothing wrong is read, no held version is gone, all counts are right, the ledger is
 * whole, and one order of calls explains each key's history. `--control NAME` runs without a mechanism instead, which
 * must be noticed; `--suite NAME` runs another suite on these engines.
 */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { chance } from '../crash/chance.ts'
import { Cluster, log, pause } from './cluster.ts'
import { runControl } from './controls.ts'
import { type Faults, faultsOf } from './faults.ts'
import { Load } from './load.ts'
import { runSuite } from './suites.ts'

const { values, positionals } = parseArgs({
  options: {
    faults: { type: 'string', default: '30' },
    seed: { type: 'string' },
    control: { type: 'string' },
    suite: { type: 'string' },
  },
  allowPositionals: true,
})
const FAULTS_WANTED = Number(values.faults)
const CLIENTS = 4
const CALM_MS = 1_000
/** After so many faults everything comes to rest and is checked. */
const FAULTS_BETWEEN_CHECKS = 10

/** Names of faults: each kind once, in any order, before one is repeated. */
function* order(faults: Faults, fraction: () => number): Generator<string> {
  for (;;) {
    const left = Object.keys(faults)
    while (left.length > 0) yield left.splice(Math.floor(fraction() * left.length), 1)[0]!
  }
}

async function checkAtRest(cluster: Cluster, load: Load): Promise<void> {
  await load.pause()
  await cluster.untilServing()
  await load.check(cluster.gateways[randomInt(cluster.gateways.length)]!)
  await cluster.stopGateways()
  load.violations.push(...(await cluster.faultsAtRest()))
}

function verdict(isPassed: boolean): number {
  console.log(isPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  return isPassed ? 0 : 1
}

async function run(): Promise<number> {
  if (values.control !== undefined) return verdict(await runControl(values.control))
  return values.suite === undefined ? faultAfterFault() : verdict(await runSuite(values.suite, positionals))
}

async function faultAfterFault(): Promise<number> {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
  log(`seed ${seed}`)
  const random = chance(seed)
  const cluster = await Cluster.start()
  const load = new Load(cluster.gateways)
  await load.start(CLIENTS)
  const faults = faultsOf({ cluster, load, random })
  const names = order(faults, () => random.fraction())
  for (let done = 0; done < FAULTS_WANTED && load.violations.length === 0; ) {
    await pause(CALM_MS)
    const name = names.next().value as string
    const [before, started] = [load.acknowledged, performance.now()]
    await faults[name]!()
    await cluster.untilServing()
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    log(`${++done}. ${name}: serving after ${seconds} s, ${load.acknowledged - before} calls acknowledged meanwhile`)
    if (done % FAULTS_BETWEEN_CHECKS !== 0 || done === FAULTS_WANTED) continue
    await checkAtRest(cluster, load)
    await cluster.startGateways()
    load.resume()
  }
  await checkAtRest(cluster, load)
  for (const violation of load.violations) console.log(`violation: ${violation}`)
  log(`${load.calls} calls, ${load.acknowledged} acknowledged, ${load.held} versions held`)
  log(`${cluster.unexpectedEnds} gateways ended by themselves`)
  const failed = load.violations.length
  console.log(`${FAULTS_WANTED} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

// Everything that was started ends with the namespaces of this process.
process.exit(
  await run().catch((error: Error) => {
    console.error(error)
    return 1
  }),
)
