/**
 * The chained signatures of a chunked body. They are checked in order as the data arrives here, which may be later than
 * the chunk headers were parsed, and only once a chunk is complete, or four of them that are hashed together.
 */
import assert from 'node:assert/strict'
import { Fault } from '../model/faults.ts'
import type { ChunkHash, ChunkHashes } from './chunk-hashes.ts'
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

interface Chunk {
  readonly provided: string
  readonly hash: ChunkHash
  left: number
  isWhole: boolean
}

export class ChunkSignatures {
  readonly #chain: SignatureChain
  #previous: string
  readonly #hashes: ChunkHashes
  /** Chunks whose header has been parsed and whose signature is not checked yet, oldest first. */
  readonly #chunks: Chunk[] = []
  /** How many of them have all their data. */
  #filled = 0

  constructor(chain: SignatureChain, hashes: ChunkHashes) {
    this.#chain = chain
    this.#hashes = hashes
    this.#previous = chain.seed
  }

  /** `bytesLeft` is what is left of the body, this chunk included. */
  begin(provided: string, size: number, bytesLeft: number): void {
    this.#chunks.push({ provided, hash: this.#hashes.next(size, bytesLeft), left: size, isWhole: size === 0 })
  }

  /** The last chunk is complete. */
  whole(): void {
    this.#chunks.at(-1)!.isWhole = true
  }

  /**
   * Takes data in order, of one chunk in each call. Throws a fault, or rejects with it, when a complete chunk does not
   * match its signature, which may be up to four chunks later. A promise that is returned must be awaited before the
   * next call.
   */
  take(data: Buffer): Promise<void> | undefined {
    const settling = this.settle()
    if (settling !== undefined) return settling.then(() => this.take(data))
    const chunk = this.#chunks[this.#filled]!
    chunk.left -= data.length
    if (chunk.left === 0) this.#filled++
    const hashing = chunk.hash.update(data)
    return hashing === undefined ? this.settle() : hashing.then(() => this.settle())
  }

  /** Checks the signatures of all complete chunks that have their digests. */
  settle(): Promise<void> | undefined {
    for (let chunk = this.#chunks[0]; chunk?.isWhole === true && chunk.left === 0; chunk = this.#chunks[0]) {
      const digest = chunk.hash.digest()
      if (digest === undefined) return undefined
      if (digest instanceof Promise) return this.#settleLater(chunk, digest)
      this.#checkChunk(chunk, digest)
    }
    return undefined
  }

  async #settleLater(chunk: Chunk, digest: Promise<string>): Promise<void> {
    this.#checkChunk(chunk, await digest)
    await this.settle()
  }

  /** Whether complete chunks wait for others to be hashed with. */
  get isWaiting(): boolean {
    const first = this.#chunks[0]
    return first?.isWhole === true && first.left === 0
  }

  /** Checks the signatures of all complete chunks, which no longer wait for others. */
  finish(): Promise<void> | undefined {
    this.#hashes.end()
    return this.settle()
  }

  #checkChunk({ provided }: Chunk, digest: string): void {
    this.#check(this.#chain.scheme.chunkAlgorithm, `${EMPTY_SHA256}\n${digest}`, provided)
    this.#chunks.shift()
    this.#filled = Math.max(0, this.#filled - 1)
  }

  checkTrailers(signedText: string, provided: string): void {
    this.#check(this.#chain.scheme.trailerAlgorithm, sha256Hex(signedText), provided)
  }

  /** The body is complete: nothing of it may have been left unchecked. */
  end(): void {
    assert.equal(this.#chunks.length, 0, 'a signed chunk was not checked')
  }

  /** Releases the digests of chunks that will not be checked. */
  abandon(): void {
    this.#hashes.end()
    for (const { hash } of this.#chunks) hash.abandon()
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
