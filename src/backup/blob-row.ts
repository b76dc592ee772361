/** Blobs on their way to a backup: id and shape of each, its bytes, and their SHA-256 or what is wrong with it. */
import { createHash } from 'node:crypto'
import { fixed, format, struct, text, uint } from '../lib/codec.ts'
import { DamagedPiece, type Piece, pieceOf, piecesIn } from './pieces.ts'

export interface BlobHead {
  readonly id: Buffer
  /** Bytes as stored, sealed or not. */
  readonly length: number
  readonly frameBytes: number
}

export interface IncomingBlob extends BlobHead {
  /** To be read to its end; throws BlobRefused when the source cannot read it. */
  readonly bytes: AsyncIterable<Buffer>
}

const headFormat = format<BlobHead>('HB', struct<BlobHead>({ id: fixed(16), length: uint, frameBytes: uint }))
const damagedFormat = format<{ readonly message: string }>('HD', struct<{ message: string }>({ message: text }))

/** The source has the blob, but not its bytes any more. */
export class BlobRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BlobRefused'
  }
}

/** `damaged`: what an error says that only concerns this blob; undefined for any other. */
export async function* blobPieces(
  head: BlobHead,
  bytes: AsyncIterable<Buffer>,
  damaged: (error: unknown) => string | undefined,
): AsyncGenerator<Buffer> {
  yield pieceOf('blob', headFormat.encode(head))
  const hash = createHash('sha256')
  try {
    for await (const chunk of bytes) {
      hash.update(chunk)
      yield pieceOf('bytes', chunk)
    }
  } catch (error) {
    const message = damaged(error)
    if (message === undefined) throw error
    yield pieceOf('damaged', damagedFormat.encode({ message }))
    return
  }
  yield pieceOf('done', hash.digest())
}

/** Each must be read to its end before the next is asked for. */
export async function* blobsIn(source: AsyncIterable<Buffer>): AsyncGenerator<IncomingBlob, void, undefined> {
  const pieces = piecesIn(source)
  try {
    for (;;) {
      const { value, done } = await pieces.next()
      if (done === true) return
      if (value.kind !== 'blob') throw new DamagedPiece(`a ${value.kind} stands where a blob begins`)
      const head = headFormat.decode(Buffer.from(value.payload))
      yield { ...head, bytes: bytesOf(pieces, head.length) }
    }
  } finally {
    await pieces.return()
  }
}

async function* bytesOf(pieces: AsyncGenerator<Piece, void, undefined>, length: number): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let got = 0
  for (;;) {
    const { value, done } = await pieces.next()
    if (done === true) throw new DamagedPiece('a blob is cut off')
    const { kind, payload } = value
    if (kind === 'bytes') {
      hash.update(payload)
      got += payload.length
      yield payload
    } else if (kind === 'damaged') throw new BlobRefused(damagedFormat.decode(payload).message)
    else if (kind === 'done') {
      if (got !== length || !hash.digest().equals(payload)) throw new DamagedPiece('a blob changed on its way')
      return
    } else throw new DamagedPiece(`a ${kind} stands inside of a blob`)
  }
}
