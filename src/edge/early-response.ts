/**
 * A response that begins before its result is known (R61, R95). Reading much data takes minutes, and no proxy or client
 * waits that long for a first byte: after a while a 200 and the start of a document go out, then a space now and then,
 * and finally the rest of the document, or an error document.
 */
import type { Clock } from '../lib/clock.ts'
import { XML_DECLARATION } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { WireResponse } from './exchange.ts'

/** A result known by then gets a plain response. */
const START_MS = 5_000
const KEEP_ALIVE_MS = 10_000

const HEAD = Buffer.from(XML_DECLARATION)
const SPACE = Buffer.from(' ')

export class EarlyResponse {
  readonly #clock: Clock
  readonly #begin: (response: WireResponse) => void
  #hasBegun = false
  #result: WireResponse | undefined
  #cancel: (() => void) | undefined
  #wake: (() => void) | undefined

  /** `begin` is called when the response must begin early, and not at all if the result comes in time. */
  constructor(clock: Clock, begin: (response: WireResponse) => void) {
    this.#clock = clock
    this.#begin = begin
  }

  /** From now on the response may begin, with these headers. */
  allow(headers: readonly [string, string][]): void {
    // A retried operation allows it again; the time counts from the first attempt.
    this.#cancel ??= this.#clock.after(START_MS, () => {
      this.#hasBegun = true
      const all: [string, string][] = [...headers, ['content-type', 'application/xml']]
      this.#begin({ status: 200, headers: all, body: this.#body(), close: false })
    })
  }

  end(result: WireResponse): void {
    this.#result = result
    this.#cancel?.()
    this.#wake?.()
  }

  /** `NotModified` is a status; once a 200 is sent, an error document must express it. */
  inBody(fault: Fault): Fault {
    if (!this.#hasBegun || fault.code !== 'NotModified') return fault
    return new Fault('PreconditionFailed', { Condition: 'If-None-Match' })
  }

  async *#body(): AsyncGenerator<Buffer> {
    yield HEAD
    while (this.#result === undefined) {
      await this.#pause()
      if (this.#result === undefined) yield SPACE
    }
    const { body } = this.#result
    // Operations that may begin early return a document, and so does every fault.
    if (!Buffer.isBuffer(body)) throw new Error('the result of an early response has no document')
    yield body.subarray(HEAD.length)
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(KEEP_ALIVE_MS, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
