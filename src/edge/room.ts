/** What requests may take up together while they are under way, and how much of it those whom nobody knows. */
import { Fault } from '../model/faults.ts'

export interface RoomLimits {
  /** Beyond so many at once a new one is asked to come later: what is under way gets done. */
  readonly requestsMax: number
  readonly strangersMax: number
  /** Bytes of bodies that are kept in memory until they are whole. */
  readonly bytesMax: number
  readonly strangerBytesMax: number
}

export const ROOM: RoomLimits = {
  requestsMax: 2_000,
  strangersMax: 1_000,
  bytesMax: 512 * 2 ** 20,
  strangerBytesMax: 32 * 2 ** 20,
}

export class Room {
  readonly #limits: RoomLimits
  #requests = 0
  #strangers = 0
  #bytes = 0
  #strangerBytes = 0

  constructor(limits: RoomLimits = ROOM) {
    this.#limits = limits
  }

  enter(): Place {
    this.#requests++
    return new Place(this, this.#requests > this.#limits.requestsMax)
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
export class Place {
  /** More is under way than can be served well. */
  readonly isBeyond: boolean
  readonly #room: Room
  #isStranger = false
  #bytes = 0
  #isLeft = false

  constructor(room: Room, isBeyond: boolean) {
    this.#room = room
    this.isBeyond = isBeyond
  }

  /** Says whether the sender is known; until then the request is on its way to be judged and counts for neither. */
  standing(isStranger: boolean): void {
    if (isStranger === this.#isStranger) return
    const sign = isStranger ? 1 : -1
    this.#room.take({ strangers: sign, bytes: 0, strangerBytes: sign * this.#bytes })
    this.#isStranger = isStranger
  }

  /** Before so many bytes of the body are kept at once. */
  hold(bytes: number): void {
    this.#room.take({ strangers: 0, bytes, strangerBytes: this.#isStranger ? bytes : 0 })
    this.#bytes += bytes
  }

  leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.standing(false)
    this.#room.take({ strangers: 0, bytes: -this.#bytes, strangerBytes: 0 })
    this.#bytes = 0
    this.#room.leave()
  }
}
