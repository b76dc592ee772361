/** The head of a response as the runtime writes it. */
import { STATUS_CODES } from 'node:http'
import { memoizeLast } from '../lib/memoize-last.ts'
import { isHeaderName } from './raw-request.ts'

const INVALID = /[^\t\x20-\x7e\x80-\xff]/

/** Names that were checked: few differ, except those of metadata. */
const names = new Set<string>()
const NAMES_MAX = 1_000

function checkName(name: string): void {
  if (names.has(name)) return
  if (!isHeaderName(name)) throw new TypeError(`Invalid character in the name of header ${JSON.stringify(name)}`)
  if (names.size < NAMES_MAX) names.add(name)
}

const dateOf = memoizeLast((second: number) => new Date(second * 1_000).toUTCString())

type Headers = readonly (readonly [string, string])[]

/** Of headers that several responses share; empty until the first of them is sent. */
const remembered = new WeakMap<Headers, string>()

/** These very headers will be sent again, and are never changed. */
export function rememberLines(headers: Headers): void {
  remembered.set(headers, '')
}

/** Names and values, one character per byte. Throws on a name or value that would end its line. */
export function headerLines(headers: Headers): string {
  const known = remembered.get(headers)
  if (known !== undefined && known !== '') return known
  const lines = checkedLines(headers)
  if (known !== undefined) remembered.set(headers, inOnePiece(lines))
  return lines
}

/** The same text, not as the pieces of which V8 would copy each whenever it is sent. */
const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

function checkedLines(headers: Headers): string {
  let lines = ''
  for (let i = 0; i < headers.length; i++) {
    const [name, value] = headers[i]!
    checkName(name)
    if (INVALID.test(value)) throw new TypeError(`Invalid character in header ${name}`)
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

interface HeadParts {
  readonly status: number
  /** As `headerLines` returns them. They include the length of the body. */
  readonly lines: string
  /** The side that wants the connection to close after the response; undefined if it stays open. */
  readonly closing: 'by client' | 'by server' | undefined
  readonly keepAliveSeconds: number
  readonly now: number
}

export function responseHead({ status, lines, closing, keepAliveSeconds, now }: HeadParts): string {
  const start = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}`
  const date = dateOf(Math.floor(now / 1_000))
  if (closing === 'by server') return `${start}connection: close\r\nDate: ${date}\r\n\r\n`
  const connection = closing === undefined ? `keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}` : 'close'
  return `${start}Date: ${date}\r\nConnection: ${connection}\r\n\r\n`
}
