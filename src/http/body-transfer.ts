/**
 * Transfers bodies at the speed of their clients: a request's body that stalls or arrives too slowly ends in a fault, a
 * response that its client does not read closes the connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { returnChunk } from '../lib/buffer-pool.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { noteExternalBytes, REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { Fault } from '../model/faults.ts'
import { breakOff } from './break-off.ts'
import { headerValue, type RawRequest } from './raw-request.ts'
import { type PendingWait, TIMEOUTS, type Timeouts, TransferRate } from './timeouts.ts'
import { WriteStride } from './write-stride.ts'

const ignore = (): void => {}

/** After any of these events there are bytes to read, or there never will be. */
const EVENTS = ['readable', 'end', 'close', 'error'] as const

const END: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** How much of an unread body is drained. */
interface DiscardLimits {
  readonly bytesMax: number
  readonly ms: number
  /** At `bytesMax`, wait out the time instead of returning at once. */
  readonly waitsBeyond: boolean
}

/** The bytes of a request's body. */
export class IncomingBytes implements AsyncIterable<Buffer>, PendingWait {
  readonly #message: IncomingMessage
  readonly #timeouts: Timeouts
  readonly #request: RawRequest
  /** Set once the body has a reader. */
  #pace: TransferRate | undefined
  #isListening = false
  #isWaiting = false
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
    this.#isWaiting = true
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
    this.#isWaiting = false
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
    if (this.#isWaiting) this.#stopWaiting()
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

/** Bytes drained from an unread body before its connection is closed. */
const LINGER: DiscardLimits = { bytesMax: 256 * 1024, ms: TIMEOUTS.lingerMs, waitsBeyond: false }
/**
 * Used where earlier responses may be unread: closing the connection would lose them. A client that sends all its
 * requests before it reads may need this much.
 */
const LINGER_UNREAD_RESPONSE: DiscardLimits = {
  bytesMax: 4 * 2 ** 20,
  ms: TIMEOUTS.unreadResponseMs,
  waitsBeyond: true,
}

/** A client that reads as fast as the server writes must not keep it from serving others. */
const UNPAUSED_BYTES_MAX = 2 ** 20

/** Resolves on one of these events, or when the connection has closed or timed out. */
function happens(
  on: { readonly response: ServerResponse; readonly socket: Socket; readonly timeouts: Timeouts },
  event: 'drain' | 'finish',
): Promise<void> {
  const { response, socket, timeouts } = on
  return new Promise(resolve => {
    const since = timeouts.clock.now()
    const wait: PendingWait = {
      // A response queued behind another has no socket yet and cannot drain.
      isOver: now => response.socket !== null && now - since >= TIMEOUTS.responseStallMs,
      expire: () => socket.destroy(),
    }
    const done = (): void => {
      timeouts.end(wait)
      response.off(event, done)
      response.off('close', done)
      socket.off('close', done)
      resolve()
    }
    response.on(event, done)
    response.on('close', done)
    // A queued response emits no event when its connection closes, so listen on the socket as well.
    socket.on('close', done)
    timeouts.begin(wait)
    if (socket.destroyed) done()
  })
}

/** Sends one response. */
export class ResponseWriter {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #timeouts: Timeouts
  readonly #stride: WriteStride
  /** Bytes written since this response last waited. */
  #unpaused = 0
  /** Body bytes handed to the connection. */
  bytes = 0

  constructor(response: ServerResponse, socket: Socket, timeouts: Timeouts) {
    this.#response = response
    this.#socket = socket
    this.#timeouts = timeouts
    this.#stride = new WriteStride(timeouts.clock)
  }

  #happens(event: 'drain' | 'finish'): Promise<void> {
    return happens({ response: this.#response, socket: this.#socket, timeouts: this.#timeouts }, event)
  }

  /** Ends the response and waits until it has drained: until then its bytes stay in memory. */
  end(body: Buffer | undefined): MaybePromise<void> {
    this.bytes += body?.length ?? 0
    this.#response.end(body)
    // A small response is already in the kernel's buffer.
    if (this.#response.writableLength > 0) return this.#happens('finish').then(() => this.#return(body))
    this.#return(body)
    return undefined
  }

  /** On a lost connection the kernel may never have taken the bytes. */
  #return(chunk: Buffer | undefined): void {
    if (chunk !== undefined && this.#response.writableLength === 0 && !this.#socket.destroyed) returnChunk(chunk)
  }

  #write(piece: Buffer): MaybePromise<void> {
    if (this.#unpaused >= UNPAUSED_BYTES_MAX) {
      this.#unpaused = 0
      return new Promise(setImmediate).then(() => this.#write(piece))
    }
    this.bytes += piece.length
    this.#unpaused += piece.length
    this.#stride.begin()
    if (this.#response.write(piece) || this.#isFlushed()) return this.#stride.end()
    this.#unpaused = 0
    return this.#happens('drain').then(() => this.#stride.end())
  }

  /** The runtime holds writes back until the end of the turn; true if the kernel takes all of them now. */
  #isFlushed(): boolean {
    if (!REPORTS_WRITTEN_BYTES || this.#response.socket !== this.#socket) return false
    this.#socket.uncork()
    return this.#socket.writableLength === 0
  }

  /** Rethrows the body's error. A response that breaks off closes its connection, so that it never looks complete. */
  async stream(body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        for (let at = 0; at < chunk.length; ) {
          if (this.#response.destroyed || this.#socket.destroyed) return
          const piece = chunk.subarray(at, at + this.#stride.bytes)
          at += piece.length
          const writing = this.#write(piece)
          if (writing instanceof Promise) await writing
        }
        this.#return(chunk)
      }
    } catch (error) {
      breakOff(this.#response, this.#socket)
      throw error
    }
    await this.end(undefined)
  }

  /**
   * The last response on a connection whose client is still sending. Some of that is drained: closing at once would
   * reset the connection, and the client might never see the response.
   */
  async endUnread(body: Buffer | undefined, unread: IncomingBytes, mayOwe: boolean): Promise<void> {
    if (body === undefined) this.#response.flushHeaders()
    else this.#response.write(body)
    this.bytes += body?.length ?? 0
    await unread.discard(mayOwe ? LINGER_UNREAD_RESPONSE : LINGER)
    // Earlier responses on the connection have not been sent yet.
    await this.end(undefined)
    this.#socket.end()
  }
}
