/** How the parts of a process say what happened, and that it must not go on. */
import { OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'

export interface Log {
  log(line: Readonly<Record<string, unknown>>): void
  once(line: string): void
  /** The process must not go on. */
  end(): void
}

const LEVELS = ['error', 'warn', 'info'] as const
export type LogLevel = (typeof LEVELS)[number]

export const isLogLevel = (value: unknown): value is LogLevel => LEVELS.includes(value as LogLevel)

/** The same, without lines that matter less than this. */
export function atLeast(least: LogLevel, tell: Log): Log {
  const matters = (level: unknown): boolean => !isLogLevel(level) || LEVELS.indexOf(level) <= LEVELS.indexOf(least)
  return {
    log: line => {
      if (matters(line.level)) tell.log(line)
    },
    once: line => tell.once(line),
    end: () => tell.end(),
  }
}

/** After these nobody knows what took effect: the next start finds out, this process must not guess. */
export const isFatal = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof OwnershipLost
