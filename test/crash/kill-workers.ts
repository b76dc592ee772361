/**
 * kill -9 under load of a server with two workers, over HTTP: of a worker, which is replaced under load, and of the
 * supervisor, which takes its workers along. Then a fresh process checks the folder, as after `kill`.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { engineFlags } from '../engines.ts'
import type { Client } from '../http/server.ts'
import { Program, ROOT } from '../workers/program.ts'
import { chance } from './chance.ts'
import { Lane } from './choose.ts'
import { add, Cycles, figuresOf, newTotal } from './cycles.ts'
import { Journal } from './journal.ts'
import { Expectation, labelOf, type Operation, type Saved } from './model.ts'
import { bytesOf } from './payload.ts'
import { judge, type Suite } from './suite.ts'

const CYCLES = 8
const LANES = 16
const LIFE_MS_MAX = 2000
const CUTS_MAX = 3
const MIB = 2 ** 20
const SIZES = { inlineMax: 4096, packedMax: MIB, soloMax: 2 * MIB, soloShare: 0.05, partMin: 5 * MIB }
const LOCKED: readonly (readonly [string, string])[] = [[':bucket-object-lock-enabled', 'true']]

/** Operations of a single request; the other suite covers holds and uploads. */
type Sent = Exclude<Operation, { kind: 'hold' | 'expire' }>
const SENT: ReadonlySet<Operation['kind']> = new Set(['put', 'copy', 'remove'])
const isSent = (operation: Operation): operation is Sent => SENT.has(operation.kind)

const versionQuery = (versionId: string | undefined): string =>
  versionId === undefined ? '' : `?versionId=${versionId}`

/** The id of the version or marker it created, once it is acknowledged. */
async function send(client: Client, operation: Sent): Promise<string> {
  const { bucket, key } = operation.to
  const to = { bucket, path: `/${key}`, as: ROOT }
  const sealed: (readonly [string, string])[] =
    operation.kind !== 'remove' && operation.sealed ? [[':server-side-encryption', 'AES256']] : []
  const answer = await (operation.kind === 'remove'
    ? client.send({ ...to, method: 'DELETE', path: to.path + versionQuery(operation.versionId) })
    : operation.kind === 'copy'
      ? client.send({ ...to, method: 'PUT', headers: [sourceOf(operation), ...sealed] })
      : client.send({ ...to, method: 'PUT', headers: sealed, body: Buffer.concat(operation.pieces.flatMap(bytesOf)) }))
  if (answer.status >= 300) throw new Refused(`${answer.status} ${answer.code()}`)
  return answer.own('version-id') ?? ''
}

const sourceOf = ({ from }: Extract<Sent, { kind: 'copy' }>): readonly [string, string] => [
  ':copy-source',
  `/${from.bucket}/${from.key}${versionQuery(from.versionId)}`,
]

class Refused extends Error {}

class Load {
  readonly #program: Program
  readonly #journal: Journal
  readonly #expectation: Expectation
  /** Keys whose last request has an unknown outcome. */
  readonly #open = new Set<string>()
  #running = true
  cuts = 0

  constructor(program: Program, journal: Journal, expectation: Expectation) {
    this.#program = program
    this.#journal = journal
    this.#expectation = expectation
  }

  end(): void {
    this.#running = false
  }

  async run(lane: Lane): Promise<void> {
    let client = this.#program.client()
    while (this.#running) {
      const operation = lane.next()
      if (!isSent(operation) || this.#isOut(operation)) {
        // Lets the other lanes run, even when there is nothing left to choose.
        await wait(1)
        continue
      }
      const n = this.#journal.begin(operation)
      this.#expectation.begin(operation)
      try {
        const id = await send(client, operation)
        this.#journal.done(n, id)
        this.#expectation.acknowledge(operation, id)
      } catch (error) {
        if (error instanceof Refused) this.#journal.failed(n, error)
        this.#open.add(labelOf(operation.to))
        this.cuts++
        client = this.#program.client()
      }
    }
  }

  /** Also true for a copy onto itself, which is refused as such. */
  #isOut(operation: Sent): boolean {
    const names = operation.kind === 'copy' ? [operation.to, operation.from] : [operation.to]
    if (operation.kind === 'copy' && labelOf(operation.to) === labelOf(operation.from)) return true
    return names.some(name => this.#open.has(labelOf(name)))
  }
}

async function makeBuckets(client: Client): Promise<void> {
  const make = { method: 'PUT', path: '/', as: ROOT }
  await client.send({ ...make, bucket: 'plain' })
  await client.send({ ...make, bucket: 'versioned', headers: LOCKED })
}

export const killWorkers: Suite = {
  name: 'workers',
  async run({ seed, cycles = CYCLES, scratch }) {
    const random = chance(seed)
    const folder = join(scratch, 'data')
    mkdirSync(scratch, { recursive: true })
    const life = new Cycles({ folder, notes: scratch, durability: 'os' })
    const total = newTotal()
    let killed = 0
    for (let cycle = 1; cycle <= cycles && total.problems.length === 0; cycle++) {
      const { journal, states } = life.begin()
      const expectation = new Expectation(JSON.parse(readFileSync(states, 'utf8')) as Saved)
      const program = await Program.start(folder, ...(await engineFlags(folder)))
      await makeBuckets(program.client())
      const load = new Load(program, new Journal(journal), expectation)
      const lanes = Array.from({ length: LANES }, (_, number) => new Lane(number, random, expectation, SIZES))
      const running = lanes.map(lane => load.run(lane))
      for (let cut = Math.floor(random.fraction() * (CUTS_MAX + 1)); cut > 0; cut--) {
        await wait(random.fraction() * LIFE_MS_MAX)
        const workers = program.workers()
        const victim = workers[Math.floor(random.fraction() * workers.length)]
        if (victim === undefined) continue
        process.kill(victim, 'SIGKILL')
        killed++
      }
      await wait(random.fraction() * LIFE_MS_MAX)
      // The supervisor is alternately killed under load and shut down gracefully, which aborts nothing.
      if (cycle % 2 === 0) await program.end('SIGKILL')
      load.end()
      await Promise.all(running)
      if (cycle % 2 === 1 && (await program.end()) !== 0) total.problems.push(`cycle ${cycle}: ${program.errors}`)
      const report = await life.check()
      add(total, report)
      if ('failures' in report) total.problems.push(...report.failures.map(failure => `cycle ${cycle}: ${failure}`))
    }
    return judge(total.problems, `${figuresOf(total)}, ${killed} workers killed`)
  },
}
