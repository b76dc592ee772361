/** Lines that were added or removed between two texts: a shortest edit script (Myers, 1986). */
export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** More edits than this are shown as one replacement: the exact search takes memory quadratic in their number. */
const EDITS_MAX = 2000

const all = (kind: DiffLine['kind'], lines: readonly string[]): DiffLine[] => lines.map(text => ({ kind, text }))

export function lineDifference(before: string, after: string): DiffLine[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < Math.min(old.length, fresh.length) && old[head] === fresh[head]) head++
  let tail = 0
  const tailMax = Math.min(old.length, fresh.length) - head
  while (tail < tailMax && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++
  const [oldMiddle, freshMiddle] = [old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)]
  return [
    ...all('same', old.slice(0, head)),
    ...(shortest(oldMiddle, freshMiddle) ?? [...all('removed', oldMiddle), ...all('added', freshMiddle)]),
    ...all('same', old.slice(old.length - tail)),
  ]
}

/** The furthest position on each diagonal, after each number of edits. */
function shortest(old: readonly string[], fresh: readonly string[]): DiffLine[] | undefined {
  const trace: Map<number, number>[] = []
  let furthest = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(EDITS_MAX, old.length + fresh.length); edits++) {
    trace.push(furthest)
    const next = new Map<number, number>()
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const [left, right] = [furthest.get(diagonal - 1) ?? -1, furthest.get(diagonal + 1) ?? -1]
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x++
      next.set(diagonal, x)
      if (x >= old.length && x - diagonal >= fresh.length) return walkBack(trace, old, fresh)
    }
    furthest = next
  }
  return undefined
}

function walkBack(
  trace: readonly ReadonlyMap<number, number>[],
  old: readonly string[],
  fresh: readonly string[],
): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [old.length, fresh.length]
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits]!
    const diagonal = x - y
    const [left, right] = [furthest.get(diagonal - 1) ?? -1, furthest.get(diagonal + 1) ?? -1]
    const isInsertion = diagonal === -edits || (diagonal !== edits && left < right)
    const before = isInsertion ? right : left
    const start = isInsertion ? before : before + 1
    while (x > start) {
      lines.push({ kind: 'same', text: old[--x]! })
      y--
    }
    if (edits === 0) break
    lines.push(isInsertion ? { kind: 'added', text: fresh[--y]! } : { kind: 'removed', text: old[--x]! })
  }
  return lines.reverse()
}
