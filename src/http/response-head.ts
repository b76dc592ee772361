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

interface HeadParts {
  readonly status: number
  /** Names and values, one character per byte. They include the length of the body. */
  readonly headers: readonly (readonly [string, string])[]
  readonly isLast: boolean
  readonly keepAliveSeconds: number
  readonly now: number
}

/** Throws on a name or value that would end its line. */
export function responseHead({ status, headers, isLast, keepAliveSeconds, now }: HeadParts): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < headers.length; i++) {
    const [name, value] = headers[i]!
    checkName(name)
    if (INVALID.test(value)) throw new TypeError(`Invalid character in header ${name}`)
    text += `${name}: ${value}\r\n`
  }
  const connection = isLast ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}`
  return `${text}Date: ${dateOf(Math.floor(now / 1_000))}\r\nConnection: ${connection}\r\n\r\n`
}
