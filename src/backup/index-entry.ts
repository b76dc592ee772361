/** The location of a run's blobs in the vault, and their digests. */
import { createHash } from 'node:crypto'
import type { BlobLocation } from '../blobs/blobs.ts'
import { fixed, format, optional, struct, text, uint } from '../lib/codec.ts'
import type { KeyAndValue } from './entries.ts'
import { DamagedBackup } from './vault.ts'

export interface IndexEntry extends BlobLocation {
  readonly sha256: Buffer
}

export const indexFormat = format<IndexEntry>(
  'HI',
  struct<IndexEntry>({ volume: optional(text), offset: uint, length: uint, frameBytes: uint, sha256: fixed(32) }),
)

/** Looks up entries of a sorted stream, for keys in ascending order. */
export class MergeLookup {
  readonly #pages: AsyncIterator<readonly KeyAndValue[]>
  #page: readonly KeyAndValue[] = []
  #at = 0

  constructor(pages: AsyncIterable<readonly KeyAndValue[]>) {
    this.#pages = pages[Symbol.asyncIterator]()
  }

  /** Undefined at the end. */
  async peek(): Promise<KeyAndValue | undefined> {
    while (this.#at === this.#page.length) {
      const { value, done } = await this.#pages.next()
      if (done === true) return undefined
      this.#page = value
      this.#at = 0
    }
    return this.#page[this.#at]
  }

  next(): void {
    this.#at++
  }

  async find(key: Buffer): Promise<Buffer | undefined> {
    for (;;) {
      const entry = await this.peek()
      const order = entry === undefined ? 1 : entry[0].compare(key)
      if (order > 0) return undefined
      this.next()
      if (order === 0) return entry![1]
    }
  }

  /** Must be called even after a failure, since a file may be open. */
  async close(): Promise<void> {
    await this.#pages.return?.()
  }

  /** Reads to the end, where the stream's overall checksum is verified. */
  async drain(): Promise<void> {
    while ((await this.peek()) !== undefined) this.next()
  }
}

/** Passes bytes on and throws at their end unless they match the digest. */
export async function* verifiedBytes(bytes: AsyncIterable<Buffer>, sha256: Buffer): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (!hash.digest().equals(sha256)) throw new DamagedBackup('a blob does not match its SHA-256')
}
