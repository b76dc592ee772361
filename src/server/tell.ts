/** How the parts of a process say what happened, and that it must not go on. */
import { OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/fenced-meta.ts'
import { RequestLine } from '../telemetry/request-log.ts'

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

/** What a pipe takes at once: a longer line may get mixed with one of another process. */
const LINE_BYTES_MAX = 4096

/** A record of the log as one line, with its longest texts cut if need be. */
export function wholeLine(record: Readonly<Record<string, unknown>>): string {
  let line = `${record instanceof RequestLine ? record.toText() : JSON.stringify(record)}\n`
  // A character has three bytes at most: nearly all lines need not be measured.
  if (3 * line.length <= LINE_BYTES_MAX) return line
  for (let most = LINE_BYTES_MAX / 2; Buffer.byteLength(line) > LINE_BYTES_MAX && most > 0; most >>= 1) {
    const cut = (_name: string, value: unknown): unknown =>
      typeof value === 'string' && value.length > most ? `${value.slice(0, most)}…` : value
    line = `${JSON.stringify(record, cut)}\n`
  }
  return line
}
