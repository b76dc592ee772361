/** The calls of clients with their results, and whether one order of all calls explains them. */
import { type HistoryCall, isLinearizable } from '../../src/meta/linearizable.ts'

/** Absence of the key. */
export const ABSENT = 0

interface Recorded {
  readonly key: string
  readonly call: HistoryCall
}

/** Calls on objects of one bucket; each key is a register whose value is the number of the write. */
export class History {
  readonly #calls: Recorded[] = []
  #starts = 0

  get size(): number {
    return this.#calls.length
  }

  /** Distinct for each call, so that calls can be told apart; the fraction keeps the order of virtual time. */
  begin(now: number): number {
    return now + ++this.#starts * 1e-9
  }

  read(key: string, start: number, end: number, value: number): void {
    this.#calls.push({ key, call: { start, end, reads: { key: 0, value } } })
  }

  /** `end` is infinite for a write whose outcome the client does not know: it may happen at any later time or never. */
  write(key: string, start: number, end: number, value: number): void {
    const commit = { checks: new Map(), writes: new Map([[0, value]]), taken: true }
    this.#calls.push({ key, call: { start, end, commit } })
  }

  keys(): ReadonlySet<string> {
    return new Set(this.#calls.map(({ key }) => key))
  }

  /** Keys whose calls no order explains. */
  broken(): string[] {
    const callsOf = (wanted: string): HistoryCall[] =>
      this.#calls.filter(({ key }) => key === wanted).map(({ call }) => call)
    return [...this.keys()].filter(key => !isLinearizable(callsOf(key), 1))
  }
}
