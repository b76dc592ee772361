/**
 * The framing of the second copy's files: frames with a kind, a length and a CRC-32. A journal truncated by a crash
 * ends with a torn frame; reading continues after a frame damaged in the middle.
 */
import { crc32 } from '../../lib/crc.ts'
import type { DiskFile } from '../../lib/disk.ts'

export const FRAME_HEAD_BYTES = 12
/** A commit is not split, and its rows are about a megabyte at most. */
const PAYLOAD_BYTES_MAX = 16 * 2 ** 20
/** The first two bytes of every frame, before its kind. */
const MARK = 0x4843_0000

export const FRAME_KINDS = { head: 1, rows: 2, end: 3 } as const
export type FrameKind = keyof typeof FRAME_KINDS
const NAMES = new Map<number, FrameKind>(
  Object.entries(FRAME_KINDS).map(([name, number]) => [MARK + number, name as FrameKind]),
)

export interface Frame {
  readonly kind: FrameKind
  readonly payload: Buffer
}

/** Fills in the header of a frame whose payload is already in place. */
export function closeFrame(frame: Buffer, kind: FrameKind): void {
  frame.writeUInt32BE(MARK + FRAME_KINDS[kind], 0)
  frame.writeUInt32BE(frame.length - FRAME_HEAD_BYTES, 4)
  frame.writeUInt32BE(crc32(frame.subarray(FRAME_HEAD_BYTES), crc32(frame.subarray(0, 8))) >>> 0, 8)
}

export function frameOf(kind: FrameKind, payload: Buffer): Buffer {
  const frame = Buffer.concat([Buffer.allocUnsafe(FRAME_HEAD_BYTES), payload])
  closeFrame(frame, kind)
  return frame
}

/** Reads a file from its beginning as far as possible. */
export class FrameReader {
  readonly #file: DiskFile
  readonly #head = Buffer.allocUnsafe(FRAME_HEAD_BYTES)
  #at = 0
  /** Frames that were skipped: they do not match their checksum, and others follow. */
  damaged = 0
  /** The last frame marks the file as complete. */
  isEnded = false
  /** The last frame is followed by bytes that are not a frame. */
  isTorn = false
  /** The disk failed to read a part: treated as damage. */
  isUnreadable = false
  /** Receives the payload of a damaged frame. */
  readonly #onDamaged: ((payload: Buffer) => void) | undefined

  constructor(file: DiskFile, onDamaged?: (payload: Buffer) => void) {
    this.#file = file
    this.#onDamaged = onDamaged
  }

  async next(): Promise<Frame | undefined> {
    for (;;) {
      const length = await this.#lengthAt(this.#at)
      if (length === undefined) return undefined
      const kind = NAMES.get(this.#head.readUInt32BE(0))
      const expected = this.#head.readUInt32BE(8)
      const seed = crc32(this.#head.subarray(0, 8))
      const payload = Buffer.allocUnsafeSlow(length)
      const got = await this.#read(payload, this.#at + FRAME_HEAD_BYTES)
      const after = this.#at + FRAME_HEAD_BYTES + length
      if (got === length && kind !== undefined && crc32(payload, seed) >>> 0 === expected) {
        this.#at = after
        this.isEnded = kind === 'end'
        return { kind, payload }
      }
      this.isTorn = (got < length && !this.isUnreadable) || (await this.#lengthAt(after)) === undefined
      if (this.isTorn) return undefined
      this.#onDamaged?.(payload.subarray(0, got))
      this.damaged++
      this.#at = after
    }
  }

  async #read(into: Buffer, at: number): Promise<number> {
    try {
      return await this.#file.read([into], at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
      this.isUnreadable = true
      return 0
    }
  }

  /** Payload length of the frame at this position; undefined when there is none. */
  async #lengthAt(at: number): Promise<number | undefined> {
    const got = await this.#read(this.#head, at)
    const length = got === FRAME_HEAD_BYTES ? this.#head.readUInt32BE(4) : PAYLOAD_BYTES_MAX + 1
    const isHead = length <= PAYLOAD_BYTES_MAX && (this.#head.readUInt32BE(0) & 0xffff_0000) >>> 0 === MARK
    this.isTorn = !isHead && got > 0
    return isHead ? length : undefined
  }
}
