/** Bytes that can be generated from two numbers, so that a journal can describe an object without containing it. */
import { createCipheriv, createHash } from 'node:crypto'

/** A content is a list of pieces: one for a single write, one per part for an upload. */
export interface Piece {
  readonly seed: number
  readonly size: number
}

const POOL_BYTES = 12 * 2 ** 20
const HEAD_BYTES = 24
/** Keeps the longest piece inside the pool wherever it starts. */
const START_MAX = 2 ** 22

export const PIECE_BYTES_MAX = POOL_BYTES - START_MAX

let pool: Buffer | undefined

function sharedPool(): Buffer {
  pool ??= createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(POOL_BYTES))
  return pool
}

/** No two pieces are alike: each starts with its own name and continues at its own offset in the pool. */
export function bytesOf({ seed, size }: Piece): Buffer[] {
  const head = Buffer.from(`${seed}:${size}`.padEnd(HEAD_BYTES, '.')).subarray(0, size)
  const start = Math.imul(seed, 7919) >>> 10
  return [head, sharedPool().subarray(start % START_MAX, (start % START_MAX) + size - head.length)]
}

export const sizeOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, piece) => sum + piece.size, 0)

const known = new Map<string, string>()

export function digestOf(pieces: readonly Piece[]): string {
  const name = pieces.map(({ seed, size }) => `${seed}:${size}`).join()
  let digest = known.get(name)
  if (digest === undefined) {
    const hash = createHash('sha256')
    for (const piece of pieces) for (const bytes of bytesOf(piece)) hash.update(bytes)
    digest = hash.digest('hex')
    known.set(name, digest)
  }
  return digest
}
