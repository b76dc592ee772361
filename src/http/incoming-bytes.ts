/** The bytes of a request's body, as long as they come: what stops coming, or comes too slowly, ends in a fault. */
import type { IncomingMessage } from 'node:http'
import { noteExternalBytes } from '../lib/runtime.ts'
import { Fault } from '../model/faults.ts'
import { headerValue, type RawRequest } from './raw-request.ts'
import { type PendingWait, type Timeouts, TransferRate } from './timeouts.ts'

const ignore = (): void => {}

/** After one of these there are bytes, or there never will be any. */
const EVENTS = ['readable', 'end', 'close', 'error'] as const

const END: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** How much of a body that nobody wants is read all the same. */
export interface DiscardLimits {
  readonly bytesMax: number
  readonly ms: number
  /** What is beyond is left where it is until the time is over, instead of ending this at once. */
  readonly waitsBeyond: boolean
}

export class IncomingBytes implements AsyncIterable<Buffer>, PendingWait {
  readonly #message: IncomingMessage
  readonly #timeouts: Timeouts
  readonly #request: RawRequest
  /** Of one that somebody reads. */
  #pace: TransferRate | undefined
  #isListening = false
  /** Short bodies come together with their heads, and are here as soon as the runtime gets to look behind those. */
  #isNew = true
  readonly #onEvent = (): void => this.#wake()
  #wake = ignore
  #bytes = 0
  /** Bytes that came since the client was last waited for. */
  #unpaced = 0
  #cut: Fault | undefined
  #isAbandoned = false
  #refuse: (fault: Fault) => void = ignore

  constructor(message: IncomingMessage, timeouts: Timeouts, request: RawRequest) {
    this.#message = message
    this.#timeouts = timeouts
    this.#request = request
  }

  /** All of it has come, whether or not anybody has read it. */
  get isWhole(): boolean {
    return this.#message.complete
  }

  /** There is one, and nobody has read it to its end. */
  get isUnread(): boolean {
    const length = this.#announced()
    const isThere =
      length === undefined ? headerValue(this.#request, 'transfer-encoding') !== undefined : length !== '0'
    return isThere && !this.#isRead()
  }

  /** A stream says that it ended a while after its last bytes were taken: who waits for that waits for nothing. */
  #isRead(): boolean {
    const message = this.#message
    return message.readableEnded || (message.complete && message.readableLength === 0)
  }

  /** Asked for by hand, since headers that the runtime has to sort cost more than a small body. */
  #announced(): string | undefined {
    return headerValue(this.#request, 'content-length')
  }

  get isCut(): boolean {
    return this.#cut !== undefined
  }

  /** The client has disconnected. It may take the socket a moment to notice. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** So many have been read. */
  get bytes(): number {
    return this.#bytes
  }

  /** The reader gets the fault, now or later. */
  cut(fault: Fault): void {
    this.#cut ??= fault.code === 'IncompleteBody' ? this.#incomplete() : fault
    // A client that ends in the middle of a body has disconnected, or is about to.
    this.#isAbandoned ||= this.#cut.code === 'IncompleteBody'
    this.#refuse(this.#cut)
  }

  isOver(now: number): boolean {
    return this.#pace?.isTooSlow(now) === true
  }

  expire(): void {
    this.cut(new Fault('RequestTimeout'))
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return { next: () => this.#next(), return: () => this.#stop() }
  }

  /**
   * Reads the message itself: an iterator of the runtime's watches for every end that a stream can come to, which costs
   * a small body more than its bytes do.
   */
  #next(): Promise<IteratorResult<Buffer>> {
    if (this.#cut !== undefined) return Promise.reject(this.#cut)
    if (this.#isNew && !this.#message.complete) {
      this.#isNew = false
      return new Promise(setImmediate).then(() => this.#next())
    }
    try {
      const step = this.#step()
      if (step !== undefined) return Promise.resolve(step)
    } catch (error) {
      return Promise.reject(error)
    }
    this.#pace ??= new TransferRate()
    this.#pace.wait(this.#timeouts.now())
    this.#timeouts.begin(this)
    return new Promise((resolve, reject) => {
      this.#refuse = fault => {
        this.#stopWaiting()
        reject(fault)
      }
      this.#wake = () => {
        try {
          const come = this.#step()
          if (come === undefined && !this.#message.destroyed) return
          this.#stopWaiting()
          if (come !== undefined) return resolve(come)
          this.#isAbandoned = true
          reject(this.#incomplete())
        } catch (error) {
          this.#stopWaiting()
          reject(error)
        }
      }
      this.#listen()
      this.#wake()
    })
  }

  /** Data that is there already: bytes, or the end. */
  #step(): IteratorResult<Buffer> | undefined {
    const value = this.#message.read() as Buffer | null
    if (value === null) return this.#isRead() ? END : undefined
    this.#bytes += value.length
    this.#unpaced += value.length
    noteExternalBytes(value.length)
    return { done: false, value }
  }

  #stopWaiting(): void {
    this.#wake = ignore
    this.#refuse = ignore
    this.#pace?.arrived(this.#timeouts.now(), this.#unpaced)
    this.#unpaced = 0
    this.#timeouts.end(this)
  }

  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    for (const event of EVENTS) this.#message.on(event, this.#onEvent)
  }

  /** A reader that stops in the middle still owes the client a response: the connection outlives the body. */
  async #stop(): Promise<IteratorResult<Buffer>> {
    if (this.#isListening) for (const event of EVENTS) this.#message.off(event, this.#onEvent)
    this.#isListening = false
    return END
  }

  /** Reads and throws away what is on its way, for a moment: until it ends, is too much, or its connection is gone. */
  async discard({ bytesMax, ms, waitsBeyond }: DiscardLimits): Promise<void> {
    const message = this.#message
    const { socket } = message
    // A reader that stopped may still hold the body, and nothing would arrive here.
    await this.#stop()
    return new Promise(resolve => {
      if (this.#cut !== undefined || socket.destroyed) return resolve()
      const since = this.#timeouts.now()
      const wait: PendingWait = { isOver: now => now - since >= ms, expire: () => done() }
      let bytes = 0
      const count = (chunk: Buffer): void => {
        bytes += chunk.length
        if (bytes <= bytesMax) return
        if (waitsBeyond) message.pause()
        else done()
      }
      const done = (): void => {
        this.#timeouts.end(wait)
        message.off('data', count)
        message.off('end', done)
        socket.off('close', done)
        message.pause()
        resolve()
      }
      this.#refuse = done
      this.#timeouts.begin(wait)
      message.on('data', count)
      message.on('end', done)
      socket.on('close', done)
      message.resume()
    })
  }

  #incomplete(): Fault {
    const expected = this.#announced()
    return new Fault('IncompleteBody', {
      ...(expected === undefined ? {} : { NumberBytesExpected: expected }),
      NumberBytesProvided: this.#bytes + this.#message.readableLength,
    })
  }
}
