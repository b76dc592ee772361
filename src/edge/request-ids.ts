/** R5. The ids that every response carries: one of its request, and one of the process that responded. */
import type { Random } from '../lib/random.ts'
import { DIALECTS, type Dialect, wireName } from './dialect.ts'

export interface ExchangeIds {
  readonly requestId: string
  readonly hostId: string
}

const idHeaders = (dialect: Dialect) => ({
  requestIdHeader: wireName(dialect, ':request-id'),
  hostIdHeader: wireName(dialect, ':id-2'),
})
const ID_HEADERS = { svc: idHeaders(DIALECTS.svc), s3: idHeaders(DIALECTS.s3) }

export const idHeadersIn = ({ name }: Dialect): ReturnType<typeof idHeaders> => ID_HEADERS[name]

const REQUEST_ID_BYTES = 8
/** Random ids are generated in batches of this size. */
const IDS_DRAWN = 512

export class RequestIds {
  readonly hostId: string
  readonly #random: Random
  /** A batch of request ids, and the offset of the next. */
  #drawn = ''
  #nextId = 0

  constructor(random: Random) {
    this.#random = random
    this.hostId = random.bytes(24).toString('base64')
  }

  next(): string {
    if (this.#nextId === this.#drawn.length) {
      this.#drawn = this.#random
        .bytes(IDS_DRAWN * REQUEST_ID_BYTES)
        .toString('hex')
        .toUpperCase()
      this.#nextId = 0
    }
    const start = this.#nextId
    this.#nextId += 2 * REQUEST_ID_BYTES
    return this.#drawn.slice(start, this.#nextId)
  }
}
