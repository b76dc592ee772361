/** Responses of the admin API: whole, or streamed for as long as the client keeps reading. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { breakOff } from '../http/break-off.ts'
import { TIMEOUTS } from '../http/timeouts.ts'
import type { Clock } from '../lib/clock.ts'
import { Fault } from '../model/faults.ts'

/** Responses are private to the caller, and only one of them is a page. */
const HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
]

/** Upper bound of the buffer that gives an HTTP/1.0 client a response of known length. */
const COLLECTED_BYTES_MAX = 16 * 2 ** 20

/** A streamed response whose first piece is ready: until then a failure can still become an error response. */
export interface StartedResponse {
  readonly contentType: string
  readonly pieces: AsyncIterator<string | Buffer>
  readonly first: IteratorResult<string | Buffer>
  /** Known when the response is complete. */
  readonly length?: number
}

export async function beginResponse(
  contentType: string,
  long: AsyncIterable<string | Buffer>,
  { httpVersion }: Pick<IncomingMessage, 'httpVersion'>,
): Promise<StartedResponse> {
  const pieces = long[Symbol.asyncIterator]()
  const answer = { contentType, pieces, first: await pieces.next() }
  return httpVersion === '1.0' ? collectAll(answer) : answer
}

async function* allPieces({ first, pieces }: StartedResponse): AsyncGenerator<string | Buffer> {
  try {
    for (let step = first; step.done !== true; step = await pieces.next()) yield step.value
  } finally {
    await pieces.return?.()
  }
}

/**
 * HTTP/1.0 marks the end of a body of unknown length by closing the connection, which looks the same as a failure, so
 * the whole body is read before the response starts.
 */
async function collectAll(answer: StartedResponse): Promise<StartedResponse> {
  const bytes: Buffer[] = []
  let size = 0
  for await (const piece of allPieces(answer)) {
    bytes.push(Buffer.from(piece as string))
    size += bytes.at(-1)!.length
    if (size > COLLECTED_BYTES_MAX)
      throw new Fault('InvalidRequest', { reason: 'This response is too long for HTTP/1.0. Use HTTP/1.1.' })
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

  /** Sends plain text and closes the connection. */
  plainAndClose(status: number, text: string): Promise<void> {
    this.#response.setHeader('connection', 'close')
    return this.plain(status, text)
  }

  page(text: string, policy: string): Promise<void> {
    return this.#send(200, 'text/html; charset=utf-8', text, [['content-security-policy', policy]])
  }

  /** A file, or a page with its own policy. */
  file(
    content: { readonly type: string; readonly bytes: Buffer; readonly encoding?: string | undefined },
    headers: readonly (readonly [string, string])[],
  ): Promise<void> {
    if (content.encoding !== undefined) this.#response.setHeader('content-encoding', content.encoding)
    return this.#send(200, content.type, content.bytes, headers)
  }

  setCookie(cookie: string): void {
    this.#response.setHeader('set-cookie', cookie)
  }

  json(status: number, answer: unknown): Promise<void> {
    if (status === 204) return this.#send(status, undefined, '')
    return this.#send(status, 'application/json', `${JSON.stringify(answer)}\n`)
  }

  fault(fault: Fault, requestId: string): Promise<void> {
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
      for await (const piece of allPieces(answer)) {
        if (response.destroyed || this.#message.socket.destroyed) return
        if (!response.write(piece)) await this.#waitForClient('drain')
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

  #send(
    status: number,
    type: string | undefined,
    text: string | Buffer,
    headers: readonly (readonly [string, string])[] = [],
  ): Promise<void> {
    const [message, response] = [this.#message, this.#response]
    for (const [name, value] of [...HEADERS, ...headers]) response.setHeader(name, value)
    if (type !== undefined) response.setHeader('content-type', type)
    if (status !== 204) response.setHeader('content-length', Buffer.byteLength(text))
    // An unread request body is not drained; the connection is closed instead.
    const unread = !message.readableEnded && Number(message.headers['content-length'] ?? 0) > 0
    if (unread || message.headers['transfer-encoding'] !== undefined) response.setHeader('connection', 'close')
    response.writeHead(status)
    return this.#end(message.method === 'HEAD' ? undefined : text)
  }

  async #end(text?: string | Buffer): Promise<void> {
    this.#response.end(text)
    if (!this.#response.writableFinished) await this.#waitForClient('finish')
  }

  /** Bounds the wait for a client that stops reading, which would hold up a backup's lease or a shutdown. */
  #waitForClient(event: 'drain' | 'finish'): Promise<void> {
    const response = this.#response
    const { socket } = this.#message
    return new Promise(resolve => {
      const stopWaiting = this.#clock.after(TIMEOUTS.responseStallMs, () => this.#breakOff())
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
