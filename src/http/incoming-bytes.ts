/** The bytes of a request's body. A body that stalls or arrives too slowly ends in a fault. */
import type { IncomingMessage } from 'node:http'
import { noteExternalBytes } from '../lib/runtime.ts'
import { Fault } from '../model/faults.ts'
import { headerValue, type RawRequest } from './raw-request.ts'
import { type PendingWait, type Timeouts, TransferRate } from './timeouts.ts'

const ignore = (): void => {}

/** After any of these events there are bytes to read, or there never will be. */
const EVENTS = ['readable', 'end', 'close', 'error'] as const

const END: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** How much of an unread body is drained. */
export interface DiscardLimits {
  readonly bytesMax: number
  readonly ms: number
  /** At `bytesMax`, wait out the time instead of returning at once. */
  readonly waitsBeyond: boolean
}

export class IncomingBytes implements AsyncIterable<Buffer>, PendingWait {
  readonly #message: IncomingMessage
  readonly #timeouts: Timeouts
  readonly #request: RawRequest
  /** Set once the body has a reader. */
  #pace: TransferRate | undefined
  #isListening = false
  /** A short body arrives with its headers and is readable after one turn of the event loop. */
  #isNew = true
  readonly #onEvent = (): void => this.#wake()
  #wake = ignore
  #bytes = 0
  /** Bytes that arrived since the last wait for the client. */
  #unpaced = 0
  #cut: Fault | undefined
  #isAbandoned = false
  #refuse: (fault: Fault) => void = ignore

  constructor(message: IncomingMessage, timeouts: Timeouts, request: RawRequest) {
    this.#message = message
    this.#timeouts = timeouts
    this.#request = request
  }

  /** The body has arrived completely, read or not. */
  get isWhole(): boolean {
    return this.#message.complete
  }

  /** There is a body, and it has not been read to its end. */
  get isUnread(): boolean {
    const length = this.#declaredLength()
    const isThere =
      length === undefined ? headerValue(this.#request, 'transfer-encoding') !== undefined : length !== '0'
    return isThere && !this.#isRead()
  }

  /** A stream emits its end some time after its last bytes were read; waiting for it gains nothing. */
  #isRead(): boolean {
    const message = this.#message
    return message.readableEnded || (message.complete && message.readableLength === 0)
  }

  /** A lookup in the raw headers: letting the runtime parse them all costs more than a small body. */
  #declaredLength(): string | undefined {
    return headerValue(this.#request, 'content-length')
  }

  get isCut(): boolean {
    return this.#cut !== undefined
  }

  /** The client has disconnected. It may take the socket a moment to notice. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Fails the current or next read with this fault. */
  cut(fault: Fault): void {
    this.#cut ??= fault.code === 'IncompleteBody' ? this.#incomplete() : fault
    // A client that stops in the middle of a body has disconnected or is about to.
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
   * Reads the message directly: the runtime's iterator listens for every way a stream can end, which costs more than a
   * small body itself.
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
    this.#pace.wait(this.#timeouts.clock.now())
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

  /** Returns bytes, or the end, if available without waiting. */
  #step(): IteratorResult<Buffer> | undefined {
    const value = this.#message.read() as Buffer | null
    if (value === null) return this.#isRead() ? END : undefined
    this.#bytes += value.length
    this.#unpaced += value.length
    noteExternalBytes?.(value.length)
    return { done: false, value }
  }

  #stopWaiting(): void {
    this.#wake = ignore
    this.#refuse = ignore
    this.#pace?.arrived(this.#timeouts.clock.now(), this.#unpaced)
    this.#unpaced = 0
    this.#timeouts.end(this)
  }

  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    for (const event of EVENTS) this.#message.on(event, this.#onEvent)
  }

  /** A reader that stops early still has a response to send, so the connection must outlive the body. */
  async #stop(): Promise<IteratorResult<Buffer>> {
    if (this.#isListening) for (const event of EVENTS) this.#message.off(event, this.#onEvent)
    this.#isListening = false
    return END
  }

  /** Drains the body until it ends, a limit is reached, or the connection closes. */
  async discard({ bytesMax, ms, waitsBeyond }: DiscardLimits): Promise<void> {
    const message = this.#message
    const { socket } = message
    // An earlier reader may still be attached, and would receive the bytes.
    await this.#stop()
    return new Promise(resolve => {
      if (this.#cut !== undefined || socket.destroyed) return resolve()
      const since = this.#timeouts.clock.now()
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
    const expected = this.#declaredLength()
    return new Fault('IncompleteBody', {
      ...(expected === undefined ? {} : { NumberBytesExpected: expected }),
      NumberBytesProvided: this.#bytes + this.#message.readableLength,
    })
  }
}
