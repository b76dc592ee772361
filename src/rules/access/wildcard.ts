/**
 * Patterns with `*` (any run of characters) and `?` (one character). A pattern is cut at its stars; the first and the
 * last piece are compared in place and each piece between is looked for once, from left to right, never going back.
 * The search keeps all partial matches as bits, so that its work is text × piece / 32 whatever the pattern is like.
 */

/** Any run of characters, and any one character, among the code points of a pattern. */
export const ANY_RUN = -1
export const ANY_ONE = -2

/** Code points, `ANY_RUN` and `ANY_ONE`. */
export type Tokens = readonly number[]

export interface Pattern {
  /** The text it stands for, when it has no wildcard. */
  readonly literal: string | undefined
  /** What a text must begin with, when the only wildcard is a star at the end: by far the most common kind. */
  readonly prefix: string | undefined
  /** The pieces between the runs; none are kept where one of the two above says it all. */
  readonly pieces: readonly Tokens[]
}

/** Counts the steps of a match, for those who must prove that there is an end to them. */
export interface Work {
  steps: number
}

export const literalTokens = (text: string): Tokens => Array.from(text, letter => letter.codePointAt(0)!)

export function wildcardTokens(text: string): Tokens {
  return Array.from(text, letter => (letter === '*' ? ANY_RUN : letter === '?' ? ANY_ONE : letter.codePointAt(0)!))
}

export function compile(tokens: Tokens): Pattern {
  const pieces: number[][] = [[]]
  let plain = true
  for (const token of tokens) {
    if (token < 0) plain = false
    if (token === ANY_RUN) pieces.push([])
    else pieces.at(-1)!.push(token)
  }
  // Stars in a row leave empty pieces between them, which are found everywhere.
  const kept = pieces.filter((piece, index) => piece.length > 0 || index === 0 || index === pieces.length - 1)
  const isPrefix = kept.length === 2 && kept[1]!.length === 0 && !kept[0]!.includes(ANY_ONE)
  if (plain) return { literal: textOf(tokens), prefix: undefined, pieces: [] }
  if (isPrefix) return { literal: undefined, prefix: textOf(kept[0]!), pieces: [] }
  return { literal: undefined, prefix: undefined, pieces: kept }
}

const textOf = (points: Tokens): string => points.map(point => String.fromCodePoint(point)).join('')

export const compileText = (text: string): Pattern => compile(wildcardTokens(text))

export function matches(pattern: Pattern, text: string, work: Work = { steps: 0 }): boolean {
  if (pattern.literal !== undefined) return pattern.literal === text
  if (pattern.prefix !== undefined) return text.startsWith(pattern.prefix)
  const { pieces } = pattern
  const first = pieces[0]!
  const last = pieces.at(-1)!
  const points = literalTokens(text)
  work.steps += points.length
  if (pieces.length === 1) return points.length === first.length && fits(first, points, 0, work)
  const end = points.length - last.length
  if (end < first.length || !fits(first, points, 0, work) || !fits(last, points, end, work)) return false
  let at: number | undefined = first.length
  for (const piece of pieces.slice(1, -1)) {
    at = find(piece, points, { from: at, to: end }, work)
    if (at === undefined) return false
  }
  return true
}

function fits(piece: Tokens, points: Tokens, at: number, work: Work): boolean {
  for (const [index, token] of piece.entries()) {
    work.steps += 1
    if (token !== ANY_ONE && token !== points[at + index]) return false
  }
  return true
}

const WORD_BITS = 32

/** Where the leftmost place of a piece ends, or undefined when it is nowhere between the two borders. */
function find(piece: Tokens, points: Tokens, { from, to }: { from: number; to: number }, work: Work) {
  const words = Math.ceil(piece.length / WORD_BITS)
  const masks = masksOf(piece, words)
  const elsewhere = masks.get(ANY_ONE)!
  const state = new Int32Array(words)
  const lastBit = 1 << ((piece.length - 1) % WORD_BITS)
  for (let at = from; at < to; at += 1) {
    const mask = masks.get(points[at]!) ?? elsewhere
    // A match may begin at every place, so a one is shifted in.
    let carry = 1
    for (let word = 0; word < words; word += 1) {
      const before = state[word]!
      state[word] = ((before << 1) | carry) & mask[word]!
      carry = before >>> (WORD_BITS - 1)
    }
    work.steps += words
    if ((state[words - 1]! & lastBit) !== 0) return at + 1
  }
  return undefined
}

/** For each code point of the piece, the positions that accept it; `ANY_ONE` has those that accept everything. */
function masksOf(piece: Tokens, words: number): Map<number, Int32Array> {
  const masks = new Map<number, Int32Array>([[ANY_ONE, new Int32Array(words)]])
  const everywhere = masks.get(ANY_ONE)!
  for (const [index, token] of piece.entries()) {
    if (token === ANY_ONE) everywhere[index >>> 5]! |= 1 << (index % WORD_BITS)
  }
  for (const [index, token] of piece.entries()) {
    if (token === ANY_ONE) continue
    const mask = masks.get(token) ?? everywhere.slice()
    mask[index >>> 5]! |= 1 << (index % WORD_BITS)
    masks.set(token, mask)
  }
  return masks
}
