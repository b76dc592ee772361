/** Bounds the requests in flight and the body bytes they hold in memory, with lower bounds for anonymous callers. */
import { Fault } from '../model/faults.ts'

interface AdmissionLimits {
  /** Above this a new request gets `SlowDown`, so that those in flight can finish. */
  readonly requestsMax: number
  readonly anonymousMax: number
  /** Bounds the body bytes held in memory until their body is complete. */
  readonly bytesMax: number
  readonly anonymousBytesMax: number
}

export const ADMISSION_LIMITS: AdmissionLimits = {
  requestsMax: 2_000,
  anonymousMax: 1_000,
  bytesMax: 512 * 2 ** 20,
  anonymousBytesMax: 32 * 2 ** 20,
}

export class Admission {
  readonly #limits: AdmissionLimits
  #requests = 0
  #strangers = 0
  #bytes = 0
  #strangerBytes = 0

  constructor(limits: AdmissionLimits = ADMISSION_LIMITS) {
    this.#limits = limits
  }

  enter(): Slot {
    this.#requests++
    return new Slot(this, this.#requests > this.#limits.requestsMax)
  }

  /** Throws `SlowDown` at a limit; a decrease always succeeds. */
  take(what: { readonly strangers: number; readonly bytes: number; readonly strangerBytes: number }): void {
    const strangers = this.#strangers + what.strangers
    const bytes = this.#bytes + what.bytes
    const strangerBytes = this.#strangerBytes + what.strangerBytes
    const { anonymousMax: strangersMax, bytesMax, anonymousBytesMax: strangerBytesMax } = this.#limits
    if (what.strangers > 0 && strangers > strangersMax) throw new Fault('SlowDown')
    if (what.bytes > 0 && bytes > bytesMax) throw new Fault('SlowDown')
    if (what.strangerBytes > 0 && strangerBytes > strangerBytesMax) throw new Fault('SlowDown')
    this.#strangers = strangers
    this.#bytes = bytes
    this.#strangerBytes = strangerBytes
  }

  leave(): void {
    this.#requests--
  }
}

/** One request's share of the admission limits. */
export class Slot {
  /** The request arrived above `requestsMax`. */
  readonly isOverLimit: boolean
  readonly #admission: Admission
  #isStranger = false
  #bytes = 0
  #isLeft = false

  constructor(admission: Admission, isBeyond: boolean) {
    this.#admission = admission
    this.isOverLimit = isBeyond
  }

  /** Called after authentication; until then the request counts as neither anonymous nor authenticated. */
  classify(isStranger: boolean): void {
    if (isStranger === this.#isStranger) return
    const sign = isStranger ? 1 : -1
    this.#admission.take({ strangers: sign, bytes: 0, strangerBytes: sign * this.#bytes })
    this.#isStranger = isStranger
  }

  /** Called before this many bytes of the body are buffered. */
  reserveMemory(bytes: number): void {
    this.#admission.take({ strangers: 0, bytes, strangerBytes: this.#isStranger ? bytes : 0 })
    this.#bytes += bytes
  }

  leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.classify(false)
    this.#admission.take({ strangers: 0, bytes: -this.#bytes, strangerBytes: 0 })
    this.#bytes = 0
    this.#admission.leave()
  }
}
