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

export function isLinearizable(history: readonly HistoryCall[], keys: number): boolean {
  const tried = new Set<string>()
  const search = (left: readonly HistoryCall[], state: State): boolean => {
    if (left.every(call => call.end === Number.POSITIVE_INFINITY)) return true
    const seen = `${left.map(call => call.start).join()}|${state.join()}`
    if (tried.has(seen)) return false
    tried.add(seen)
    const firstEnd = Math.min(...left.map(call => call.end))
    for (const call of left) {
      // A call that started after another had ended cannot precede it.
      if (call.start > firstEnd) continue
      const next = step(state, call)
      if (next === undefined) continue
      const rest = left.filter(other => other !== call)
      if (search(rest, next)) return true
    }
    return false
  }
  return search(history, new Array<number>(keys).fill(0))
}
