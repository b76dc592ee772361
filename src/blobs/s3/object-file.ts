/** Objects of the other store as files that frames are read from. */
import { EMPTY } from '../../lib/bytes.ts'
import type { ReadableFile } from '../../lib/disk.ts'
import { NoResponse } from '../../s3/responses.ts'
import { isBeyondEnd, type ObjectRange, type ObjectStore } from './object-store.ts'

const bytesIn = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0)

/** Fills the pieces in sequence, from any number of chunks. */
class Filling {
  readonly #pieces: readonly Uint8Array[]
  readonly bytes: number
  filled = 0
  #piece = 0
  #at = 0

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces
    this.bytes = bytesIn(pieces)
  }

  /** Returns the part of the chunk that does not fit. */
  add(chunk: Buffer): Buffer {
    let from = 0
    while (from < chunk.length && this.filled < this.bytes) {
      const piece = this.#pieces[this.#piece]!
      const take = Math.min(piece.length - this.#at, chunk.length - from)
      piece.set(chunk.subarray(from, from + take), this.#at)
      from += take
      this.#at += take
      this.filled += take
      if (this.#at === piece.length) {
        this.#piece++
        this.#at = 0
      }
    }
    return chunk.subarray(from)
  }
}

/** The body of one response, piece by piece; nothing is read ahead of what the stream buffers. */
class OpenRange {
  readonly #range: ObjectRange
  /** Where the next piece begins in the object. */
  position: number
  #received = 0
  #cut: Error | undefined
  #wake: () => void = () => {}

  constructor(range: ObjectRange, position: number) {
    this.#range = range
    this.position = position
    const { body } = range
    for (const event of ['readable', 'end', 'close']) body.on(event, () => this.#wake())
    body.on('error', error => {
      this.#cut = error
      this.#wake()
    })
  }

  /** Undefined at the end of the object or of the range. A connection that was cut throws. */
  async next(): Promise<Buffer | undefined> {
    const { body, bytes } = this.#range
    while (this.#received < bytes) {
      const chunk = body.read() as Buffer | null
      if (chunk !== null) {
        this.#received += chunk.length
        this.position += chunk.length
        return chunk
      }
      if (this.#cut !== undefined || body.readableEnded || body.destroyed) {
        throw new NoResponse(`the response was cut off: ${this.#cut?.message ?? 'the connection was closed'}`)
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return undefined
  }

  /** A response that was read to its end leaves its connection open for the next request. */
  close(): void {
    const { body, bytes } = this.#range
    if (this.#received < bytes) body.destroy()
    // Its bytes have arrived; only reading its end returns the connection.
    else body.read()
  }
}

interface Extent {
  /** Reads that end here or before are requests of their own; all later ones are in sequence and share one response. */
  readonly streamFrom: number
  /** Nothing is read beyond. */
  readonly end: number
}

/** Reads one object in sequence, as one response. After a broken connection it continues where that one ended. */
export class StreamedObject implements ReadableFile {
  readonly #store: ObjectStore
  readonly #name: string
  readonly #extent: Extent
  #open: OpenRange | undefined
  /** Received and not yet asked for. */
  #rest: Buffer = EMPTY

  constructor(store: ObjectStore, name: string, extent: Extent) {
    this.#store = store
    this.#name = name
    this.#extent = extent
  }

  async read(into: readonly Uint8Array[], position: number): Promise<number> {
    const filling = new Filling(into)
    if (filling.bytes === 0) return 0
    const isApart = position + filling.bytes <= this.#extent.streamFrom
    if (isApart) return new ObjectFile(this.#store, this.#name).read(into, position)
    this.#rest = filling.add(this.#rest)
    while (filling.filled < filling.bytes) {
      const chunk = await this.#store.attempts(() => this.#next(position + filling.filled))
      if (chunk === undefined) break
      this.#rest = filling.add(chunk)
    }
    return filling.filled
  }

  async #next(position: number): Promise<Buffer | undefined> {
    try {
      if (this.#open?.position !== position) {
        this.#open?.close()
        this.#open = undefined
        this.#open = new OpenRange(await this.#store.open(this.#name, position, this.#extent.end), position)
      }
      return await this.#open.next()
    } catch (error) {
      this.close()
      if (isBeyondEnd(error)) return undefined
      throw error
    }
  }

  size(): Promise<number> {
    return this.#store.bytesOf(this.#name)
  }

  close(): void {
    this.#open?.close()
    this.#open = undefined
  }
}

/** Reads any ranges of one object, each by a request of its own. */
export class ObjectFile implements ReadableFile {
  readonly #store: ObjectStore
  readonly #name: string

  constructor(store: ObjectStore, name: string) {
    this.#store = store
    this.#name = name
  }

  async read(into: readonly Uint8Array[], position: number): Promise<number> {
    const filling = new Filling(into)
    if (filling.bytes === 0) return 0
    const bytes = await this.#store.attempts(() => this.#readOnce(position, position + filling.bytes))
    filling.add(bytes)
    return filling.filled
  }

  async #readOnce(start: number, end: number): Promise<Buffer> {
    try {
      return await this.#store.read(this.#name, start, end)
    } catch (error) {
      if (isBeyondEnd(error)) return EMPTY
      throw error
    }
  }

  size(): Promise<number> {
    return this.#store.bytesOf(this.#name)
  }
}
