/** A data folder over many cycles: a writer works on it until it is killed, then a checker inspects it. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CheckReport } from './checker.ts'
import { type Ending, Program } from './program.ts'

export interface CycleOptions {
  /** The data folder, which may be on the filesystem under test. */
  readonly folder: string
  /** Journals and expectations, which may not. */
  readonly notes: string
  readonly durability: 'fsync' | 'os'
}

export interface Total {
  cycles: number
  acknowledged: number
  refused: number
  open: number
  openingMsMax: number
  readonly problems: string[]
}

export const newTotal = (): Total => ({
  cycles: 0,
  acknowledged: 0,
  refused: 0,
  open: 0,
  openingMsMax: 0,
  problems: [],
})

export class Cycles {
  readonly #options: CycleOptions
  readonly #states: string
  readonly #journal: string

  constructor(options: CycleOptions) {
    this.#options = options
    this.#states = join(options.notes, 'expected.json')
    this.#journal = join(options.notes, 'journal')
    writeFileSync(this.#states, '[]')
  }

  /** A running writer; the caller ends it. */
  startWriter(seed: number): Program {
    const { folder, durability } = this.#options
    const { journal, states } = this.begin()
    return new Program('writer', [folder, journal, states, String(seed), durability])
  }

  /** An empty journal, and the current expectation, for the writer of this cycle. */
  begin(): { readonly journal: string; readonly states: string } {
    rmSync(this.#journal, { force: true })
    writeFileSync(this.#journal, '')
    return { journal: this.#journal, states: this.#states }
  }

  /** The report of a fresh process on the folder. A checker that dies is a finding, too. */
  async check(): Promise<CheckReport | Ending> {
    const checker = new Program('checker', [this.#options.folder, this.#journal, this.#states])
    const ending = await checker.ended
    const last = checker.lines.at(-1)
    return ending.code === 0 && last !== undefined ? (JSON.parse(last) as CheckReport) : ending
  }
}

export function problemsOf(report: CheckReport | Ending): readonly string[] {
  if ('problems' in report) return report.problems
  return [`the checker ended with ${report.signal ?? report.code}: ${report.stderr.trim()}`]
}

export function add(total: Total, report: CheckReport | Ending): void {
  total.cycles++
  total.problems.push(...problemsOf(report).map(problem => `cycle ${total.cycles}: ${problem}`))
  if (!('problems' in report)) return
  total.acknowledged += report.acknowledged
  total.refused += report.refused
  total.open += report.open
  total.openingMsMax = Math.max(total.openingMsMax, report.openingMs)
}

export const figuresOf = (total: Total): string =>
  `${total.cycles} cycles, ${total.acknowledged} acknowledged, ${total.refused} refused because of a hold, ` +
  `${total.open} cut off, ${total.problems.length} lost or wrong, opening at most ${Math.ceil(total.openingMsMax)} ms`
