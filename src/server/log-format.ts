/** Renders log records as lines: JSON for programs, text for people, each with its time. */
import { printable } from '../lib/printable.ts'
import { RequestLine } from '../telemetry/request-log.ts'

export type LogRecord = Readonly<Record<string, unknown>>
export type Render = (record: LogRecord, time: string) => string

/** The longest atomic write to a pipe: a longer line may be interleaved with one of another process. */
const LINE_BYTES_MAX = 4096

export const timestamp = (now: number): string => new Date(now).toISOString()

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
  const asked = `${word(method || '-')} ${word(resource)} ${operation} ${dialect} ${milliseconds}ms`
  const by = `${word(caller ?? 'anonymous')} ${word(line.remoteAddress || '-')} ${line.requestId}`
  const told = code === 'ok' ? '' : ` ${code}${message === undefined ? '' : `: ${printable(message)}`}`
  const more =
    (why === undefined ? '' : ` (${printable(why)})`) +
    (host === undefined ? '' : ` host ${word(host)}`) +
    (line.aborted === undefined ? '' : ' aborted')
  const answered = painted(String(status), colourOfStatus(status), isColoured)
  return `${begun(line, time, isColoured)} ${answered} ${asked} ${by}${told}${more}`
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
  if (3 * line.length <= LINE_BYTES_MAX) return line
  for (let most = LINE_BYTES_MAX / 2; Buffer.byteLength(line) > LINE_BYTES_MAX && most > 0; most >>= 1) {
    line = `${render(cut(record, most), time)}\n`
  }
  return line
}
