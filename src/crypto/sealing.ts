/**
 * R26. Blob bytes sealed in frames, encrypted twice in one pass: with the blob's own key inside and a storage key
 * outside. A frame is bound to its blob, its index and whether it is the last, so dropped, swapped, spliced, truncated
 * or added bytes are an error. This layer does not know what the bytes are for; see docs/formats/encryption.md.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { EMPTY } from '../lib/bytes.ts'
import { CIPHER, CIPHER_OPTIONS, deriveKey, NONCE_BYTES, TAG_BYTES } from './derive.ts'

/** Small enough that a range read opens little more than it needs, large enough that two tags are negligible. */
export const FRAME_BYTES = 65_536
const SEAL_BYTES = 2 * TAG_BYTES
export const SEALED_FRAME_BYTES = FRAME_BYTES + SEAL_BYTES
const BLOB_ID_BYTES = 16
const FRAME_FORMAT = 1

export interface SealKeys {
  /** Random, and used for one blob only: frame nonces repeat from blob to blob. */
  readonly blobKey: Buffer
  readonly storageKey: Buffer
  readonly blobId: Buffer
}

/** Sealed bytes fail authentication. Readers get this instead of wrong bytes. */
export class SealBroken extends Error {
  readonly blobId: Buffer
  readonly frame: number
  constructor(blobId: Buffer, frame: number, what: string) {
    super(`blob ${blobId.toString('hex')}, frame ${frame}: ${what}`)
    this.name = 'SealBroken'
    this.blobId = blobId
    this.frame = frame
  }
}

/** Frames of a plaintext of this length; an empty one still has an empty last frame, so that its end is sealed too. */
function frameCount(plainLength: number): number {
  return Math.max(1, Math.ceil(plainLength / FRAME_BYTES))
}

/** Stored bytes for a plaintext of this length. */
export function sealedLength(plainLength: number): number {
  return plainLength + frameCount(plainLength) * SEAL_BYTES
}

/** Turns chunks of any size into sealed frames. The caller must not modify a chunk after passing it. */
export async function* seal(
  body: AsyncIterable<Buffer> | Iterable<Buffer>,
  keys: SealKeys,
): AsyncGenerator<Buffer, void, undefined> {
  const frames = new FrameCipher(keys)
  const assembly = new FrameAssembly()
  let index = 0
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      // A full frame waits for one more byte: only then is it known not to be the last.
      if (assembly.filled === FRAME_BYTES) yield* frames.seal(assembly.take(), index++, false)
      at += assembly.add(chunk, at, FRAME_BYTES)
    }
  }
  yield* frames.seal(assembly.take(), index, true)
}

/**
 * Plain bytes [start, end). `read` returns the sealed bytes [start, end) in chunks of any size and is called once, for
 * the frames needed. No byte of a frame is returned before both of its tags have been verified.
 */
export async function* openSealed(
  read: (start: number, end: number) => AsyncIterable<Buffer>,
  keys: SealKeys,
  plainLength: number,
  start: number,
  end: number,
): AsyncGenerator<Buffer, void, undefined> {
  if (!(start >= 0 && start <= end && end <= plainLength)) {
    throw new RangeError(`[${start}, ${end}) is not a range within ${plainLength} bytes`)
  }
  // An empty blob still has a frame to verify; an empty range of any other blob needs none.
  if (start === end && plainLength > 0) return
  const frames = new FrameCipher(keys)
  const assembly = new FrameAssembly()
  const last = frameCount(plainLength) - 1
  const stop = Math.max(1, Math.ceil(end / FRAME_BYTES))
  let index = Math.floor(start / FRAME_BYTES)
  const sealedEnd = Math.min(stop * SEALED_FRAME_BYTES, sealedLength(plainLength))
  for await (const chunk of read(index * SEALED_FRAME_BYTES, sealedEnd)) {
    for (let at = 0; at < chunk.length; ) {
      if (index === stop) throw new SealBroken(keys.blobId, index, 'more bytes than were sealed')
      const frameStart = index * FRAME_BYTES
      const size = Math.min(FRAME_BYTES, plainLength - frameStart) + SEAL_BYTES
      at += assembly.add(chunk, at, size)
      if (assembly.filled < size) continue
      const plain = frames.open(assembly.take(), index, index === last)
      index++
      const wanted = plain.subarray(Math.max(0, start - frameStart), end - frameStart)
      if (wanted.length > 0) yield wanted
    }
  }
  if (index !== stop) throw new SealBroken(keys.blobId, index, 'the sealed bytes end early')
}

/** Seals and opens the frames of one blob. Nonce and associated data are rewritten in place for every frame. */
class FrameCipher {
  readonly #inner: Buffer
  readonly #outer: Buffer
  readonly #blobId: Buffer
  readonly #nonce = Buffer.alloc(NONCE_BYTES)
  readonly #bound = Buffer.alloc(1 + BLOB_ID_BYTES + 8 + 1)

  constructor(keys: SealKeys) {
    if (keys.blobId.length !== BLOB_ID_BYTES) throw new RangeError(`a blob id has ${BLOB_ID_BYTES} bytes`)
    this.#inner = keys.blobKey
    this.#outer = deriveKey(keys.storageKey, 'outer frames', keys.blobId)
    this.#blobId = keys.blobId
    this.#bound[0] = FRAME_FORMAT
    keys.blobId.copy(this.#bound, 1)
  }

  /** The pieces are consecutive: joining them would copy every stored byte once more. */
  seal(plain: Buffer, index: number, last: boolean): Buffer[] {
    this.#point(index, last)
    const inner = createCipheriv(CIPHER, this.#inner, this.#nonce, CIPHER_OPTIONS)
    inner.setAAD(this.#bound)
    const once = inner.update(plain)
    inner.final()
    const outer = createCipheriv(CIPHER, this.#outer, this.#nonce, CIPHER_OPTIONS)
    outer.setAAD(this.#bound)
    const twice = outer.update(once)
    const innerTag = outer.update(inner.getAuthTag())
    outer.final()
    const tags = Buffer.concat([innerTag, outer.getAuthTag()], SEAL_BYTES)
    return twice.length > 0 ? [twice, tags] : [tags]
  }

  open(sealed: Buffer, index: number, last: boolean): Buffer {
    this.#point(index, last)
    const once = this.#openLayer(this.#outer, sealed, index, 'the outer tag does not match')
    return this.#openLayer(this.#inner, once, index, 'the inner tag does not match')
  }

  #openLayer(key: Buffer, sealed: Buffer, index: number, otherwise: string): Buffer {
    const tagAt = sealed.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, key, this.#nonce, CIPHER_OPTIONS)
    decipher.setAAD(this.#bound)
    decipher.setAuthTag(sealed.subarray(tagAt))
    const opened = decipher.update(sealed.subarray(0, tagAt))
    try {
      decipher.final()
    } catch {
      throw new SealBroken(this.#blobId, index, otherwise)
    }
    return opened
  }

  #point(index: number, last: boolean): void {
    const high = Math.floor(index / 2 ** 32)
    const low = index >>> 0
    this.#nonce.writeUInt32BE(high, NONCE_BYTES - 8)
    this.#nonce.writeUInt32BE(low, NONCE_BYTES - 4)
    this.#bound.writeUInt32BE(high, 1 + BLOB_ID_BYTES)
    this.#bound.writeUInt32BE(low, 1 + BLOB_ID_BYTES + 4)
    this.#bound[1 + BLOB_ID_BYTES + 8] = last ? 1 : 0
  }
}

/**
 * Assembles a frame from chunks. A frame within one chunk is used in place; only one that straddles chunks is copied,
 * into a buffer reused for all frames, since the ciphers are done with it before the next.
 */
class FrameAssembly {
  #lone: Buffer | undefined
  #joined: Buffer | undefined
  #filled = 0

  get filled(): number {
    return this.#filled
  }

  /** Adds up to the missing bytes of a frame of `size` from `chunk` at `at`; returns how many it used. */
  add(chunk: Buffer, at: number, size: number): number {
    const count = Math.min(size - this.#filled, chunk.length - at)
    if (this.#filled === 0) {
      this.#lone = chunk.subarray(at, at + count)
    } else {
      this.#joined ??= Buffer.allocUnsafeSlow(SEALED_FRAME_BYTES)
      if (this.#lone !== undefined) this.#joined.set(this.#lone, 0)
      this.#lone = undefined
      chunk.copy(this.#joined, this.#filled, at, at + count)
    }
    this.#filled += count
    return count
  }

  /** The bytes so far, valid until the next `add`. */
  take(): Buffer {
    const frame = this.#lone ?? this.#joined?.subarray(0, this.#filled) ?? EMPTY
    this.#lone = undefined
    this.#filled = 0
    return frame
  }
}
