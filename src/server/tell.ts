/** How the parts of a process say what happened, and that it must not go on. */
import { OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/fenced-meta.ts'

export interface Tell {
  log(line: Readonly<Record<string, unknown>>): void
  once(line: string): void
  /** The process must not go on. */
  end(): void
}

const LEVELS = ['error', 'warn', 'info'] as const
export type Level = (typeof LEVELS)[number]

export const isLevel = (value: unknown): value is Level => LEVELS.includes(value as Level)

/** The same, without lines that matter less than this. */
export function from(least: Level, tell: Tell): Tell {
  const matters = (level: unknown): boolean => !isLevel(level) || LEVELS.indexOf(level) <= LEVELS.indexOf(least)
  return {
    log: line => {
      if (matters(line.level)) tell.log(line)
    },
    once: line => tell.once(line),
    end: () => tell.end(),
  }
}

/** After these nobody knows what took effect: the next start finds out, this process must not guess. */
export const isFinal = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof OwnershipLost
