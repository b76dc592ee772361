/** Blobs in transfer to a backup: the id and shape of each, its bytes, and their SHA-256 or an error. */
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
  /** Must be read to its end; throws BlobRefused when the source cannot read the blob. */
  readonly bytes: AsyncIterable<Buffer>
}

const headFormat = format<BlobHead>('HB', struct<BlobHead>({ id: fixed(16), length: uint, frameBytes: uint }))
const damagedFormat = format<{ readonly message: string }>('HD', struct<{ message: string }>({ message: text }))

/** The source has a record of the blob but cannot read its bytes. */
export class BlobRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BlobRefused'
  }
}

/** `damaged` returns the message of an error that concerns only this blob; undefined for other errors. */
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

/** Each blob must be read to its end before the next. */
export async function* blobsIn(source: AsyncIterable<Buffer>): AsyncGenerator<IncomingBlob, void, undefined> {
  const pieces = piecesIn(source)
  try {
    for (;;) {
      const { value, done } = await pieces.next()
      if (done === true) return
      if (value.kind !== 'blob') throw new DamagedPiece(`expected a blob, found a ${value.kind} piece`)
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
    if (done === true) throw new DamagedPiece('a blob is truncated')
    const { kind, payload } = value
    if (kind === 'bytes') {
      hash.update(payload)
      got += payload.length
      yield payload
    } else if (kind === 'damaged') throw new BlobRefused(damagedFormat.decode(payload).message)
    else if (kind === 'done') {
      if (got !== length || !hash.digest().equals(payload)) throw new DamagedPiece('a blob does not match its SHA-256')
      return
    } else throw new DamagedPiece(`unexpected ${kind} piece inside a blob`)
  }
}
