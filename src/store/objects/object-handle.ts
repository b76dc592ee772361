import type { Version } from '../../model/version.ts'
import { type PartsPage, type PlacedPart, partsAfter } from '../content/part-table.ts'
import { joined, readContent, readSingleBlob } from '../content/read-content.ts'
import type { StoreContext } from '../store-context.ts'

/** An open object. Its bytes are not freed until it is closed, which reading to the end does as well. */
export class ObjectHandle {
  readonly version: Version
  readonly #context: StoreContext
  readonly #contentKey: Buffer | undefined
  readonly #pin: number

  constructor(context: StoreContext, version: Version, contentKey: Buffer | undefined, pin: number) {
    this.#context = context
    this.version = version
    this.#contentKey = contentKey
    this.#pin = pin
  }

  /** For a copy that takes slices of this object. */
  get contentKey(): Buffer | undefined {
    return this.#contentKey
  }

  /**
   * Bytes [start, end) as a stream. Can be called once; closes the handle when it ends, fails or is returned. Not a
   * bare generator: a generator returned before its first step would never close the handle.
   */
  read(start = 0, end = this.version.size): AsyncIterableIterator<Buffer> {
    if (start < 0 || start > end || end > this.version.size) {
      this.close()
      throw new RangeError(`range ${start}–${end} is outside the object`)
    }
    const bytes = readContent(this.#context, this.version.content, this.#contentKey, start, end)
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => {
        try {
          const step = await bytes.next()
          if (step.done === true) this.close()
          return step
        } catch (error) {
          this.close()
          throw error
        }
      },
      return: async () => {
        try {
          return await bytes.return(undefined)
        } finally {
          this.close()
        }
      },
    }
  }

  /**
   * Like `read`, with the first chunk already read, so that unreadable bytes fail while an error response is still
   * possible. The response waits for that chunk in any case.
   */
  async readAhead(start: number, end: number): Promise<AsyncIterableIterator<Buffer>> {
    const bytes = this.read(start, end)
    let first: IteratorResult<Buffer> | undefined = await bytes.next()
    const ahead: AsyncIterableIterator<Buffer> = {
      [Symbol.asyncIterator]() {
        return ahead
      },
      next: async () => {
        const step = first ?? bytes.next()
        first = undefined
        return step
      },
      return: () => {
        first = undefined
        return bytes.return!()
      },
    }
    return ahead
  }

  /** Returns inline bytes synchronously and closes the handle; undefined if the bytes are not in the record. */
  inline(start: number, end: number): Buffer | undefined {
    const { content } = this.version
    if (content.kind !== 'inline' || content.seal !== undefined) return undefined
    this.close()
    return content.bytes.subarray(start, end)
  }

  /** Reads a short range as one buffer and closes the handle. */
  async whole(start: number, end: number): Promise<Buffer> {
    try {
      const whole = await readSingleBlob(this.#context, this.version.content, start, end)
      return whole ?? (await joined(this.read(start, end)))
    } finally {
      this.close()
    }
  }

  /** The part with this number; undefined when there is none. */
  async part(number: number): Promise<PlacedPart | undefined> {
    const [found] = (await this.parts(number - 1, 1)).parts
    return found?.number === number ? found : undefined
  }

  parts(after: number, limit: number): Promise<PartsPage> {
    return partsAfter(this.#context, this.version, after, limit)
  }

  close(): void {
    this.#context.readerGuard.leave(this.#pin)
  }
}
