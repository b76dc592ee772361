/** Decides whether the engine's state of a key matches the second copy. Pure, with a table test. */
import { type CommitOrder, type CopyRow, compareOrder } from './copy-format.ts'

/**
 * `same`: as in the copy. `new`: written later than anything in the copy. `gone`: correctly absent. `missing`: in the
 * copy and not deleted. `outdated`: an older state, or one that was deleted.
 */
export type CopyVerdict = 'same' | 'new' | 'gone' | 'missing' | 'outdated'

interface EngineState {
  readonly value: Buffer
  readonly stamp: number
}

interface VerdictContext {
  /** The engine was read after this commit; later writes may or may not be visible. */
  readonly at: CommitOrder
  /** The engine has a note of a deletion that is in no journal yet. */
  readonly isNoted: boolean
  /** A process may have assigned this stamp without having journaled it yet. */
  isUnjournaled(stamp: number): boolean
  /** A program version without a journal may have changed the key since. */
  readonly isBypassed?: boolean
}

/** `known`: all writes of the key in the copy, oldest first. */
export function verdictOf(
  known: readonly CopyRow[],
  found: EngineState | undefined,
  context: VerdictContext,
): CopyVerdict {
  const { at, isNoted, isUnjournaled, isBypassed = false } = context
  let lastSettled = -1
  for (const [i, row] of known.entries()) if (compareOrder(row, at) <= 0) lastSettled = i
  const possible = lastSettled < 0 ? known : known.slice(lastSettled)
  if (found === undefined) {
    const mayBeAbsent = lastSettled < 0 || isNoted || isBypassed || possible.some(({ value }) => value === undefined)
    return mayBeAbsent ? 'gone' : 'missing'
  }
  // The stamp is not covered by the record's checksum, so the value decides.
  if (possible.some(({ value }) => value?.equals(found.value))) return 'same'
  const isKnown = known.some(({ value, stamp }) => value !== undefined && stamp === found.stamp)
  return !isKnown && (isBypassed || isUnjournaled(found.stamp)) ? 'new' : 'outdated'
}
