/**
 * Barriers across the processes of a cluster. A member asks for one by raising a number in the metadata; each member
 * takes its local epoch when it sees the number, and reports the number in a renewal once everything that was active
 * then has left. A barrier has passed when every member has reported it; an expelled member counts as gone.
 */
import { type BarrierKind, type BarrierNumbers, type ClusterView, NO_BARRIERS } from './cluster-records.ts'

/** A wait that began when a barrier was seen. */
export interface LocalBarrier {
  hasPassed(): boolean
}

interface Answer extends LocalBarrier {
  readonly number: number
}

/** The reports of one member: which of the barriers it was asked for have passed in its own processes. */
export class PassedBarriers {
  readonly #begin: (kind: BarrierKind) => LocalBarrier
  readonly #waiting: Record<BarrierKind, Answer[]> = { readers: [], drafts: [], keys: [], holds: [] }
  #passed: BarrierNumbers
  #seen: BarrierNumbers

  /** A member that joins has passed every barrier raised before: its first reader enters later. */
  constructor(joinedAt: BarrierNumbers, begin: (kind: BarrierKind) => LocalBarrier) {
    this.#passed = joinedAt
    this.#seen = joinedAt
    this.#begin = begin
  }

  /** Takes a local epoch for each barrier that is new, and returns what has passed by now. */
  update(barriers: BarrierNumbers): BarrierNumbers {
    const passed = { ...this.#passed }
    for (const kind of Object.keys(passed) as BarrierKind[]) {
      const waiting = this.#waiting[kind]
      if (barriers[kind] > this.#seen[kind]) waiting.push({ number: barriers[kind], ...bound(this.#begin(kind)) })
      while (waiting.length > 0 && waiting[0]!.hasPassed()) passed[kind] = waiting.shift()!.number
    }
    this.#seen = barriers
    this.#passed = passed
    return passed
  }
}

const bound = (barrier: LocalBarrier): LocalBarrier => ({ hasPassed: () => barrier.hasPassed() })

/** A barrier that this member waits for. */
export class PendingBarrier implements LocalBarrier {
  readonly #kind: BarrierKind
  #number: number | undefined
  #hasPassed = false
  readonly passed: Promise<void>
  #resolve: () => void = () => {}

  constructor(kind: BarrierKind) {
    this.#kind = kind
    this.passed = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  /** The number is committed: views read from now on count. */
  numbered(number: number): void {
    this.#number ??= number
  }

  /** `view` was read after the number was committed. */
  see({ members }: ClusterView): void {
    const number = this.#number
    if (number === undefined) return
    if (![...members.values()].every(({ renewal }) => renewal.passed[this.#kind] >= number)) return
    this.#hasPassed = true
    this.#resolve()
  }

  hasPassed(): boolean {
    return this.#hasPassed
  }
}

/** The next numbers, for the requested kinds. */
export function raised(barriers: BarrierNumbers, kinds: ReadonlySet<BarrierKind>): BarrierNumbers {
  const next = { ...NO_BARRIERS, ...barriers }
  for (const kind of kinds) next[kind]++
  return next
}
