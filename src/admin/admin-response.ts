/** How the console answers: in one piece, or as something long comes along, for as long as the client takes it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { breakOff } from '../http/break-off.ts'
import { TIMEOUTS } from '../http/timeouts.ts'
import type { Clock } from '../lib/clock.ts'
import { Fault } from '../model/faults.ts'

/** What is said here is for the one who asked, and but for one nothing of it is a page. */
const HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
]

/** The most that is buffered to give an HTTP/1.0 client a response of known length. */
const COLLECTED_BYTES_MAX = 16 * 2 ** 20

/** A long answer of which the first piece is there: until then a failure can still be answered with an error. */
export interface StartedResponse {
  readonly contentType: string
  readonly pieces: AsyncIterator<string | Buffer>
  readonly first: IteratorResult<string | Buffer>
  /** Known when all of it is there. */
  readonly length?: number
}

export async function beginResponse(
  contentType: string,
  long: AsyncIterable<string | Buffer>,
  { httpVersion }: Pick<IncomingMessage, 'httpVersion'>,
): Promise<StartedResponse> {
  const pieces = long[Symbol.asyncIterator]()
  const answer = { contentType, pieces, first: await pieces.next() }
  return httpVersion === '1.0' ? collected(answer) : answer
}

async function* all({ first, pieces }: StartedResponse): AsyncGenerator<string | Buffer> {
  try {
    for (let step = first; step.done !== true; step = await pieces.next()) yield step.value
  } finally {
    await pieces.return?.()
  }
}

/**
 * HTTP/1.0 marks the end of a body of unknown length by closing the connection, which looks the same when it fails: the
 * whole of it is read before the answer begins.
 */
async function collected(answer: StartedResponse): Promise<StartedResponse> {
  const bytes: Buffer[] = []
  let size = 0
  for await (const piece of all(answer)) {
    bytes.push(Buffer.from(piece as string))
    size += bytes.at(-1)!.length
    if (size > COLLECTED_BYTES_MAX)
      throw new Fault('InvalidRequest', { reason: 'This answer is too long for HTTP/1.0.' })
  }
  const whole = Buffer.concat(bytes)
  const pieces = { next: async () => ({ done: true, value: undefined }) as const }
  return { contentType: answer.contentType, pieces, first: { done: false, value: whole }, length: size }
}

export class AdminResponse {
  readonly #message: IncomingMessage
  readonly #response: ServerResponse
  readonly #clock: Clock

  constructor(message: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.#message = message
    this.#response = response
    this.#clock = clock
  }

  plain(status: number, text: string): Promise<void> {
    return this.#send(status, 'text/plain', text)
  }

  /** The same as the last answer on its connection. */
  last(status: number, text: string): Promise<void> {
    this.#response.setHeader('connection', 'close')
    return this.plain(status, text)
  }

  page(text: string, policy: string): Promise<void> {
    return this.#send(200, 'text/html; charset=utf-8', text, policy)
  }

  reply(status: number, answer: unknown): Promise<void> {
    if (status === 204) return this.#send(status, undefined, '')
    return this.#send(status, 'application/json', `${JSON.stringify(answer)}\n`)
  }

  refuse(fault: Fault, requestId: string): Promise<void> {
    const { code, detail } = fault
    if (detail.retryAfter !== undefined) this.#response.setHeader('retry-after', detail.retryAfter as number)
    const text = JSON.stringify({ code, message: detail.reason ?? fault.message, requestId })
    return this.#send(fault.status, 'application/json', `${text}\n`)
  }

  async stream(answer: StartedResponse, onError: (error: unknown) => void): Promise<void> {
    const response = this.#response
    for (const [name, value] of HEADERS) response.setHeader(name, value)
    response.setHeader('content-type', answer.contentType)
    if (answer.length !== undefined) response.setHeader('content-length', answer.length)
    response.writeHead(200)
    try {
      for await (const piece of all(answer)) {
        if (response.destroyed || this.#message.socket.destroyed) return
        if (!response.write(piece)) await this.#taken('drain')
      }
      await this.#end()
    } catch (error) {
      onError(error)
      this.#breakOff()
    }
  }

  #breakOff(): void {
    breakOff(this.#response, this.#message.socket)
  }

  #send(status: number, type: string | undefined, text: string, policy?: string): Promise<void> {
    const [message, response] = [this.#message, this.#response]
    for (const [name, value] of HEADERS) response.setHeader(name, value)
    if (policy !== undefined) response.setHeader('content-security-policy', policy)
    if (type !== undefined) response.setHeader('content-type', type)
    if (status !== 204) response.setHeader('content-length', Buffer.byteLength(text))
    // A body that nobody read is not drained: the connection ends instead.
    const unread = !message.readableEnded && Number(message.headers['content-length'] ?? 0) > 0
    if (unread || message.headers['transfer-encoding'] !== undefined) response.setHeader('connection', 'close')
    response.writeHead(status)
    return this.#end(message.method === 'HEAD' ? undefined : text)
  }

  async #end(text?: string): Promise<void> {
    this.#response.end(text)
    if (!this.#response.writableFinished) await this.#taken('finish')
  }

  /** A client that stops reading would keep what it asked for under way for ever: a backup's lease, a server's end. */
  #taken(event: 'drain' | 'finish'): Promise<void> {
    const response = this.#response
    const { socket } = this.#message
    return new Promise(resolve => {
      const stopWaiting = this.#clock.after(TIMEOUTS.untakenMs, () => this.#breakOff())
      const done = (): void => {
        stopWaiting()
        response.off(event, done).off('close', done)
        socket.off('close', done)
        resolve()
      }
      response.on(event, done).on('close', done)
      socket.on('close', done)
      if (response.destroyed || socket.destroyed) done()
    })
  }
}
