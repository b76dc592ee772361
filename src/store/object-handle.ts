import type { Version } from '../model/version.ts'
import type { Engine } from './engine.ts'
import { readContent } from './outflow.ts'

/** An object that is being read. Closing it, also by reading to the end of a `read`, lets its bytes be freed. */
export class ObjectHandle {
  readonly version: Version
  readonly #engine: Engine
  readonly #contentKey: Buffer | undefined
  readonly #ticket: number

  constructor(engine: Engine, version: Version, contentKey: Buffer | undefined, ticket: number) {
    this.#engine = engine
    this.version = version
    this.#contentKey = contentKey
    this.#ticket = ticket
  }

  /** Opens what is sealed; for a copy that takes slices of this object. */
  get contentKey(): Buffer | undefined {
    return this.#contentKey
  }

  /** Bytes [start, end), streamed as the consumer takes them. Can be called once; closes the handle when it ends. */
  async *read(start = 0, end = this.version.size): AsyncGenerator<Buffer> {
    if (start < 0 || start > end || end > this.version.size) throw new RangeError(`no such range: ${start}–${end}`)
    try {
      yield* readContent(this.#engine, this.version.content, this.#contentKey, start, end)
    } finally {
      this.close()
    }
  }

  close(): void {
    this.#engine.readers.leave(this.#ticket)
  }
}
