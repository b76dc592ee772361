/**
 * Sends the requests of a file over so many connections, each waiting for its answer before the next, and prints what
 * came of it. A process of its own with no more code than that, so that it is not what is measured.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

export interface Load {
  /** The connections are spread evenly over these. */
  readonly ports: readonly number[]
  readonly connections: number
  /** Stops after so many milliseconds or so many answers, whichever comes first. */
  readonly milliseconds: number
  readonly answers: number
  /** Lengths of the requests in the file. */
  readonly lengths: readonly number[]
  readonly file: string
  /** Sent by HEAD: answers have no body, whatever length they tell. */
  readonly bodiless: boolean
  /** Takes so many bytes a second on each connection; 0: as fast as they come. */
  readonly bytesPerSecond: number
}

export interface Loaded {
  readonly answers: number
  readonly bytes: number
  readonly milliseconds: number
}

const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')

function requestsOf({ file, lengths }: Load): Buffer[] {
  const bytes = readFileSync(file)
  let at = 0
  return lengths.map(length => bytes.subarray(at, (at += length)))
}

class Lane {
  readonly #socket: Socket
  readonly #next: () => Buffer | undefined
  readonly #bodiless: boolean
  #head: Buffer = Buffer.alloc(0)
  #bodyLeft = 0
  #isChunked = false
  answers = 0
  bytes = 0
  readonly done: Promise<void>

  constructor(load: Load, port: number, next: () => Buffer | undefined) {
    this.#next = next
    this.#bodiless = load.bodiless
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', chunk => this.#take(chunk))
    if (load.bytesPerSecond > 0) this.#slow(load.bytesPerSecond)
    this.done = new Promise((resolve, reject) => {
      this.#socket.on('close', resolve)
      this.#socket.on('error', reject)
    })
    this.#send()
  }

  /** Takes a tenth of a second's worth, then looks away for that long. */
  #slow(bytesPerSecond: number): void {
    let taken = 0
    this.#socket.on('data', chunk => {
      taken += chunk.length
      if (taken < bytesPerSecond / 10) return
      taken = 0
      this.#socket.pause()
      setTimeout(() => this.#socket.resume(), 100)
    })
  }

  end(): void {
    this.#socket.destroy()
  }

  #send(): void {
    const request = this.#next()
    if (request === undefined) this.#socket.end()
    else this.#socket.write(request)
  }

  #take(chunk: Buffer): void {
    this.bytes += chunk.length
    let at = 0
    while (at < chunk.length) {
      if (this.#bodyLeft > 0) {
        const taken = Math.min(this.#bodyLeft, chunk.length - at)
        at += taken
        this.#bodyLeft -= taken
      } else {
        const whole = this.#head.length === 0 ? chunk.subarray(at) : Buffer.concat([this.#head, chunk.subarray(at)])
        const mark = this.#isChunked ? LINE_END : HEAD_END
        const end = whole.indexOf(mark)
        if (end < 0) {
          this.#head = whole
          return
        }
        at = chunk.length - (whole.length - end - mark.length)
        const text = whole.toString('latin1', 0, end)
        this.#head = Buffer.alloc(0)
        if (this.#isChunked) this.#beginChunk(text)
        else this.#bodyLeft = this.#lengthOf(text)
      }
      if (this.#bodyLeft === 0 && !this.#isChunked) {
        this.answers++
        this.#send()
      }
    }
  }

  /** The last chunk is empty, and an empty line follows it. */
  #beginChunk(sizeLine: string): void {
    const size = Number.parseInt(sizeLine, 16)
    this.#bodyLeft = size + LINE_END.length
    if (size === 0) this.#isChunked = false
  }

  #lengthOf(head: string): number {
    if (!head.startsWith('HTTP/1.1 20')) throw new Error(`an answer that nobody expected: ${head}`)
    if (this.#bodiless || head.startsWith('HTTP/1.1 204')) return 0
    this.#isChunked = /\r\ntransfer-encoding: ?chunked/i.test(head)
    if (this.#isChunked) return 0
    const length = /\r\ncontent-length: ?(\d+)/i.exec(head)
    if (length === null) throw new Error(`an answer without a length: ${head}`)
    return Number(length[1])
  }
}

const load = JSON.parse(process.argv[2]!) as Load
const requests = requestsOf(load)
let sent = 0
let isOver = false
const next = (): Buffer | undefined => (isOver || sent >= load.answers ? undefined : requests[sent++ % requests.length])
const startedAt = performance.now()
const portOf = (lane: number): number => load.ports[lane % load.ports.length]!
const lanes = Array.from({ length: load.connections }, (_, lane) => new Lane(load, portOf(lane), next))
const timer = setTimeout(() => {
  isOver = true
  if (load.bytesPerSecond > 0) for (const lane of lanes) lane.end()
}, load.milliseconds)
await Promise.all(lanes.map(lane => lane.done))
clearTimeout(timer)
const milliseconds = performance.now() - startedAt
const sum = (figure: (lane: Lane) => number): number => lanes.reduce((total, lane) => total + figure(lane), 0)
const loaded: Loaded = { answers: sum(lane => lane.answers), bytes: sum(lane => lane.bytes), milliseconds }
process.stdout.write(`${JSON.stringify(loaded)}\n`)
