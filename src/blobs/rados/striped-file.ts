/**
 * A file as objects of 4 MiB: the first one under the file's own name, so that listing finds each file once, and the
 * others in a namespace apart. Files are only appended to.
 *
 * Writes go on in the background while more bytes arrive, and `datasync` waits for them. After a crash the last
 * stripes may therefore be incomplete, or one of them may be missing; bytes there were never acknowledged.
 */
import assert from 'node:assert/strict'
import { returnChunk, takeChunk } from '../../lib/buffer-pool.ts'
import type { DiskFile } from '../../lib/disk.ts'
import type { ObjectNamespace } from './namespace.ts'

/** A power of two of payload fills its stripes with headers and checksums as well, instead of spilling into another. */
const STRIPE_BYTES = 4 * 2 ** 20 + 4096
/** Writes in flight of one file, besides the bytes that are being collected. */
const WRITES_MAX = 2
/** Bytes collected by all files that are being written; with many files each sends smaller writes. */
const COLLECTED_BYTES = 64 * 2 ** 20
const WRITE_BYTES_MIN = 256 * 1024
const UNMOVED_BYTES_MIN = 4096
/** Reads of one sequential reader in flight: the round trip to an OSD takes longer than sending what it returns. */
const READS_AHEAD = 3
/** Stripes that are looked for at once, beyond the last one known. */
const PROBES = [1, 2, 4, 8, 16, 32, 64]

export interface StripedFileName {
  readonly heads: ObjectNamespace
  readonly tails: ObjectNamespace
  readonly name: string
}

interface Stripe {
  readonly namespace: ObjectNamespace
  readonly object: string
}

function stripe({ heads, tails, name }: StripedFileName, index: number): Stripe {
  return index === 0 ? { namespace: heads, object: name } : { namespace: tails, object: `${name}.${index}` }
}

const stripeBytes = (file: StripedFileName, index: number): Promise<number | undefined> => {
  const { namespace, object } = stripe(file, index)
  return namespace.size(object)
}

interface LastStripe {
  readonly index: number
  readonly bytes: number
}

/** The last stripe before the first missing one; undefined when the file does not exist. */
async function lastStripe(file: StripedFileName): Promise<LastStripe | undefined> {
  const bytes = await stripeBytes(file, 0)
  if (bytes === undefined) return undefined
  let last: LastStripe = { index: 0, bytes }
  // A stripe that is not full is the last one, so that most files need no search.
  if (bytes < STRIPE_BYTES) return last
  let probes: readonly number[] = PROBES
  let missing = Number.POSITIVE_INFINITY
  while (missing - last.index > 1) {
    const sizes = await Promise.all(probes.map(index => stripeBytes(file, index)))
    for (const [at, size] of sizes.entries()) {
      const index = probes[at]!
      if (size === undefined) {
        missing = Math.min(missing, index)
        break
      }
      last = { index, bytes: size }
    }
    probes = probesBetween(last.index, missing)
  }
  return last
}

function probesBetween(present: number, missing: number): readonly number[] {
  if (missing === Number.POSITIVE_INFINITY) return PROBES.map(step => present + step)
  const step = Math.max(1, Math.ceil((missing - present) / PROBES.length))
  const count = Math.ceil((missing - present) / step) - 1
  return Array.from({ length: count }, (_, n) => present + (n + 1) * step)
}

/**
 * Removes the last stripe first and the first one last: after a crash in between the file is still listed, is shorter
 * than every blob in it says, and is removed by the next attempt.
 */
export async function removeStripes(file: StripedFileName): Promise<void> {
  const last = await lastStripe(file)
  if (last === undefined) return
  // A crash while several stripes were being written may have left a later one without its predecessor.
  const behind = [3, 2, 1].map(step => last.index + step)
  const sizes = await Promise.all(behind.map(index => stripeBytes(file, index)))
  const rest = Array.from({ length: last.index + 1 }, (_, n) => last.index - n)
  for (const index of [...behind.filter((_, at) => sizes[at] !== undefined), ...rest]) {
    const { namespace, object } = stripe(file, index)
    await namespace.remove(object)
  }
}

/** Fills the buffer; resolves to fewer bytes at the end of the file. */
async function readAt(file: StripedFileName, position: number, whole: Buffer): Promise<number> {
  const bytes = whole.length
  const reads: Promise<{ readonly got: number; readonly wanted: number }>[] = []
  for (let at = 0; at < bytes; ) {
    const offset = (position + at) % STRIPE_BYTES
    const wanted = Math.min(bytes - at, STRIPE_BYTES - offset)
    const { namespace, object } = stripe(file, (position + at - offset) / STRIPE_BYTES)
    reads.push(namespace.read(object, whole.subarray(at, at + wanted), offset).then(got => ({ got, wanted })))
    at += wanted
  }
  let end = 0
  for (const { got, wanted } of await Promise.all(reads)) {
    end += got
    if (got < wanted) break
  }
  return end
}

/** Files being written in this process. */
let writers = 0

const writeBytes = (): number =>
  Math.max(WRITE_BYTES_MIN, Math.min(STRIPE_BYTES, Math.floor(COLLECTED_BYTES / Math.max(1, writers))))

export class StripedFile implements DiskFile {
  readonly readsAhead = READS_AHEAD
  readonly #file: StripedFileName
  readonly #isWritten: boolean
  /** Bytes not yet sent, and their position. */
  #buffer: Buffer | undefined
  #buffered = 0
  #bufferStart = 0
  readonly #writes = new Set<Promise<void>>()
  #failure: unknown

  constructor(file: StripedFileName, how: 'create' | 'read') {
    this.#file = file
    this.#isWritten = how === 'create'
    if (this.#isWritten) writers++
  }

  /** Resolves when the bytes are copied; `datasync` says whether they were stored. */
  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    assert.equal(position, this.#bufferStart + this.#buffered, 'files in RADOS are only appended to')
    for (const piece of pieces) {
      for (let at = 0; at < piece.length; ) {
        at += this.#fill(piece.subarray(at))
        if (this.#isBufferFull) await this.#sendAndLimit()
      }
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** A buffer ends with its stripe at the latest. */
  get #room(): number {
    this.#buffer ??= Buffer.allocUnsafeSlow(writeBytes())
    return Math.min(this.#buffer.length, STRIPE_BYTES - (this.#bufferStart % STRIPE_BYTES)) - this.#buffered
  }

  get #isBufferFull(): boolean {
    return this.#room === 0
  }

  #fill(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.#room)
    this.#buffer!.set(bytes.subarray(0, length), this.#buffered)
    this.#buffered += length
    return length
  }

  async #sendAndLimit(): Promise<void> {
    this.#send()
    while (this.#writes.size >= WRITES_MAX) await Promise.race(this.#writes)
    if (this.#failure !== undefined) throw this.#failure
  }

  #send(): void {
    if (this.#buffered === 0 || this.#failure !== undefined) return
    const sent = this.#sendBuffer().catch((error: unknown) => {
      this.#failure ??= error
    })
    this.#bufferStart += this.#buffered
    this.#buffered = 0
    this.#writes.add(sent)
    void sent.then(() => this.#writes.delete(sent))
  }

  #sendBuffer(): Promise<void> {
    const offset = this.#bufferStart % STRIPE_BYTES
    const bytes = this.#buffer!.subarray(0, this.#buffered)
    const { namespace, object } = stripe(this.#file, (this.#bufferStart - offset) / STRIPE_BYTES)
    return namespace.write(object, bytes, offset)
  }

  async datasync(): Promise<void> {
    this.#send()
    await Promise.all(this.#writes)
    if (this.#failure !== undefined) throw this.#failure
  }

  async read(into: readonly Uint8Array[], position: number): Promise<number> {
    let bytes = 0
    for (const piece of into) bytes += piece.length
    // A runtime may move smaller buffers while librados writes to them.
    const whole = takeChunk(Math.max(bytes, UNMOVED_BYTES_MIN))
    const got = await readAt(this.#file, position, whole.subarray(0, bytes))
    let at = 0
    for (const piece of into) {
      if (at >= got) break
      piece.set(whole.subarray(at, Math.min(at + piece.length, got)))
      at += piece.length
    }
    // After an error librados might still write to it, so then it is left to the collector.
    returnChunk(whole)
    return got
  }

  async size(): Promise<number> {
    const last = await lastStripe(this.#file)
    return last === undefined ? 0 : last.index * STRIPE_BYTES + last.bytes
  }

  /** Bytes that were not synced may be lost, as with a file on a disk. */
  async close(): Promise<void> {
    if (this.#isWritten) writers--
    this.#buffer = undefined
    this.#buffered = 0
    await Promise.all(this.#writes)
  }
}
