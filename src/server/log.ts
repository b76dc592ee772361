/** The log of a process: the logger passed to its parts, and the lines written to standard error. */

import { printable } from '../lib/printable.ts'
import { OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { RequestLine } from '../telemetry/exchange-recorder.ts'

export interface Logger {
  log(record: LogRecord): void
  notice(line: string): void
  /** Ends the process, which must not continue. */
  abort(): void
}

export type LogFormat = 'auto' | 'text' | 'json'

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

type LogRecord = Readonly<Record<string, unknown>>
/** Renders a record as a line: JSON for programs, text for people. */
type Render = (record: LogRecord, time: string) => string

/** The longest atomic write to a pipe: a longer one may be interleaved with another process's. */
const WRITE_BYTES_MAX = 4096

let lastTime = { now: 0, text: new Date(0).toISOString() }

/** Under load many lines have the same time. */
export function timestamp(now: number): string {
  if (now !== lastTime.now) lastTime = { now, text: new Date(now).toISOString() }
  return lastTime.text
}

export const renderJsonLine: Render = (record, time) =>
  record instanceof RequestLine ? record.toJson(time) : printable(JSON.stringify({ time, ...record }))

const COLOURS = { error: 31, warn: 33, dim: 2, good: 32 } as const
type Colour = keyof typeof COLOURS

const painted = (text: string, colour: Colour | undefined, isColoured: boolean): string =>
  isColoured && colour !== undefined ? `\x1b[${COLOURS[colour]}m${text}\x1b[0m` : text

const colourOfStatus = (status: number): Colour => (status >= 500 ? 'error' : status >= 400 ? 'warn' : 'good')

/** Quoted when it contains white space or quotes. */
const word = (text: string): string => (/^[^\s"\\]+$/.test(text) ? printable(text) : printable(JSON.stringify(text)))

/** Time and level, with which every text line begins. */
function begun({ level }: LogRecord, time: string, isColoured: boolean): string {
  const name = String(level ?? 'info')
  const colour = name === 'error' || name === 'warn' ? name : undefined
  return `${painted(time, 'dim', isColoured)} ${painted(name.padEnd(5), colour, isColoured)}`
}

function requestText(line: RequestLine, time: string, isColoured: boolean): string {
  const { status, method, resource, operation, dialect, milliseconds, caller, code, message, why, host } = line
  const request = `${word(method || '-')} ${word(resource)} ${operation} ${dialect} ${milliseconds}ms`
  const by = `${word(caller ?? 'anonymous')} ${word(line.remoteAddress || '-')} ${line.requestId}`
  const error = code === 'ok' ? '' : ` ${code}${message === undefined ? '' : `: ${printable(message)}`}`
  const more =
    (why === undefined ? '' : ` (${printable(why)})`) +
    (host === undefined ? '' : ` host ${word(host)}`) +
    (line.aborted === undefined ? '' : ' aborted')
  const statusText = painted(String(status), colourOfStatus(status), isColoured)
  return `${begun(line, time, isColoured)} ${statusText} ${request} ${by}${error}${more}`
}

/** Indents further lines, so that none looks like a record of its own. */
const block = (text: string): string => text.split('\n').map(printable).join('\n    ')

/** The message has no label; every other field follows its name. */
function fieldText([name, value]: [string, unknown]): string {
  const text = typeof value === 'string' ? block(value) : printable(JSON.stringify(value))
  return name === 'message' ? text : `${name}: ${text}`
}

export const renderTextLine =
  (isColoured: boolean): Render =>
  (record, time) => {
    if (record instanceof RequestLine) return requestText(record, time, isColoured)
    const fields = Object.entries(record).filter(([name, value]) => name !== 'level' && value !== undefined)
    return `${begun(record, time, isColoured)} ${fields.map(fieldText).join(', ')}`
  }

/** The record with its longest strings truncated. */
function cut(record: LogRecord, most: number): LogRecord {
  const shorter = (_name: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > most ? `${value.slice(0, most)}…` : value
  const copy = JSON.parse(JSON.stringify(record, shorter)) as LogRecord
  return Object.assign(Object.create(Object.getPrototypeOf(record) as object) as object, copy) as LogRecord
}

/** Renders a record as one line that fits an atomic write. */
export function renderLine(record: LogRecord, time: string, render: Render): string {
  let line = `${render(record, time)}\n`
  // A UTF-16 unit has at most three bytes, so most lines need not be measured.
  if (3 * line.length <= WRITE_BYTES_MAX) return line
  for (let most = WRITE_BYTES_MAX / 2; Buffer.byteLength(line) > WRITE_BYTES_MAX && most > 0; most >>= 1) {
    line = `${render(cut(record, most), time)}\n`
  }
  return line
}

/** Bounds the lines that a long turn of the event loop keeps. */
const WAITING_MAX = 64

/**
 * Writes the lines of one turn of the event loop together, and renders those of requests then. A write per line would
 * cost a small request more than reading its object; rendering its line between two requests would take several times
 * as long as among other lines.
 */
export class LogLines<T extends object> {
  readonly #render: (record: T, now: number) => string
  readonly #write: (text: string) => void
  #waiting: (string | T)[] = []
  #times: number[] = []
  #isDue = false

  /** Rendered lines end with a line feed. Rendering must not fail. */
  constructor(render: (record: T, now: number) => string, write: (text: string) => void) {
    this.#render = render
    this.#write = write
  }

  /** Adds a complete line, or a record that never changes. It is written before this turn of the event loop ends. */
  add(line: string | T, now: number): void {
    this.#waiting.push(line)
    this.#times.push(now)
    if (this.#waiting.length >= WAITING_MAX) this.flush()
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  flush(): void {
    const [waiting, times] = [this.#waiting, this.#times]
    if (waiting.length === 0) return
    this.#waiting = []
    this.#times = []
    let lines: string[] = []
    let characters = 0
    for (let at = 0; at < waiting.length; at++) {
      const next = waiting[at]!
      const line = typeof next === 'string' ? next : this.#render(next, times[at]!)
      if (characters + line.length > WRITE_BYTES_MAX) {
        this.#writeTogether(lines)
        lines = []
        characters = 0
      }
      lines.push(line)
      characters += line.length
    }
    this.#writeTogether(lines)
  }

  #writeTogether(lines: readonly string[]): void {
    const text = lines.join('')
    // Measured once for all lines, since multibyte characters are rare.
    if (Buffer.byteLength(text) <= WRITE_BYTES_MAX) this.#write(text)
    else for (const line of lines) this.#write(line)
  }
}

interface LogStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Time for the response to be sent before the process exits. */
const LAST_WORDS_MS = 100

/** Text on a terminal, JSON otherwise, unless a format was chosen. */
export class ServerLog implements Logger {
  readonly #stream: LogStream
  readonly #lines: LogLines<RequestLine>
  readonly #isTerminal: boolean
  readonly #text: Render
  #render: Render

  constructor(stream: LogStream, env: NodeJS.ProcessEnv) {
    this.#stream = stream
    this.#lines = new LogLines(
      (line, now) => this.#rendered(line, now),
      text => void stream.write(text),
    )
    this.#isTerminal = stream.isTTY === true
    this.#text = renderTextLine(this.#isTerminal && !env.NO_COLOR && env.TERM !== 'dumb')
    this.#render = this.#isTerminal ? this.#text : renderJsonLine
  }

  /** Applies the configured format, which is unknown before. */
  use({ logFormat }: { readonly logFormat: LogFormat }): void {
    this.#lines.flush()
    const isText = logFormat === 'auto' ? this.#isTerminal : logFormat === 'text'
    this.#render = isText ? this.#text : renderJsonLine
  }

  log(record: LogRecord): void {
    const now = Date.now()
    this.#lines.add(record instanceof RequestLine ? record : this.#rendered(record, now), now)
    // The process may be about to exit after an error.
    if (record.level === 'error') this.#lines.flush()
  }

  #rendered(record: LogRecord, now: number): string {
    return renderLine(record, timestamp(now), this.#render)
  }

  /** A notice to the operator outside the log format. */
  notice(line: string): void {
    this.#lines.flush()
    this.#stream.write(`holdfast: ${line}\n`)
  }

  abort(): void {
    setTimeout(() => process.exit(1), LAST_WORDS_MS)
  }

  flush(): void {
    this.#lines.flush()
  }
}
