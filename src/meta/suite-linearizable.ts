/**
 * Decides whether a history of overlapping calls is linearizable: whether each call could have taken effect at one
 * point between its start and end (Wing & Gong's search, with tried states memoized). The state is the value of every
 * key; a value is written at most once per history, so equal values mean the same write. 0 means absent.
 */
export interface HistoryCall {
  readonly start: number
  /** Infinity: the call never returned and may take effect at any later time or never. */
  readonly end: number
  readonly reads?: { readonly key: number; readonly value: number }
  readonly commit?: {
    readonly checks: ReadonlyMap<number, number>
    readonly writes: ReadonlyMap<number, number>
    readonly taken: boolean
  }
}

type State = readonly number[]

/** The state after the call; undefined when its result does not fit the state. */
function step(state: State, call: HistoryCall): State | undefined {
  if (call.reads !== undefined) return state[call.reads.key] === call.reads.value ? state : undefined
  const { checks, writes, taken } = call.commit!
  const holds = [...checks].every(([key, value]) => state[key] === value)
  if (holds !== taken) return undefined
  if (!taken) return state
  return state.map((value, key) => writes.get(key) ?? value)
}

const isLost = (call: HistoryCall): boolean => call.end === Number.POSITIVE_INFINITY

/** One of these calls may need what a lost write has written; if none does, it is as if it had never happened. */
function isNeeded(lost: HistoryCall, calls: readonly HistoryCall[]): boolean {
  const writes = lost.commit?.writes ?? new Map<number, number>()
  const needs = ({ reads, commit }: HistoryCall): boolean =>
    reads === undefined
      ? [...commit!.checks.keys()].some(key => writes.has(key))
      : writes.get(reads.key) === reads.value
  return calls.some(call => call !== lost && needs(call))
}

const effectOf = ({ reads, commit }: HistoryCall): string =>
  JSON.stringify([reads, commit?.taken, [...(commit?.checks ?? [])], [...(commit?.writes ?? [])]])

/** The calls that may come next. A call that started after another had ended cannot precede it. */
function candidates(left: readonly HistoryCall[]): HistoryCall[] {
  const firstEnd = left.reduce((least, { end }) => Math.min(least, end), Number.POSITIVE_INFINITY)
  const lost = new Set<string>()
  return left.filter(call => {
    if (call.start > firstEnd) return false
    if (!isLost(call)) return true
    if (!isNeeded(call, left)) return false
    // Of several lost calls with one effect, any is as good as the first.
    const effect = effectOf(call)
    if (lost.has(effect)) return false
    lost.add(effect)
    return true
  })
}

export function isLinearizable(history: readonly HistoryCall[], keys: number): boolean {
  const tried = new Set<string>()
  const search = (left: readonly HistoryCall[], state: State): boolean => {
    if (left.every(isLost)) return true
    const seen = `${left.map(call => call.start).join()}|${state.join()}`
    if (tried.has(seen)) return false
    tried.add(seen)
    const without = (call: HistoryCall): HistoryCall[] => left.filter(other => other !== call)
    const next: { readonly call: HistoryCall; readonly state: State }[] = []
    for (const call of candidates(left)) {
      const after = step(state, call)
      // A call that leaves the state as it is can take effect at once: nothing is gained by waiting.
      if (after === state) return search(without(call), state)
      if (after !== undefined) next.push({ call, state: after })
    }
    return next.some(({ call, state: after }) => search(without(call), after))
  }
  return search(history, new Array<number>(keys).fill(0))
}
