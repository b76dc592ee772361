/**
 * The framing of backups, in transfer and in files: pieces with a kind, a length and a CRC-32. A stream of pieces
 * begins with its title and ends with its number of entries, so that a truncated one is never accepted.
 */
import { crc32 } from '../lib/crc.ts'

const PIECE_KINDS = { title: 1, entries: 2, end: 3, blob: 4, bytes: 5, done: 6, damaged: 7 } as const
type PieceKind = keyof typeof PIECE_KINDS

export interface Piece {
  readonly kind: PieceKind
  readonly payload: Buffer
}

/** Kind, payload length, and the CRC of both and the payload. */
const HEAD_BYTES = 12
/** Longer pieces are never written, so a greater length is damage. */
const PAYLOAD_BYTES_MAX = 16 * 2 ** 20

const NAMES = new Map<number, PieceKind>(
  Object.entries(PIECE_KINDS).map(([name, number]) => [number, name as PieceKind]),
)

/** A piece is damaged. */
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
  let buffered = 0
  let needed = HEAD_BYTES
  for await (const chunk of source) {
    rest.push(chunk)
    buffered += chunk.length
    while (buffered >= needed) {
      const bytes = rest.length === 1 ? rest[0]! : Buffer.concat(rest)
      const length = bytes.readUInt32BE(4)
      if (length > PAYLOAD_BYTES_MAX) throw new DamagedPiece('a piece exceeds the maximum length')
      needed = HEAD_BYTES + length
      rest = [bytes]
      if (buffered < needed) break
      yield verifyPiece(bytes.subarray(0, needed))
      buffered -= needed
      rest = [bytes.subarray(needed)]
      needed = HEAD_BYTES
    }
  }
  if (buffered > 0) throw new DamagedPiece('the last piece is truncated')
}

function verifyPiece(bytes: Buffer): Piece {
  const kind = NAMES.get(bytes.readUInt32BE(0))
  const payload = bytes.subarray(HEAD_BYTES)
  if (bytes.readUInt32BE(8) !== crc32(payload, crc32(bytes.subarray(0, 8)))) {
    throw new DamagedPiece('a piece does not match its checksum')
  }
  if (kind === undefined) throw new DamagedPiece('a piece is of an unknown kind')
  return { kind, payload }
}
