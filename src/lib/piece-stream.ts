/**
 * Streams of bytes whose next piece is often there already. `for await` takes several turns of the microtask queue for
 * every piece in every stage that it passes, which for a large body costs more than the stages themselves; a reader
 * here returns a piece that is there at once.
 */
import type { MaybePromise } from './maybe-promise.ts'

export interface ByteReader {
  /** The next piece; undefined at the end. A promise that is returned must be awaited before the next call. */
  read(): MaybePromise<Buffer | undefined>
  /** Nothing more will be read. */
  cancel(): MaybePromise<unknown>
}

/** Where there is no hurry, it can be read like another iterable. */
export abstract class PieceStream implements AsyncIterable<Buffer> {
  abstract reader(): ByteReader

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const reader = this.reader()
    return {
      async next() {
        const value = await reader.read()
        return value === undefined ? { done: true, value } : { done: false, value }
      },
      async return() {
        await reader.cancel()
        return { done: true, value: undefined }
      },
    }
  }
}

/** The stages of a body are made of readers, as generators of iterables. */
export class StagedStream extends PieceStream {
  readonly #reader: () => ByteReader

  constructor(reader: () => ByteReader) {
    super()
    this.#reader = reader
  }

  reader(): ByteReader {
    return this.#reader()
  }
}

type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>

const pieceOf = (step: IteratorResult<Buffer>): Buffer | undefined => (step.done === true ? undefined : step.value)

export function readerOf(bytes: Bytes): ByteReader {
  if (bytes instanceof PieceStream) return bytes.reader()
  const iterator = Symbol.asyncIterator in bytes ? bytes[Symbol.asyncIterator]() : bytes[Symbol.iterator]()
  return {
    read() {
      const step = iterator.next()
      return step instanceof Promise ? step.then(pieceOf) : pieceOf(step)
    },
    cancel: () => iterator.return?.(),
  }
}
