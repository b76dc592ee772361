/** Suggests the known name closest to an unknown one. */

/** Levenshtein distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

const DISTANCE_MAX = 2

/** Undefined when no name is close enough. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const matches = known
    .map(name => ({ name, edits: distance(word, name) }))
    .filter(({ name, edits }) => edits <= DISTANCE_MAX && edits < name.length)
    .sort((a, b) => a.edits - b.edits)
  return matches[0]?.name
}

/** ` - did you mean …?`, or an empty string. */
export function suggestion(word: string, known: readonly string[]): string {
  const name = closest(word, known)
  return name === undefined ? '' : ` - did you mean ${name}?`
}
