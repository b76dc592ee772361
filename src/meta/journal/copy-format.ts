/**
 * The files of the second copy: frames with a kind, a length and a CRC-32, and in them rows, each one write of one key
 * with its position in the order of all writes. Journals contain rows in commit order, snapshots and sorted runs in key
 * order. A journal truncated by a crash ends with a torn frame; reading continues after a frame damaged in the middle.
 */
import { crc32 } from '../../lib/crc.ts'
import type { DiskFile } from '../../lib/disk.ts'

/** A generation is one start on a folder; within it, LMDB's transaction numbers are the order. */
export interface CommitOrder {
  readonly generation: number
  readonly txn: number
  /** Numbers the commits of one process, which orders those that share a transaction. */
  readonly seq: number
}

export interface CopyRow extends CommitOrder {
  readonly key: Buffer
  /** Undefined: the key was deleted. */
  readonly value: Buffer | undefined
  /** The engine's stamp; zero for a deletion. */
  readonly stamp: number
}

/** generation 4, txn 8, seq 8, stamp 8, key length 2, value length plus one 4 (zero: a deletion). */
const ROW_HEAD_BYTES = 34
const KEY_LENGTH_AT = 28

export const compareOrder = (a: CommitOrder, b: CommitOrder): number =>
  a.generation - b.generation || a.txn - b.txn || a.seq - b.seq

export const rowBytes = (key: Buffer, value: Buffer | undefined): number =>
  ROW_HEAD_BYTES + key.length + (value?.length ?? 0)

/** Encodes a row at `at`; returns the end. */
export function writeRow(
  into: Buffer,
  at: number,
  order: CommitOrder,
  row: Pick<CopyRow, 'key' | 'value' | 'stamp'>,
): number {
  const { key, value, stamp } = row
  into.writeUInt32BE(order.generation, at)
  into.writeDoubleBE(order.txn, at + 4)
  into.writeDoubleBE(order.seq, at + 12)
  into.writeDoubleBE(stamp, at + 20)
  into.writeUInt16BE(key.length, at + KEY_LENGTH_AT)
  into.writeUInt32BE(value === undefined ? 0 : value.length + 1, at + 30)
  into.set(key, at + ROW_HEAD_BYTES)
  const end = at + ROW_HEAD_BYTES + key.length
  if (value === undefined) return end
  into.set(value, end)
  return end + value.length
}

/** Decodes the rows of a verified frame; they reference its memory. */
export function readRows(frame: Buffer): CopyRow[] {
  const rows: CopyRow[] = []
  for (let at = 0; at < frame.length; ) {
    const keyEnd = at + ROW_HEAD_BYTES + frame.readUInt16BE(at + KEY_LENGTH_AT)
    const size = frame.readUInt32BE(at + 30)
    const end = size === 0 ? keyEnd : keyEnd + size - 1
    if (end > frame.length) throw new RangeError('a row exceeds its frame')
    rows.push({
      ...orderAt(frame, at),
      stamp: frame.readDoubleBE(at + 20),
      key: frame.subarray(at + ROW_HEAD_BYTES, keyEnd),
      value: size === 0 ? undefined : frame.subarray(keyEnd, end),
    })
    at = end
  }
  return rows
}

/**
 * True when a damaged frame still contains a later deletion of this key. Such a long match does not occur by chance.
 */
export function showsDeletion(
  damagedFrame: Buffer,
  { key, ...known }: CommitOrder & { readonly key: Buffer },
): boolean {
  const row = Buffer.alloc(ROW_HEAD_BYTES + key.length)
  row.writeUInt16BE(key.length, KEY_LENGTH_AT)
  row.set(key, ROW_HEAD_BYTES)
  // From the key length on: the bytes before it differ between rows.
  const pattern = row.subarray(KEY_LENGTH_AT)
  for (let at = damagedFrame.indexOf(pattern); at >= 0; at = damagedFrame.indexOf(pattern, at + 1)) {
    if (at >= KEY_LENGTH_AT && compareOrder(orderAt(damagedFrame, at - KEY_LENGTH_AT), known) > 0) return true
  }
  return false
}

const orderAt = (frame: Buffer, at: number): CommitOrder => ({
  generation: frame.readUInt32BE(at),
  txn: frame.readDoubleBE(at + 4),
  seq: frame.readDoubleBE(at + 12),
})

export const FRAME_HEAD_BYTES = 12
/** A commit is not split, and its rows are about a megabyte at most. */
const PAYLOAD_BYTES_MAX = 16 * 2 ** 20
/** The first two bytes of every frame, before its kind. */
const MARK = 0x4843_0000

const FRAME_KINDS = { head: 1, rows: 2, end: 3 } as const
type FrameKind = keyof typeof FRAME_KINDS
const NAMES = new Map<number, FrameKind>(
  Object.entries(FRAME_KINDS).map(([name, number]) => [MARK + number, name as FrameKind]),
)

interface Frame {
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
