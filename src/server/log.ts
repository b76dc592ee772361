/** The logger that is passed to the parts of a process. */
import { OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'

export interface Logger {
  log(line: Readonly<Record<string, unknown>>): void
  notice(line: string): void
  /** Ends the process, which must not continue. */
  abort(): void
}

const LEVELS = ['error', 'warn', 'info'] as const
export type LogLevel = (typeof LEVELS)[number]

export const isLogLevel = (value: unknown): value is LogLevel => LEVELS.includes(value as LogLevel)

/** A logger that drops lines below this level. */
export function withLogLevel(least: LogLevel, logger: Logger): Logger {
  const matters = (level: unknown): boolean => !isLogLevel(level) || LEVELS.indexOf(level) <= LEVELS.indexOf(least)
  return {
    log: line => {
      if (matters(line.level)) logger.log(line)
    },
    notice: line => logger.notice(line),
    abort: () => logger.abort(),
  }
}

/** After these errors it is unknown which commits took effect; only a restart can find out. */
export const isFatal = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof OwnershipLost
