/** Receives the body of a request at the speed of its client: one that stalls or is too slow ends in a fault. */
import type { IncomingMessage } from 'node:http'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { type ByteReader, PieceStream } from '../lib/piece-stream.ts'
import { noteExternalBytes } from '../lib/runtime.ts'
import { Fault } from '../model/faults.ts'
import { headerValue, type RawRequest } from './raw-request.ts'
import { type PendingWait, type Timeouts, TransferRate } from './timeouts.ts'

const ignore = (): void => {}

/** After any of these events there will be no more bytes. */
const LAST_EVENTS = ['end', 'close', 'error'] as const

/** Bytes that arrive in one turn of the event loop are read together, up to about this many. */
const BATCH_BYTES = 256 * 1024
/** The same for pieces, which a client may make as small as it likes, and which take memory and time of their own. */
const BATCH_PIECES = 1024

/** How much of an unread body is drained. */
export interface DiscardLimits {
  readonly bytesMax: number
  readonly ms: number
  /** At `bytesMax`, wait out the time instead of returning at once. */
  readonly waitsBeyond: boolean
}

/** The bytes of a request's body. */
export class IncomingBytes extends PieceStream implements PendingWait {
  readonly #message: IncomingMessage
  readonly #timeouts: Timeouts
  readonly #request: RawRequest
  /** Set once the body has a reader. */
  #pace: TransferRate | undefined
  #isListening = false
  #isWaiting = false
  /** A short body arrives with its headers and is readable after one turn of the event loop. */
  #isNew = true
  readonly #onData = (piece: Buffer): void => this.#receive(piece)
  readonly #onLast = (): void => this.#wake()
  #wake = ignore
  #isWakeScheduled = false
  /** Received, and not read yet. */
  #arrived: Buffer[] = []
  #arrivedBytes = 0
  #bytes = 0
  /** Bytes that arrived since the last wait for the client. */
  #unpaced = 0
  #cut: Fault | undefined
  #isAbandoned = false
  #refuse: (fault: Fault) => void = ignore

  constructor(message: IncomingMessage, timeouts: Timeouts, request: RawRequest) {
    super()
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

  /** Bytes received so far. */
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

  reader(): ByteReader {
    return { read: () => this.#read(), cancel: () => this.#stop() }
  }

  #read(): MaybePromise<Buffer | undefined> {
    if (this.#cut !== undefined) return Promise.reject(this.#cut)
    if (this.#isNew && !this.#message.complete) {
      this.#isNew = false
      return new Promise(setImmediate).then(() => this.#read())
    }
    return this.#hasNext() ? this.#next() : this.#wait()
  }

  #wait(): Promise<Buffer | undefined> {
    this.#pace ??= new TransferRate()
    this.#pace.wait(this.#timeouts.clock.now())
    this.#timeouts.begin(this)
    this.#isWaiting = true
    return new Promise((resolve, reject) => {
      this.#refuse = fault => {
        this.#stopWaiting()
        reject(fault)
      }
      this.#wake = () => {
        const isThere = this.#hasNext()
        if (!isThere && !this.#message.destroyed) return
        this.#stopWaiting()
        if (isThere) return resolve(this.#next())
        this.#isAbandoned = true
        reject(this.#incomplete())
      }
      this.#listen()
      this.#wake()
    })
  }

  /** There are bytes, or the end, without waiting. */
  #hasNext(): boolean {
    if (this.#arrived.length === 0 && !this.#isListening) this.#receive(this.#message.read() as Buffer | null)
    return this.#arrived.length > 0 || this.#isRead()
  }

  /** Undefined at the end. */
  #next(): Buffer | undefined {
    const piece = this.#arrived.shift()
    this.#arrivedBytes -= piece?.length ?? 0
    return piece
  }

  /**
   * The reader is woken once for all bytes of a turn of the event loop. While it is busy, about as many are received as
   * it can then read at once.
   */
  #receive(piece: Buffer | null): void {
    if (piece === null) return
    this.#arrived.push(piece)
    this.#arrivedBytes += piece.length
    this.#bytes += piece.length
    this.#unpaced += piece.length
    noteExternalBytes?.(piece.length)
    if (!this.#isListening) return
    if (this.#arrivedBytes >= BATCH_BYTES || this.#arrived.length >= BATCH_PIECES) {
      if (this.#isWaiting) this.#wake()
      else this.#message.pause()
    } else if (!this.#isWakeScheduled) {
      this.#isWakeScheduled = true
      setImmediate(() => {
        this.#isWakeScheduled = false
        this.#wake()
      })
    }
  }

  #stopWaiting(): void {
    this.#isWaiting = false
    this.#wake = ignore
    this.#refuse = ignore
    this.#pace?.arrived(this.#timeouts.clock.now(), this.#unpaced)
    this.#unpaced = 0
    this.#timeouts.end(this)
  }

  /** For `data`: the runtime's iterator costs more than a small body, and `read()` joins all that is buffered. */
  #listen(): void {
    if (!this.#isListening) {
      this.#isListening = true
      for (const event of LAST_EVENTS) this.#message.on(event, this.#onLast)
      this.#message.on('data', this.#onData)
    }
    if (this.#message.isPaused()) this.#message.resume()
  }

  /** A reader that stops early still has a response to send, so the connection must outlive the body. */
  async #stop(): Promise<void> {
    if (this.#isWaiting) this.#stopWaiting()
    if (this.#isListening) {
      for (const event of LAST_EVENTS) this.#message.off(event, this.#onLast)
      this.#message.off('data', this.#onData)
      // Without a listener, the runtime would go on to receive the rest and drop it.
      this.#message.pause()
    }
    this.#isListening = false
    this.#arrived = []
    this.#arrivedBytes = 0
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
