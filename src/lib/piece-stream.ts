/**
 * Streams of bytes whose next piece is often there already. `for await` takes several turns of the microtask queue for
 * every piece in every stage that it passes, which for a large body costs more than the stages themselves; a reader
 * here returns a piece that is there at once.
 */
import type { MaybePromise } from './maybe-promise.ts'

export interface ByteReader {
  /**
   * The next piece; undefined at the end. A promise that is returned must be awaited before the next call. An error may
   * be thrown or reject the promise.
   */
  read(): MaybePromise<Buffer | undefined>
  /** Nothing more will be read. */
  cancel(): MaybePromise<unknown>
}

/** Gives up a body whose errors no longer matter. */
export async function abandon(reader: ByteReader): Promise<void> {
  try {
    await reader.cancel()
  } catch {
    // It was given up for another reason, which the caller reports.
  }
}

/** Also an async iterable, for callers that are not on a hot path. */
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

/** A stage through which a body passes, made from its reader. */
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
  if (Symbol.asyncIterator in bytes) {
    const iterator = bytes[Symbol.asyncIterator]()
    // A promise of another realm, or a thenable, is none by `instanceof`, and must not pass for the end.
    return { read: () => Promise.resolve(iterator.next()).then(pieceOf), cancel: () => iterator.return?.() }
  }
  const iterator = bytes[Symbol.iterator]()
  return { read: () => pieceOf(iterator.next()), cancel: () => iterator.return?.() }
}
