/** A suite as the runner sees it. */
export interface SuiteOptions {
  readonly seed: number
  /** The number of cycles, for suites that have them; each has its own default. */
  readonly cycles: number | undefined
  /** A folder for the suite's files; removed afterwards. */
  readonly scratch: string
}

export interface Outcome {
  readonly verdict: 'passed' | 'failed' | 'skipped'
  /** One line of figures, or the reason for skipping. */
  readonly text: string
  /** More lines, for a failure. */
  readonly problems?: readonly string[]
}

export interface Suite {
  readonly name: string
  run(options: SuiteOptions): Promise<Outcome>
}

const PROBLEMS_SHOWN_MAX = 10

export function judge(problems: readonly string[], figures: string): Outcome {
  if (problems.length === 0) return { verdict: 'passed', text: figures }
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  if (problems.length > shown.length) shown.push(`… and ${problems.length - shown.length} more`)
  return { verdict: 'failed', text: `${problems.length} problems; ${figures}`, problems: shown }
}
