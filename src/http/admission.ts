/** What requests may take up together while they are under way, and how much of it those whom nobody knows. */
import { Fault } from '../model/faults.ts'

export interface AdmissionLimits {
  /** Beyond so many at once a new one is asked to come later: what is under way gets done. */
  readonly requestsMax: number
  readonly strangersMax: number
  /** Bytes of bodies that are kept in memory until they are whole. */
  readonly bytesMax: number
  readonly strangerBytesMax: number
}

export const ADMISSION_LIMITS: AdmissionLimits = {
  requestsMax: 2_000,
  strangersMax: 1_000,
  bytesMax: 512 * 2 ** 20,
  strangerBytesMax: 32 * 2 ** 20,
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

  /** Changes what is taken up, or refuses. Giving back always succeeds. */
  take(what: { readonly strangers: number; readonly bytes: number; readonly strangerBytes: number }): void {
    const strangers = this.#strangers + what.strangers
    const bytes = this.#bytes + what.bytes
    const strangerBytes = this.#strangerBytes + what.strangerBytes
    const { strangersMax, bytesMax, strangerBytesMax } = this.#limits
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

/** One request's share of the room. */
export class Slot {
  /** More is under way than can be served well. */
  readonly isOverLimit: boolean
  readonly #admission: Admission
  #isStranger = false
  #bytes = 0
  #isLeft = false

  constructor(admission: Admission, isBeyond: boolean) {
    this.#admission = admission
    this.isOverLimit = isBeyond
  }

  /** Says whether the sender is known; until then the request is on its way to be judged and counts for neither. */
  classify(isStranger: boolean): void {
    if (isStranger === this.#isStranger) return
    const sign = isStranger ? 1 : -1
    this.#admission.take({ strangers: sign, bytes: 0, strangerBytes: sign * this.#bytes })
    this.#isStranger = isStranger
  }

  /** Before so many bytes of the body are kept at once. */
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
