/** Rows of keys and values: all the records of a snapshot, or the index of a run. */
import { bytes, format, list, pair, struct, uint } from '../lib/codec.ts'
import { DamagedPiece, type Piece, pieceOf, piecesIn } from './pieces.ts'

export type KeyAndValue = readonly [key: Buffer, value: Buffer]

export type Title = 'holdfast records 1' | 'holdfast index 1'

const PIECE_BYTES = 2 ** 18

const entriesFormat = format<readonly KeyAndValue[]>('HE', list(pair(bytes, bytes)))
const endFormat = format<{ readonly count: number }>('HZ', struct<{ count: number }>({ count: uint }))

/** Gathers entries into pieces. */
export class EntryRow {
  #waiting: KeyAndValue[] = []
  #bytes = 0
  count = 0

  static title(title: Title): Buffer {
    return pieceOf('title', Buffer.from(title))
  }

  /** A piece as soon as there is enough for one. */
  add(key: Buffer, value: Buffer): Buffer | undefined {
    this.#waiting.push([key, value])
    this.#bytes += key.length + value.length
    this.count++
    return this.#bytes < PIECE_BYTES ? undefined : this.#take()
  }

  #take(): Buffer {
    const piece = pieceOf('entries', entriesFormat.encode(this.#waiting))
    this.#waiting = []
    this.#bytes = 0
    return piece
  }

  /** What is left, and the end. */
  end(): Buffer {
    const end = pieceOf('end', endFormat.encode({ count: this.count }))
    return this.#waiting.length === 0 ? end : Buffer.concat([this.#take(), end])
  }
}

/** The entries of a row, some at a time; throws DamagedPiece unless all of it is there. */
export async function* entriesIn(source: AsyncIterable<Buffer>, title: Title): AsyncGenerator<readonly KeyAndValue[]> {
  let count = 0
  let state: 'new' | 'open' | 'ended' = 'new'
  for await (const piece of piecesIn(source)) {
    if (state === 'ended') throw new DamagedPiece('something follows the end')
    if (state === 'new') {
      if (piece.kind !== 'title' || piece.payload.toString() !== title) throw new DamagedPiece(`is no ${title}`)
      state = 'open'
    } else if (piece.kind === 'end') {
      checkEnd(piece, count)
      state = 'ended'
    } else {
      if (piece.kind !== 'entries') throw new DamagedPiece(`a ${piece.kind} stands among entries`)
      const entries = entriesFormat.decode(piece.payload)
      count += entries.length
      yield entries
    }
  }
  if (state !== 'ended') throw new DamagedPiece('its end is missing')
}

function checkEnd({ payload }: Piece, count: number): void {
  const said = endFormat.decode(payload).count
  if (said !== count) throw new DamagedPiece(`${count} entries instead of ${said}`)
}
