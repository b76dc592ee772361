/** How the parts of a process say what happened, and that it must not go on. */
import { OutcomeUnknown } from './meta/meta.ts'
import { OwnershipLost } from './store/fenced-meta.ts'

export interface Tell {
  log(line: Readonly<Record<string, unknown>>): void
  once(line: string): void
  /** The process must not go on. */
  end(): void
}

/** After these nobody knows what took effect: the next start finds out, this process must not guess. */
export const isFinal = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof OwnershipLost
