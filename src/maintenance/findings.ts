/** The findings of a check, and pauses in which other work runs. */
import type { MaybePromise } from '../lib/maybe-promise.ts'

/** Receives each finding once; a check of a large store keeps none of them. */
export interface Findings {
  problem(text: string): void
  /** A version under a legal hold, as bucket/key@version. */
  held(version: string): void
}

/** Called often during long work. It may wait, and throws when the work is to end. */
export type Pace = () => MaybePromise<void>

/** For repeated passes, whose findings the first one has reported. */
export const UNREPORTED: Findings = { problem: () => {}, held: () => {} }
