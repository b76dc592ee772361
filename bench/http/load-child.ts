/**
 * Sends the requests of a file over so many connections, each waiting for its answer before the next, and prints what
 * came of it. A process of its own with no more code than that, so that it is not what is measured.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { ResponseReader } from './response-reader.ts'

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

function requestsOf({ file, lengths }: Load): Buffer[] {
  const bytes = readFileSync(file)
  let at = 0
  return lengths.map(length => bytes.subarray(at, (at += length)))
}

/** All connections read into this memory, which takes a third less processor time than memory for each read. */
const arrived = Buffer.allocUnsafeSlow(64 * 1024)

/** Takes a tenth of a second's worth, then looks away for that long. */
class SlowReading {
  readonly #bytesPerSecond: number
  #taken = 0

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
  }

  read(socket: Socket, bytes: number): void {
    this.#taken += bytes
    if (this.#taken < this.#bytesPerSecond / 10) return
    this.#taken = 0
    socket.pause()
    setTimeout(() => socket.resume(), 100)
  }
}

class Lane {
  readonly #socket: Socket
  readonly #next: () => Buffer | undefined
  readonly #responses: ResponseReader
  answers = 0
  readonly done: Promise<void>

  constructor(load: Load, port: number, next: () => Buffer | undefined) {
    this.#next = next
    this.#responses = new ResponseReader(() => this.#answered())
    this.#responses.isBodiless = load.bodiless
    const slow = load.bytesPerSecond > 0 ? new SlowReading(load.bytesPerSecond) : undefined
    const callback = (length: number): boolean => {
      this.#responses.take(arrived.subarray(0, length))
      slow?.read(this.#socket, length)
      return true
    }
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: arrived, callback } })
    this.done = new Promise((resolve, reject) => {
      this.#socket.on('close', resolve)
      this.#socket.on('error', reject)
    })
    this.#send()
  }

  get bytes(): number {
    return this.#responses.bytes
  }

  end(): void {
    this.#socket.destroy()
  }

  #answered(): void {
    this.answers++
    this.#send()
  }

  #send(): void {
    const request = this.#next()
    if (request === undefined) this.#socket.end()
    else this.#socket.write(request)
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
