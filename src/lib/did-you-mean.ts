/** Which known name was probably meant by one that is not known. */

/** Edits of one letter that turn one word into the other (Levenshtein). */
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

/** Undefined when nothing is near. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const near = known
    .map(name => ({ name, far: distance(word, name) }))
    .filter(({ name, far }) => far <= DISTANCE_MAX && far < name.length)
    .sort((a, b) => a.far - b.far)
  return near[0]?.name
}

/** ` - did you mean …?`, or nothing when nothing is near. */
export function suggestion(word: string, known: readonly string[]): string {
  const name = closest(word, known)
  return name === undefined ? '' : ` - did you mean ${name}?`
}
