/**
 * The chained signatures of a chunked body. They are checked in order as the data arrives here, which may be later than
 * the chunk headers were parsed, and only once a chunk is complete.
 */
import { createHash, type Hash } from 'node:crypto'
import { BodyDigest } from '../digest/body-digest.ts'
import { Fault } from '../model/faults.ts'
import type { Scheme } from './schemes.ts'
import { EMPTY_SHA256, hmac, type SigningKey, sameSignature, sha256Hex } from './signing.ts'

/** Each chunk's signature covers the one before; the first covers the signature of the request itself. */
export interface SignatureChain {
  readonly scheme: Scheme
  readonly key: SigningKey
  readonly scope: string
  readonly timestamp: string
  readonly seed: string
}

/** A longer chunk is hashed beside the event loop. */
const LOOP_BYTES_MAX = 256 * 1024

interface Chunk {
  readonly provided: string
  readonly hash: Hash | BodyDigest | undefined
  left: number
  isWhole: boolean
}

const hashFor = (size: number): Chunk['hash'] => {
  if (size === 0) return undefined
  return size > LOOP_BYTES_MAX ? new BodyDigest('sha256') : createHash('sha256')
}

export class ChunkSignatures {
  readonly #chain: SignatureChain
  #previous: string
  /** Chunks whose header has been parsed and whose signature is not checked yet, oldest first. */
  readonly #chunks: Chunk[] = []

  constructor(chain: SignatureChain) {
    this.#chain = chain
    this.#previous = chain.seed
  }

  begin(provided: string, size: number): void {
    this.#chunks.push({ provided, hash: hashFor(size), left: size, isWhole: size === 0 })
  }

  /** The last chunk is complete. */
  whole(): void {
    this.#chunks.at(-1)!.isWhole = true
  }

  /** Hashes data in order. Throws a fault when a completed chunk does not match its signature. */
  async take(data: Buffer): Promise<void> {
    for (let at = 0; at < data.length; ) {
      await this.settle()
      const chunk = this.#chunks[0]!
      const piece = data.subarray(at, at + chunk.left)
      const hashing = chunk.hash!.update(piece)
      if (hashing instanceof Promise) await hashing
      chunk.left -= piece.length
      at += piece.length
    }
    await this.settle()
  }

  /** Checks the signatures of all complete chunks. */
  async settle(): Promise<void> {
    for (let chunk = this.#chunks[0]; chunk?.isWhole === true && chunk.left === 0; chunk = this.#chunks[0]) {
      const digest = chunk.hash === undefined ? EMPTY_SHA256 : (await chunk.hash.digest()).toString('hex')
      this.#check(this.#chain.scheme.chunkAlgorithm, `${EMPTY_SHA256}\n${digest}`, chunk.provided)
      this.#chunks.shift()
    }
  }

  checkTrailers(signedText: string, provided: string): void {
    this.#check(this.#chain.scheme.trailerAlgorithm, sha256Hex(signedText), provided)
  }

  /** Releases the digests of chunks that will not be checked. */
  abandon(): void {
    for (const { hash } of this.#chunks) if (hash instanceof BodyDigest) hash.abandon()
  }

  #check(algorithm: string, digests: string, provided: string): void {
    const { timestamp, scope, key } = this.#chain
    const text = `${algorithm}\n${timestamp}\n${scope}\n${this.#previous}\n${digests}`
    if (!sameSignature(hmac(key, text), provided)) {
      throw new Fault('SignatureDoesNotMatch', { StringToSign: text, SignatureProvided: provided })
    }
    this.#previous = provided
  }
}
