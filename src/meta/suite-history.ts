/** Concurrent conflicting commits: counters that lose no increment, and random histories that must be linearizable. */
import assert from 'node:assert/strict'
import { type Random, seededRandom } from '../lib/random.ts'
import type { Check, Meta, Stamp, Write } from './meta.ts'
import { increment, type SuiteTest, utf8, utf8Text } from './suite-driver.ts'
import { type HistoryCall, isLinearizable } from './suite-linearizable.ts'
import { prefixed } from './suite-prefixed.ts'

const KEYS = 3
const CLIENTS = 5
const CALLS_EACH = 6

const keyOf = (key: number): Buffer => utf8(`register ${key}`)

/**
 * The calls of one client. It checks for the values it read last, so that checks succeed about as often as they fail.
 */
class Client {
  readonly #meta: Meta
  readonly #random: Random
  readonly #history: History
  readonly #known = new Map<number, { value: number; stamp: Stamp | undefined }>()

  constructor(meta: Meta, random: Random, history: History) {
    this.#meta = meta
    this.#random = random
    this.#history = history
  }

  async run(): Promise<void> {
    for (let call = 0; call < CALLS_EACH; call++) {
      if (this.#random.fraction() < 0.5) await this.#read(this.#pick())
      else await this.#commit()
    }
  }

  #pick(): number {
    return Math.floor(this.#random.fraction() * KEYS)
  }

  async #read(key: number): Promise<void> {
    const start = this.#history.now()
    const entry = await this.#meta.get(keyOf(key))
    const value = entry === undefined ? 0 : Number(entry.value.toString())
    this.#history.calls.push({ start, end: this.#history.now(), reads: { key, value } })
    this.#known.set(key, { value, stamp: entry?.stamp })
  }

  async #commit(): Promise<void> {
    const checks = new Map<number, number>()
    const checked: Check[] = []
    for (const [key, known] of this.#known) {
      if (this.#random.fraction() < 0.3) continue
      checks.set(key, known.value)
      checked.push({ key: keyOf(key), stamp: known.stamp })
    }
    const writes = new Map<number, number>()
    for (const key of [this.#pick(), this.#pick()])
      writes.set(key, this.#random.fraction() < 0.2 ? 0 : this.#history.fresh())
    const written: Write[] = [...writes].map(([key, value]) => ({
      key: keyOf(key),
      value: value === 0 ? undefined : utf8(`${value}`),
    }))
    const start = this.#history.now()
    const taken = await this.#meta.commit({ checks: checked, writes: written })
    this.#history.calls.push({ start, end: this.#history.now(), commit: { checks, writes, taken } })
  }
}

class History {
  readonly calls: HistoryCall[] = []
  #time = 0
  #value = 0

  now(): number {
    return ++this.#time
  }

  fresh(): number {
    return ++this.#value
  }
}

export async function randomHistory(meta: Meta, seed: number): Promise<readonly HistoryCall[]> {
  const random = seededRandom(seed)
  const history = new History()
  await Promise.all(Array.from({ length: CLIENTS }, () => new Client(meta, random, history).run()))
  return history.calls
}

export const hasAnOrder = (history: readonly HistoryCall[]): boolean => isLinearizable(history, KEYS)

export function historySuite(suiteTest: SuiteTest): void {
  suiteTest('concurrent increments by compare-and-set are all counted', async ({ meta }) => {
    await Promise.all(Array.from({ length: 12 }, (_, index) => increment(meta, `counter ${index % 3}`, 10)))
    for (const counter of ['counter 0', 'counter 1', 'counter 2']) assert.equal(await utf8Text(meta, counter), '40')
  })

  suiteTest('random concurrent histories are linearizable', async ({ meta }) => {
    for (let seed = 1; seed <= 40; seed++) {
      const history = await randomHistory(prefixed(meta, utf8(`history ${seed}/`)), seed)
      assert.equal(history.length, CLIENTS * CALLS_EACH)
      assert.ok(hasAnOrder(history), `seed ${seed} has no order: ${JSON.stringify(history)}`)
    }
  })
}
