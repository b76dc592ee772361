/**
 * Controls: a mechanism is missing, and the checks of this suite must notice. Gateways run a copy of the program in
 * which one expression is replaced; the program itself has no switch for that.
 */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chance } from '../crash/chance.ts'
import { Cluster, type ClusterOptions, log, pause } from './cluster.ts'
import { faultsOf, type Target } from './faults.ts'
import { Load } from './load.ts'

const CLIENTS = 4
/** Long enough for commits that only the primary has. */
const APART_MS = 3_000
const DIST = join(import.meta.dirname, '..', '..')

interface Control {
  /** The replaced expression and its replacement. */
  readonly change?: { readonly file: string; readonly from: string; readonly to: string }
  readonly options?: ClusterOptions
  provoke(target: Target): Promise<void>
}

const CONTROLS: Readonly<Record<string, Control>> = {
  fencing: {
    change: { file: 'store/commit/fenced-meta.js', from: '[...tx.checks, ...this.#fences]', to: 'tx.checks' },
    provoke: target => faultsOf(target)['suspend a gateway beyond expulsion']!(),
  },
  barriers: {
    change: {
      file: 'store/cluster/barriers.js',
      from: 'renewal.passed[this.#kind] >= number',
      to: 'renewal.passed[this.#kind] >= 0',
    },
    async provoke(target) {
      // Other deletions would be freed first.
      await target.load.pause()
      await faultsOf(target)['delete what is being read']!()
    },
  },
  'synchronous-standby': { options: { isSynchronous: false }, provoke: loseTheStandby },
}

/** The primary goes on without its standby and dies. */
async function loseTheStandby({ cluster, load }: Target): Promise<void> {
  await cluster.patroni.cutStandbyOff()
  await pause(APART_MS)
  await cluster.patroni.killPrimary()
  await cluster.untilServing()
  await load.pause()
  await load.check(cluster.gateways[0]!)
}

/** A copy of the program without the mechanism. */
async function changedProgram(name: string, { change }: Control): Promise<string | undefined> {
  if (change === undefined) return undefined
  const copy = join(DIST, `without-${name}`)
  await rm(copy, { recursive: true, force: true })
  await cp(join(DIST, 'src'), copy, { recursive: true, filter: path => !path.includes('.test.') })
  const file = join(copy, change.file)
  const text = await readFile(file, 'utf8')
  if (text.split(change.from).length !== 2) throw new Error(`${change.file} does not contain ${change.from} once`)
  await writeFile(file, text.replace(change.from, change.to))
  return join(copy, 'main.js')
}

/** True when the checks notice. */
export async function runControl(name: string): Promise<boolean> {
  const control = CONTROLS[name]
  if (control === undefined) throw new Error(`unknown control ${name}: ${Object.keys(CONTROLS).join(', ')}`)
  const main = await changedProgram(name, control)
  const cluster = await Cluster.start({ ...control.options, ...(main !== undefined && { main }) })
  const load = new Load(cluster.gateways)
  await load.start(CLIENTS)
  await control.provoke({ cluster, load, random: chance(1) })
  const [violation] = load.violations
  log(`control without ${name}: ${violation === undefined ? 'not noticed' : `noticed: ${violation}`}`)
  return violation !== undefined
}
