/**
 * Patterns with `*` (any run of characters) and `?` (one character). A pattern is split at its stars; the first and
 * last piece are compared in place and each piece between is searched once, left to right, without backtracking. Short
 * literal pieces use `indexOf`, and short others compare at each position. Long ones use a bit-parallel search
 * (shift-and) among the matches that fit, so that the work is at most piece × (text - piece) / 32 for any pattern.
 */

/** Any run of characters, and any one character, among the code points of a pattern. */
const ANY_RUN = -1
const ANY_ONE = -2

/** Code points, `ANY_RUN` and `ANY_ONE`. */
export type Tokens = readonly number[]

export interface Pattern {
  /** The exact text, when there is no wildcard. */
  readonly literal: string | undefined
  /** The required prefix, when the only wildcard is a trailing star: by far the most common kind. */
  readonly prefix: string | undefined
  /** The pieces between stars as texts, when all are literal and short. */
  readonly texts: readonly string[] | undefined
  /** The pieces otherwise; empty when one of the fields above is set. */
  readonly pieces: readonly Tokens[]
}

/** Counts the steps of a match, so that tests can bound them. */
interface MatchBudget {
  steps: number
}

const WORD_BITS = 32
/** Below this length the tables of a search cost more than they save. */
const SHORT_PIECE_MAX = 16
const NONE = { literal: undefined, prefix: undefined, texts: undefined, pieces: [] }

/** A loop, because `Array.from` takes several times as long for each pattern that a header is compared with. */
export function literalTokens(text: string): Tokens {
  const points: number[] = []
  for (let at = 0; at < text.length; at += 1) {
    const point = text.codePointAt(at)!
    points.push(point)
    if (point > 0xffff) at += 1
  }
  return points
}

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
  // Adjacent stars leave empty pieces between them, which match anywhere.
  const kept = pieces.filter((piece, index) => piece.length > 0 || index === 0 || index === pieces.length - 1)
  const isPrefix = kept.length === 2 && kept[1]!.length === 0 && !kept[0]!.includes(ANY_ONE)
  if (plain) return { ...NONE, literal: textOf(tokens) }
  if (isPrefix) return { ...NONE, prefix: textOf(kept[0]!) }
  const isSimple = kept.every(piece => piece.length <= WORD_BITS && !piece.includes(ANY_ONE))
  return isSimple ? { ...NONE, texts: kept.map(textOf) } : { ...NONE, pieces: kept }
}

const textOf = (points: Tokens): string => points.map(point => String.fromCodePoint(point)).join('')

export const compileText = (text: string): Pattern => compile(wildcardTokens(text))

export function matches(pattern: Pattern, text: string, work: MatchBudget = { steps: 0 }): boolean {
  if (pattern.literal !== undefined) return pattern.literal === text
  if (pattern.prefix !== undefined) return text.startsWith(pattern.prefix)
  return pattern.texts === undefined ? matchesPieces(pattern.pieces, text, work) : inOrder(pattern.texts, text, work)
}

function inOrder(texts: readonly string[], text: string, work: MatchBudget): boolean {
  const [first, last] = [texts[0]!, texts.at(-1)!]
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (let i = 1; i < texts.length - 1; i += 1) {
    const piece = texts[i]!
    const found = text.indexOf(piece, at)
    work.steps += (found < 0 ? text.length : found) + piece.length - at
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

function matchesPieces(pieces: readonly Tokens[], text: string, work: MatchBudget): boolean {
  const first = pieces[0]!
  const final = pieces.at(-1)!
  const minimum = pieces.reduce((sum, { length }) => sum + length, 0)
  work.steps += pieces.length
  if (text.length < minimum) return false
  const points = literalTokens(text)
  work.steps += points.length
  if (points.length < minimum) return false
  if (pieces.length === 1) return points.length === first.length && fits(first, points, 0, work)
  const end = points.length - final.length
  if (end < first.length || !fits(first, points, 0, work) || !fits(final, points, end, work)) return false
  let at: number | undefined = first.length
  for (const piece of pieces.slice(1, -1)) {
    at = find(piece, points, { from: at, to: end }, work)
    if (at === undefined) return false
  }
  return true
}

function fits(piece: Tokens, points: Tokens, at: number, work: MatchBudget): boolean {
  for (let index = 0; index < piece.length; index += 1) {
    work.steps += 1
    if (piece[index] !== ANY_ONE && piece[index] !== points[at + index]) return false
  }
  return true
}

/** One row of bits per ASCII character; others are in a map. */
const ROWS = 128

/** The end of the leftmost match of a piece between `from` and `to`; undefined when there is none. */
function find(piece: Tokens, points: Tokens, { from, to }: { from: number; to: number }, work: MatchBudget) {
  const lastStart = to - piece.length
  if (lastStart < from) return undefined
  if (piece.length > SHORT_PIECE_MAX) return findLong(piece, points, { from, lastStart }, work)
  for (let at = from; at <= lastStart; at += 1) if (fits(piece, points, at, work)) return at + piece.length
  return undefined
}

function findLong(
  piece: Tokens,
  points: Tokens,
  { from, lastStart }: { from: number; lastStart: number },
  work: MatchBudget,
) {
  const words = Math.ceil(piece.length / WORD_BITS)
  const { rows, others } = masksOf(piece, words)
  const state = new Int32Array(words)
  const elsewhere = others.get(ANY_ONE)!
  const lastBit = 1 << ((piece.length - 1) % WORD_BITS)
  for (let at = from; at < lastStart + piece.length; at += 1) {
    const point = points[at]!
    const isCommon = point < ROWS
    const mask = isCommon ? rows : (others.get(point) ?? elsewhere)
    const base = isCommon ? point * words : 0
    // Higher bits belong to matches that began before `from`, lower ones to matches that begin after `lastStart`.
    const highest = Math.min(words - 1, (at - from) >>> 5)
    const lowest = Math.max(0, at - lastStart) >>> 5
    // A match may begin at every position, so a one is shifted in.
    let carry = lowest === 0 ? 1 : state[lowest - 1]! >>> (WORD_BITS - 1)
    for (let word = lowest; word <= highest; word += 1) {
      const before = state[word]!
      state[word] = ((before << 1) | carry) & mask[base + word]!
      carry = before >>> (WORD_BITS - 1)
    }
    work.steps += highest - lowest + 1
    if ((state[words - 1]! & lastBit) !== 0) return at + 1
  }
  return undefined
}

/** Bit masks of the positions that accept each character: rows for ASCII, a map for others, `ANY_ONE` as default. */
function masksOf(piece: Tokens, words: number): { rows: Int32Array; others: ReadonlyMap<number, Int32Array> } {
  const rows = new Int32Array(ROWS * words)
  const everywhere = new Int32Array(words)
  for (const [index, token] of piece.entries()) {
    if (token === ANY_ONE) everywhere[index >>> 5]! |= 1 << (index % WORD_BITS)
  }
  for (let row = 0; row < ROWS; row += 1) rows.set(everywhere, row * words)
  const others = new Map([[ANY_ONE, everywhere]])
  for (const [index, token] of piece.entries()) {
    if (token === ANY_ONE) continue
    if (token >= ROWS && !others.has(token)) others.set(token, everywhere.slice())
    const mask = token < ROWS ? rows : others.get(token)!
    const base = token < ROWS ? token * words : 0
    mask[base + (index >>> 5)]! |= 1 << (index % WORD_BITS)
  }
  return { rows, others }
}
