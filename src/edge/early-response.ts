/**
 * An answer that begins before it is known (R61, R95). Reading much data takes minutes, and nobody between here and the
 * client waits that long for a first byte: after a while a success and the head of a document go out, then a space now
 * and then. At last comes the document itself, or the error that came instead of it.
 */
import type { Clock } from '../lib/clock.ts'
import { XML_DECLARATION } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { WireResponse } from './encode-response.ts'

/** What is done by then gets a plain answer. */
const START_MS = 5_000
const BEAT_MS = 10_000

const HEAD = Buffer.from(XML_DECLARATION)
const SPACE = Buffer.from(' ')

export class EarlyResponse {
  readonly #clock: Clock
  readonly #begin: (outgoing: WireResponse) => void
  #isOut = false
  #answer: WireResponse | undefined
  #cancel: (() => void) | undefined
  #wake: (() => void) | undefined

  /** `begin` is called when the answer has to begin, and not at all for work that is done in time. */
  constructor(clock: Clock, begin: (outgoing: WireResponse) => void) {
    this.#clock = clock
    this.#begin = begin
  }

  /** From now on the answer may begin, with these headers. */
  expect(headers: readonly [string, string][]): void {
    // An operation that starts over says so again: it has lasted since the first time.
    this.#cancel ??= this.#clock.after(START_MS, () => {
      this.#isOut = true
      const all: [string, string][] = [...headers, ['content-type', 'application/xml']]
      this.#begin({ status: 200, headers: all, body: this.#body(), close: false })
    })
  }

  /** The answer is known. */
  end(answer: WireResponse): void {
    this.#answer = answer
    this.#cancel?.()
    this.#wake?.()
  }

  /** "Not modified" is said by a status; once another one is out, the document of an error has to say it. */
  inBody(fault: Fault): Fault {
    if (!this.#isOut || fault.code !== 'NotModified') return fault
    return new Fault('PreconditionFailed', { Condition: 'If-None-Match' })
  }

  async *#body(): AsyncGenerator<Buffer> {
    yield HEAD
    while (this.#answer === undefined) {
      await this.#beat()
      if (this.#answer === undefined) yield SPACE
    }
    const { body } = this.#answer
    // Whatever may last answers with a document, and so does every fault.
    if (!Buffer.isBuffer(body)) throw new Error('a late answer has no document')
    yield body.subarray(HEAD.length)
  }

  #beat(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(BEAT_MS, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
