/**
 * Clients that each send a request now and then, for as long as they are told, and once a minute a line with what came
 * of it. A response that is no success ends the process.
 */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { ResponseReader } from '../http/response-reader.ts'
import { presignedPath } from '../http/signed.ts'

export interface Clients {
  readonly port: number
  readonly connections: number
  /** From one request of a connection to its next. */
  readonly everyMs: number
  readonly minutes: number
  readonly minuteMs: number
  readonly mix: 'all' | 'small reads'
}

/** One minute. Times are those of GETs of 4 KiB. */
export interface Minute {
  readonly answers: number
  readonly medianMs: number
  readonly p99Ms: number
}

interface Request {
  readonly head: string
  readonly body?: Buffer
  readonly isHead?: boolean
  readonly isTimed?: boolean
}

const KIB = 1024
const READ_SIZES = [4, 4, 4, 4, 4, 4, 4, 64, 256, 1024].map(kib => kib * KIB)
const WRITE_SIZES = [2, 2, 2, 2, 4, 4, 4, 64, 64, 256, 1024].map(kib => kib * KIB)
const KEYS_PER_SIZE = 64

const { port, connections, everyMs, minutes, minuteMs, mix } = JSON.parse(process.argv[2]!) as Clients
const host = `127.0.0.1:${port}`
const bodies = new Map([...READ_SIZES, ...WRITE_SIZES].map(size => [size, randomBytes(size)]))
const below = (limit: number): number => Math.floor(Math.random() * limit)
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)]!

const heads = new Map<string, string>()
/** Signed for a day, once for each path. */
function headOf(method: string, path: string, query = '', length?: number): string {
  const name = `${method} ${path} ${query}`
  const known = heads.get(name)
  if (known !== undefined) return known
  const lines = [`${method} ${presignedPath(host, { method, path, query })} HTTP/1.1`, `host: ${host}`]
  if (length !== undefined) lines.push(`content-length: ${length}`)
  const head = `${lines.join('\r\n')}\r\n\r\n`
  heads.set(name, head)
  return head
}

const keyOf = (size: number): string => `/bench/${size}-${below(KEYS_PER_SIZE)}`

function put(path: string, size: number): Request {
  return { head: headOf('PUT', path, '', size), body: bodies.get(size)! }
}

function anyRequest(): Request {
  const dice = mix === 'all' ? Math.random() : 0
  if (dice < 0.6) {
    const size = mix === 'all' ? oneOf(READ_SIZES) : 4 * KIB
    return { head: headOf('GET', keyOf(size)), isTimed: size === 4 * KIB }
  }
  if (dice < 0.75) return { head: headOf('HEAD', keyOf(oneOf(READ_SIZES))), isHead: true }
  if (dice < 0.9) {
    const size = oneOf(WRITE_SIZES)
    return put(`/bench/written-${size}-${below(16 * KEYS_PER_SIZE)}`, size)
  }
  if (dice < 0.95)
    return { head: headOf('DELETE', `/bench/written-${oneOf(WRITE_SIZES)}-${below(16 * KEYS_PER_SIZE)}`) }
  return { head: headOf('GET', '/bench', 'list-type=2&max-keys=100') }
}

let answers = 0
let times: number[] = []
let isOver = false

class Client {
  readonly #socket = connect({ port, host: '127.0.0.1', noDelay: true })
  readonly #responses = new ResponseReader(() => this.#answered())
  #sent: Request | undefined
  #sentAt = 0
  /** One at a time, in order. */
  readonly #first: Request[]

  constructor(first: Request[], delayMs: number) {
    this.#first = first
    this.#socket.on('data', chunk => this.#responses.take(chunk))
    this.#socket.on('close', () => {
      if (!isOver) throw new Error('the server closed a connection')
    })
    setTimeout(() => this.#send(), delayMs)
  }

  #send(): void {
    if (isOver) {
      this.#socket.destroy()
      return
    }
    const request = this.#first.pop() ?? anyRequest()
    this.#sent = request
    this.#responses.isBodiless = request.isHead === true
    this.#sentAt = performance.now()
    this.#socket.write(request.head)
    if (request.body !== undefined) this.#socket.write(request.body)
  }

  #answered(): void {
    answers++
    const took = performance.now() - this.#sentAt
    if (this.#sent?.isTimed === true) times.push(took)
    setTimeout(() => this.#send(), this.#first.length > 0 ? 0 : Math.max(0, everyMs - took))
  }
}

function report(): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  const minute: Minute = { answers, medianMs: at(0.5), p99Ms: at(0.99) }
  answers = 0
  times = []
  process.stdout.write(`${JSON.stringify(minute)}\n`)
}

/** The objects that are read. The first connection puts them before the others begin. */
const filled = mix === 'small reads' ? [] : [...new Set(READ_SIZES)]
const puts = filled.flatMap(size => Array.from({ length: KEYS_PER_SIZE }, (_, n) => put(`/bench/${size}-${n}`, size)))
const FILL_MS = 5_000
for (let n = 0; n < connections; n++)
  new Client(n === 0 ? puts : [], n === 0 ? 0 : FILL_MS + (everyMs * n) / connections)
setTimeout(() => {
  ;[answers, times] = [0, []]
  let left = minutes
  const timer = setInterval(() => {
    report()
    if (--left > 0) return
    clearInterval(timer)
    isOver = true
  }, minuteMs)
}, FILL_MS)
