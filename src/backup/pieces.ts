/**
 * What a backup is made of, on its way and in its files: pieces with a kind, a length and a CRC-32 each. A row of them
 * begins with what it is and ends with how many entries there were, so that one that broke off never passes for whole.
 */
import { crc32 } from '../lib/crc.ts'

export const PIECE_KINDS = { title: 1, entries: 2, end: 3, blob: 4, bytes: 5, done: 6, damaged: 7 } as const
export type PieceKind = keyof typeof PIECE_KINDS

export interface Piece {
  readonly kind: PieceKind
  readonly payload: Buffer
}

/** Kind, bytes of payload, CRC of both and the payload. */
const HEAD_BYTES = 12
/** Longer ones are not made, so a length beyond it is damage. */
const PAYLOAD_BYTES_MAX = 16 * 2 ** 20

const NAMES = new Map<number, PieceKind>(
  Object.entries(PIECE_KINDS).map(([name, number]) => [number, name as PieceKind]),
)

/** A piece is not what was written. */
export class DamagedPiece extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'DamagedPiece'
  }
}

export function pieceOf(kind: PieceKind, payload: Buffer): Buffer {
  const out = Buffer.allocUnsafe(HEAD_BYTES + payload.length)
  out.writeUInt32BE(PIECE_KINDS[kind], 0)
  out.writeUInt32BE(payload.length, 4)
  out.writeUInt32BE(crc32(payload, crc32(out.subarray(0, 8))), 8)
  payload.copy(out, HEAD_BYTES)
  return out
}

export async function* piecesIn(source: AsyncIterable<Buffer>): AsyncGenerator<Piece, void, undefined> {
  let rest: Buffer[] = []
  let held = 0
  let wanted = HEAD_BYTES
  for await (const chunk of source) {
    rest.push(chunk)
    held += chunk.length
    while (held >= wanted) {
      const bytes = rest.length === 1 ? rest[0]! : Buffer.concat(rest)
      const length = bytes.readUInt32BE(4)
      if (length > PAYLOAD_BYTES_MAX) throw new DamagedPiece('a piece is longer than any can be')
      wanted = HEAD_BYTES + length
      rest = [bytes]
      if (held < wanted) break
      yield checked(bytes.subarray(0, wanted))
      held -= wanted
      rest = [bytes.subarray(wanted)]
      wanted = HEAD_BYTES
    }
  }
  if (held > 0) throw new DamagedPiece('the last piece is cut off')
}

function checked(bytes: Buffer): Piece {
  const kind = NAMES.get(bytes.readUInt32BE(0))
  const payload = bytes.subarray(HEAD_BYTES)
  if (bytes.readUInt32BE(8) !== crc32(payload, crc32(bytes.subarray(0, 8)))) {
    throw new DamagedPiece('a piece does not match its checksum')
  }
  if (kind === undefined) throw new DamagedPiece('a piece is of an unknown kind')
  return { kind, payload }
}
