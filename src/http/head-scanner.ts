/**
 * Finds the headers of a request in its bytes, without making text of them. It knows the head of a GET or HEAD in its
 * usual form, with headers from a list, each sent once; whatever else arrives is for the parsers.
 */

/** Half of what the runtime's parser takes. */
const HEAD_BYTES_MAX = 8 * 1024

export const ABSENT = -1

const SPACE = 0x20
const COLON = 0x3a
const CARRIAGE_RETURN = 0x0d
const LINE_FEED = 0x0a
const QUESTION_MARK = 0x3f
/** The difference between both cases of a letter. */
const CASE_BIT = 0x20

/** One for each byte that the pattern matches. */
const bytesIn = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(pattern.test(String.fromCharCode(byte))))

const IN_NAME = bytesIn(/[\w!#$%&'*+\-.^`|~]/)
const IN_TARGET = bytesIn(/[!-~]/)
const IN_VALUE = bytesIn(/[ -~]/)

const GET = Buffer.from('GET /')
const HEAD = Buffer.from('HEAD /')
const VERSION = Buffer.from(' HTTP/1.1\r\n')
const CLOSE = Buffer.from('close')
const KEEP_ALIVE = Buffer.from('keep-alive')

function isAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false
  return true
}

/** Letters in lower case; no other character of a header's name becomes one of these by the bit. */
function isNamed(bytes: Buffer, at: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i++) if ((bytes[at + i]! | CASE_BIT) !== name[i]) return false
  return true
}

export class HeadScanner {
  /** The results are those of the last head that was accepted, and valid until the next is scanned. */
  bytes: Buffer = Buffer.alloc(0)
  isHead = false
  targetStart = 0
  /** Of the path, which a query may follow. */
  pathEnd = 0
  targetEnd = 0
  /** The client asked for its connection to be closed after the response. */
  isLast = false
  /** By the place of their name in the list, where the values start and end, without the space around them. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  readonly #byLength: (readonly { readonly place: number; readonly name: Buffer }[] | undefined)[] = []
  readonly #connection: number

  /** Names in lower case, made of letters, digits and hyphens. */
  constructor(names: readonly string[]) {
    for (const [place, name] of names.entries()) {
      if (!/^[a-z0-9-]+$/.test(name)) throw new RangeError(`unexpected name of a header: ${name}`)
      const others = this.#byLength[name.length] ?? []
      this.#byLength[name.length] = [...others, { place, name: Buffer.from(name) }]
    }
    this.starts = new Int32Array(names.length)
    this.ends = new Int32Array(names.length)
    this.#connection = names.indexOf('connection')
  }

  /** Whether the bytes are one whole head that it knows, and nothing else. */
  scan(bytes: Buffer): boolean {
    if (bytes.length > HEAD_BYTES_MAX) return false
    this.bytes = bytes
    this.starts.fill(ABSENT)
    let at = this.#scanRequestLine(bytes)
    while (at !== ABSENT && bytes[at] !== CARRIAGE_RETURN) at = this.#scanHeader(bytes, at)
    if (at === ABSENT || bytes[at + 1] !== LINE_FEED || at + 2 !== bytes.length) return false
    return this.#knowsConnection()
  }

  /** Where the first header starts. */
  #scanRequestLine(bytes: Buffer): number {
    this.isHead = isAt(bytes, 0, HEAD)
    if (!this.isHead && !isAt(bytes, 0, GET)) return ABSENT
    let at = (this.isHead ? HEAD : GET).length - 1
    this.targetStart = at
    while (IN_TARGET[bytes[at]!] === 1 && bytes[at] !== QUESTION_MARK) at++
    this.pathEnd = at
    while (IN_TARGET[bytes[at]!] === 1) at++
    this.targetEnd = at
    return isAt(bytes, at, VERSION) ? at + VERSION.length : ABSENT
  }

  /** Where the next one starts. */
  #scanHeader(bytes: Buffer, start: number): number {
    let at = start
    while (IN_NAME[bytes[at]!] === 1) at++
    const place = bytes[at] === COLON ? this.#placeOf(bytes, start, at) : ABSENT
    if (place === ABSENT || this.starts[place] !== ABSENT) return ABSENT
    do at++
    while (bytes[at] === SPACE)
    this.starts[place] = at
    let end = at
    for (; IN_VALUE[bytes[at]!] === 1; at++) {
      if (bytes[at] !== SPACE) end = at + 1
      // A signature covers a run of spaces as one.
      else if (bytes[at + 1] === SPACE) return ABSENT
    }
    this.ends[place] = end
    return bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED ? at + 2 : ABSENT
  }

  #placeOf(bytes: Buffer, start: number, end: number): number {
    const candidates = this.#byLength[end - start]
    if (candidates === undefined) return ABSENT
    for (const { place, name } of candidates) if (isNamed(bytes, start, name)) return place
    return ABSENT
  }

  #knowsConnection(): boolean {
    const start = this.starts[this.#connection] ?? ABSENT
    this.isLast = false
    if (start === ABSENT) return true
    const length = this.ends[this.#connection]! - start
    this.isLast = length === CLOSE.length && isNamed(this.bytes, start, CLOSE)
    return this.isLast || (length === KEEP_ALIVE.length && isNamed(this.bytes, start, KEEP_ALIVE))
  }
}
