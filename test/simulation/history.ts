/** The calls of clients with their results, and whether one order of all calls explains them. */
import { type HistoryCall, isLinearizable } from '../../src/meta/suite-linearizable.ts'

/** Absence of the key. */
export const ABSENT = 0

/** Calls on objects of one bucket; each key is a register whose value is the number of the write. */
export class History {
  readonly #calls = new Map<string, HistoryCall[]>()
  #starts = 0
  size = 0

  #add(key: string, call: HistoryCall): void {
    const calls = this.#calls.get(key)
    if (calls === undefined) this.#calls.set(key, [call])
    else calls.push(call)
    this.size++
  }

  /** Distinct for each call, so that calls can be told apart; the fraction keeps the order of virtual time. */
  begin(now: number): number {
    return now + ++this.#starts * 1e-9
  }

  read(key: string, start: number, end: number, value: number): void {
    this.#add(key, { start, end, reads: { key: 0, value } })
  }

  /** `end` is infinite for a write whose outcome the client does not know: it may happen at any later time or never. */
  write(key: string, start: number, end: number, value: number): void {
    const commit = { checks: new Map(), writes: new Map([[0, value]]), taken: true }
    this.#add(key, { start, end, commit })
  }

  keys(): readonly string[] {
    return [...this.#calls.keys()]
  }

  /** Keys whose calls no order explains. */
  broken(): string[] {
    return [...this.#calls].filter(([, calls]) => !isLinearizable(calls, 1)).map(([key]) => key)
  }

  /** The calls of a key in the order of their starts, for a report. */
  textOf(key: string): string {
    const sorted = [...(this.#calls.get(key) ?? [])].sort((a, b) => a.start - b.start)
    return sorted
      .map(({ start, end, reads, commit }) => {
        const what = reads === undefined ? `wrote ${commit?.writes.get(0)}` : `read ${reads.value}`
        return `${start.toFixed(0)}–${end.toFixed(0)} ${what}`
      })
      .join(', ')
  }
}
