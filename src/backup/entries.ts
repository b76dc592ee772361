/** Streams of keys and values: the records of a snapshot, or the index of a run. */
import { bytes, format, list, pair, struct, uint } from '../lib/codec.ts'
import { DamagedPiece, type Piece, pieceOf, piecesIn } from './pieces.ts'

export type KeyAndValue = readonly [key: Buffer, value: Buffer]

export type StreamTitle = 'holdfast records 1' | 'holdfast index 1'

const PIECE_BYTES = 2 ** 18

const entriesFormat = format<readonly KeyAndValue[]>('HE', list(pair(bytes, bytes)))
const endFormat = format<{ readonly count: number }>('HZ', struct<{ count: number }>({ count: uint }))

/** Packs entries into pieces. */
export class EntryStreamWriter {
  #pending: KeyAndValue[] = []
  #bytes = 0
  count = 0

  static title(title: StreamTitle): Buffer {
    return pieceOf('title', Buffer.from(title))
  }

  /** Returns a piece once enough entries are pending. */
  add(key: Buffer, value: Buffer): Buffer | undefined {
    this.#pending.push([key, value])
    this.#bytes += key.length + value.length
    this.count++
    return this.#bytes < PIECE_BYTES ? undefined : this.#take()
  }

  #take(): Buffer {
    const piece = pieceOf('entries', entriesFormat.encode(this.#pending))
    this.#pending = []
    this.#bytes = 0
    return piece
  }

  /** The remaining entries and the end piece. */
  end(): Buffer {
    const end = pieceOf('end', endFormat.encode({ count: this.count }))
    return this.#pending.length === 0 ? end : Buffer.concat([this.#take(), end])
  }
}

/** The entries of a stream in batches; throws DamagedPiece unless the stream is complete. */
export async function* entriesIn(
  source: AsyncIterable<Buffer>,
  title: StreamTitle,
): AsyncGenerator<readonly KeyAndValue[]> {
  let count = 0
  let state: 'new' | 'open' | 'ended' = 'new'
  for await (const piece of piecesIn(source)) {
    if (state === 'ended') throw new DamagedPiece('unexpected data after the end')
    if (state === 'new') {
      if (piece.kind !== 'title' || piece.payload.toString() !== title)
        throw new DamagedPiece(`is not a "${title}" stream`)
      state = 'open'
    } else if (piece.kind === 'end') {
      checkEnd(piece, count)
      state = 'ended'
    } else {
      if (piece.kind !== 'entries') throw new DamagedPiece(`unexpected ${piece.kind} piece among entries`)
      const entries = entriesFormat.decode(piece.payload)
      count += entries.length
      yield entries
    }
  }
  if (state !== 'ended') throw new DamagedPiece('its end is missing')
}

function checkEnd({ payload }: Piece, count: number): void {
  const expected = endFormat.decode(payload).count
  if (expected !== count) throw new DamagedPiece(`${count} entries instead of ${expected}`)
}
