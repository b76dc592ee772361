/** Virtual time: nothing waits, events run in the order of their times, and the same seed gives the same order. */
import type { Clock } from '../../src/lib/clock.ts'

interface Event {
  readonly at: number
  readonly order: number
  readonly call: () => void
}

/** Turns of the event loop between two events; the code under test defers work to later turns. */
const TURNS = 4
const START = Date.UTC(2026, 0, 1)

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export class Scheduler {
  #now = 0
  #order = 0
  /** A binary heap. */
  readonly #events: Event[] = []

  get now(): number {
    return this.#now
  }

  after(ms: number, call: () => void): void {
    const events = this.#events
    events.push({ at: this.#now + Math.max(0, ms), order: this.#order++, call })
    for (let i = events.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1
      if (!isBefore(events[i]!, events[parent]!)) break
      ;[events[i], events[parent]] = [events[parent]!, events[i]!]
      i = parent
    }
  }

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.after(ms, resolve))
  }

  #pop(): Event | undefined {
    const events = this.#events
    const [first, last] = [events[0], events.pop()]
    if (first === undefined || last === undefined || events.length === 0) return first
    events[0] = last
    for (let i = 0; ; ) {
      const [left, right] = [2 * i + 1, 2 * i + 2]
      let least = i
      if (left < events.length && isBefore(events[left]!, events[least]!)) least = left
      if (right < events.length && isBefore(events[right]!, events[least]!)) least = right
      if (least === i) return first
      ;[events[i], events[least]] = [events[least]!, events[i]!]
      i = least
    }
  }

  /** Runs events until `isDone`; throws when nothing is left to do or the time is up. */
  async runUntil(isDone: () => boolean, msMax: number): Promise<void> {
    for (;;) {
      for (let i = 0; i < TURNS; i++) await turn()
      if (isDone()) return
      const event = this.#pop()
      if (event === undefined) throw new Error('nothing is left to do')
      if (event.at > msMax) throw new Error(`not done after ${msMax} ms`)
      this.#now = event.at
      event.call()
    }
  }

  /** The clock of one machine: off by a constant, and faster or slower than others. */
  clock(offsetMs: number, rate: number, wake: () => Promise<void>): Clock {
    return {
      now: () => START + Math.floor(offsetMs + this.#now * rate),
      elapsed: () => this.#now * rate,
      sleep: async ms => {
        await this.sleep(ms / rate)
        await wake()
      },
      after: (ms, call) => {
        let isCancelled = false
        this.after(ms / rate, () => {
          if (!isCancelled) call()
        })
        return () => {
          isCancelled = true
        }
      },
    }
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
