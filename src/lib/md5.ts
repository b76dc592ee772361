import crypto, { type Hash } from 'node:crypto'

/** A hash object costs Node more than hashing 4 KiB does; from 20.12 on there is a way without one. */
const digestOf: (bytes: Buffer) => Buffer =
  typeof crypto.hash === 'function'
    ? bytes => crypto.hash('md5', bytes, 'buffer')
    : bytes => crypto.createHash('md5').update(bytes).digest()

/**
 * MD5 of a body as it comes in. One that comes in one piece, as small ones do, is hashed at its end without a hash
 * object; its bytes must stay as they are until then.
 */
export class Md5 {
  #only: Buffer | undefined
  #hash: Hash | undefined

  update(chunk: Buffer): void {
    if (this.#hash === undefined) {
      if (this.#only === undefined) {
        this.#only = chunk
        return
      }
      this.#hash = crypto.createHash('md5').update(this.#only)
      this.#only = undefined
    }
    this.#hash.update(chunk)
  }

  digest(): Buffer {
    return this.#hash?.digest() ?? digestOf(this.#only ?? Buffer.alloc(0))
  }
}
