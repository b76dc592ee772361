/**
 * A response that begins before its result is known (R61, R95). Reading much data takes minutes, and no proxy or client
 * waits that long for a first byte: after a while a success and the head of a document go out, then a space now and
 * then, and at last the document itself, or the error that took its place.
 */
import type { Clock } from '../lib/clock.ts'
import { XML_DECLARATION } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { WireResponse } from './exchange.ts'

/** Work that is finished by then gets a plain response. */
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

  /** `begin` is called when the response has to begin, and not at all for work that is finished in time. */
  constructor(clock: Clock, begin: (response: WireResponse) => void) {
    this.#clock = clock
    this.#begin = begin
  }

  /** From now on the response may begin, with these headers. */
  allow(headers: readonly [string, string][]): void {
    // An operation that is retried allows it again; the time counts from the first attempt.
    this.#cancel ??= this.#clock.after(START_MS, () => {
      this.#hasBegun = true
      const all: [string, string][] = [...headers, ['content-type', 'application/xml']]
      this.#begin({ status: 200, headers: all, body: this.#body(), close: false })
    })
  }

  /** The result is known. */
  end(result: WireResponse): void {
    this.#result = result
    this.#cancel?.()
    this.#wake?.()
  }

  /** "Not modified" is expressed by a status; once a 200 is out, an error document has to express it. */
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
    // Operations that may begin early respond with a document, and so does every fault.
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
