import crypto, { type Hash } from 'node:crypto'

type Algorithm = 'md5' | 'sha256'

/** A hash object costs Node more than hashing 4 KiB does; from 20.12 on there is a way without one. */
const digestOf: (algorithm: Algorithm, bytes: Buffer) => Buffer =
  typeof crypto.hash === 'function'
    ? (algorithm, bytes) => crypto.hash(algorithm, bytes, 'buffer')
    : (algorithm, bytes) => crypto.createHash(algorithm).update(bytes).digest()

/**
 * The digest of a body as it comes in. One that comes in one piece, as small ones do, is hashed at its end without a
 * hash object; its bytes must stay as they are until then.
 */
export class BodyDigest {
  readonly #algorithm: Algorithm
  #only: Buffer | undefined
  #hash: Hash | undefined

  constructor(algorithm: Algorithm) {
    this.#algorithm = algorithm
  }

  update(chunk: Buffer): void {
    if (this.#hash === undefined) {
      if (this.#only === undefined) {
        this.#only = chunk
        return
      }
      this.#hash = crypto.createHash(this.#algorithm).update(this.#only)
      this.#only = undefined
    }
    this.#hash.update(chunk)
  }

  digest(): Buffer {
    return this.#hash?.digest() ?? digestOf(this.#algorithm, this.#only ?? Buffer.alloc(0))
  }
}
