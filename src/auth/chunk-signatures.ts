/**
 * The chained signatures of a chunked body. They are checked in order as the data arrives here, which may be later than
 * the chunk headers were parsed, and only once a chunk is complete.
 */
import { createHash, type Hash } from 'node:crypto'
import { BodyDigest } from '../digest/body-digest.ts'
import { oneShotHash } from '../digest/one-shot-hash.ts'
import { Fault } from '../model/faults.ts'
import type { Scheme } from './signing.ts'
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
  readonly size: number
  /** In hexadecimal digits, where the data came in one piece or is empty. */
  digest: string | undefined
  /** Of data in several pieces. */
  hash: Hash | undefined
  /** Of a chunk that is hashed beside the event loop. */
  readonly beside: BodyDigest | undefined
  left: number
  isWhole: boolean
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
    const isWhole = size === 0
    const digest = isWhole ? EMPTY_SHA256 : undefined
    const beside = size > LOOP_BYTES_MAX ? new BodyDigest('sha256') : undefined
    this.#chunks.push({ provided, size, digest, hash: undefined, beside, left: size, isWhole })
  }

  /** The last chunk is complete. */
  whole(): void {
    this.#chunks.at(-1)!.isWhole = true
  }

  /**
   * Hashes data in order, of one chunk in each call. Throws a fault, or rejects with it, when a completed chunk does
   * not match its signature. A promise that is returned must be awaited before the next call.
   */
  take(data: Buffer): Promise<void> | undefined {
    const settling = this.settle()
    if (settling !== undefined) return settling.then(() => this.take(data))
    const chunk = this.#chunks[0]!
    chunk.left -= data.length
    if (chunk.beside !== undefined) return this.#takeBeside(chunk.beside, data)
    if (data.length === chunk.size) chunk.digest = oneShotHash('sha256', data, 'hex')
    else chunk.hash = (chunk.hash ?? createHash('sha256')).update(data)
    return this.settle()
  }

  async #takeBeside(digest: BodyDigest, data: Buffer): Promise<void> {
    await digest.update(data)
    await this.settle()
  }

  /** Checks the signatures of all complete chunks. */
  settle(): Promise<void> | undefined {
    for (let chunk = this.#chunks[0]; chunk?.isWhole === true && chunk.left === 0; chunk = this.#chunks[0]) {
      if (chunk.beside !== undefined) return this.#settleBeside(chunk, chunk.beside)
      this.#checkChunk(chunk, chunk.digest ?? chunk.hash!.digest('hex'))
    }
    return undefined
  }

  async #settleBeside(chunk: Chunk, digest: BodyDigest): Promise<void> {
    this.#checkChunk(chunk, (await digest.digest()).toString('hex'))
    await this.settle()
  }

  #checkChunk({ provided }: Chunk, digest: string): void {
    this.#check(this.#chain.scheme.chunkAlgorithm, `${EMPTY_SHA256}\n${digest}`, provided)
    this.#chunks.shift()
  }

  checkTrailers(signedText: string, provided: string): void {
    this.#check(this.#chain.scheme.trailerAlgorithm, sha256Hex(signedText), provided)
  }

  /** Releases the digests of chunks that will not be checked. */
  abandon(): void {
    for (const { beside } of this.#chunks) beside?.abandon()
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
