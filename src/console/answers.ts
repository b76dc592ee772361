/** How the console answers: in one piece, or as something long comes along, for as long as the client takes it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PATIENCE } from '../edge/patience.ts'
import type { Clock } from '../lib/clock.ts'
import type { Fault } from '../model/faults.ts'
import { isLines, type Lines, type Stream } from './route.ts'

/** What is said here is for the one who asked, and but for one nothing of it is a page. */
const HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
]

export class Answering {
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

  async stream(answer: Lines | Stream, onError: (error: unknown) => void): Promise<void> {
    const response = this.#response
    for (const [name, value] of HEADERS) response.setHeader(name, value)
    response.setHeader('content-type', answer.contentType)
    response.writeHead(200)
    try {
      for await (const piece of isLines(answer) ? answer.lines : answer.bytes) {
        if (response.destroyed) return
        if (!response.write(piece)) await this.#taken('drain')
      }
      await this.#end()
    } catch (error) {
      onError(error)
      // Never as if it were complete.
      response.destroy()
    }
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
    return new Promise(resolve => {
      const stopWaiting = this.#clock.after(PATIENCE.untakenMs, () => response.destroy())
      const done = (): void => {
        stopWaiting()
        response.off(event, done).off('close', done)
        resolve()
      }
      response.on(event, done).on('close', done)
      if (response.destroyed) done()
    })
  }
}
