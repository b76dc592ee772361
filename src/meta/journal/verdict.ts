/** Whether the engine has of a key what the second copy says it must have. Pure: a table test goes through it. */
import { type CommitOrder, type CopyRow, compareOrder } from './rows.ts'

/**
 * `same`: as the copy says. `new`: written later than anything the copy knows. `gone`: rightly not there. `missing`:
 * the copy has it and nobody deleted it. `outdated`: an older state, or one that was deleted.
 */
export type CopyVerdict = 'same' | 'new' | 'gone' | 'missing' | 'outdated'

export interface EngineState {
  readonly value: Buffer
  readonly stamp: number
}

export interface Moment {
  /** The engine was read after this; what is later may be there or not. */
  readonly at: CommitOrder
  /** The engine itself notes a deletion that no journal tells of yet. */
  readonly isNoted: boolean
  /** A process may have given this stamp without its journal having told of it yet. */
  isUntold(stamp: number): boolean
  /** Somebody who kept no journal may have changed the key since. */
  readonly isLeftOut?: boolean
}

/** `known`: everything that the copy knows of the key, the oldest first. */
export function verdictOf(known: readonly CopyRow[], found: EngineState | undefined, moment: Moment): CopyVerdict {
  const { at, isNoted, isUntold, isLeftOut = false } = moment
  let settled = -1
  for (const [i, row] of known.entries()) if (compareOrder(row, at) <= 0) settled = i
  const possible = settled < 0 ? known : known.slice(settled)
  if (found === undefined) {
    const mayBeAbsent = settled < 0 || isNoted || isLeftOut || possible.some(({ value }) => value === undefined)
    return mayBeAbsent ? 'gone' : 'missing'
  }
  // A stamp stands outside the checksum of its record: the value says as much.
  if (possible.some(({ value }) => value?.equals(found.value))) return 'same'
  const isKnown = known.some(({ value, stamp }) => value !== undefined && stamp === found.stamp)
  return !isKnown && (isLeftOut || isUntold(found.stamp)) ? 'new' : 'outdated'
}
