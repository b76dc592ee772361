/**
 * The layout of stored bytes: what docs/formats/blobs.md states, as code. Pure; no file is touched here.
 *
 * Packed or with a file of its own, a blob is a head followed by frames; a frame is a CRC-32 and up to `frameBytes`
 * of payload. The CRC of a frame starts from the blob's id and the frame's index, so a frame that is whole but lies
 * in the wrong place does not pass.
 */
import assert from 'node:assert/strict'
import { crc32 } from '../lib/crc.ts'
import { readUint64, uint64 } from '../lib/keys.ts'
import type { BlobId } from './blobs.ts'

export const BLOB_ID_BYTES = 16
export const BLOB_WRITER_BYTES = 6
export const HEADER_BYTES = 36
export const FOOTER_BYTES = 16
export const FRAME_CRC_BYTES = 4
/** Batches start on such a border, so that no sector that holds acknowledged bytes is ever written again. */
export const BATCH_ALIGNMENT_BYTES = 4096
export const FRAME_BYTES_MAX = 2 ** 20
/** The newest volume format this program reads, and the one it writes. */
export const VOLUME_FORMAT = 1

const VOLUME_MAGIC = 0x48465631
const FOOT_MAGIC = 0x48464531
const HEAD_MAGIC = { packed: 0x48465031, solo: 0x48465331 } as const
const SUPERBLOCK_BYTES = 28

export type BlobKind = keyof typeof HEAD_MAGIC

/** A blob's shape: enough to say where every frame lies. */
export interface Shape {
  readonly length: number
  readonly frameBytes: number
}

export function checkFrameBytes(frameBytes: number): void {
  assert(
    Number.isInteger(frameBytes) && frameBytes >= 1 && frameBytes <= FRAME_BYTES_MAX,
    `frames of ${frameBytes} bytes are not supported`,
  )
}

/** Bytes from the start of the head to the end of the last frame. */
export function storedBytes({ length, frameBytes }: Shape): number {
  return HEADER_BYTES + length + Math.ceil(length / frameBytes) * FRAME_CRC_BYTES
}

/** Where frame `index` starts, counted from the start of the head. */
export function frameStart(index: number, frameBytes: number): number {
  return HEADER_BYTES + index * (FRAME_CRC_BYTES + frameBytes)
}

export function alignToBatch(position: number): number {
  return Math.ceil(position / BATCH_ALIGNMENT_BYTES) * BATCH_ALIGNMENT_BYTES
}

/** What the checks of all frames of this blob start from. */
export function idSeed(id: BlobId): number {
  return crc32(id)
}

const indexBytes = Buffer.alloc(4)

export function frameSeed(seedOfId: number, index: number): number {
  indexBytes.writeUInt32BE(index)
  return crc32(indexBytes, seedOfId)
}

/** A blob with a file of its own is longer than is known when its head is written: its length stands in the foot. */
export function writeHeader(into: Buffer, kind: BlobKind, id: BlobId, shape: Shape): void {
  into.writeUInt32BE(HEAD_MAGIC[kind], 0)
  into.set(id, 4)
  into.set(uint64(kind === 'solo' ? 0 : shape.length), 20)
  into.writeUInt32BE(shape.frameBytes, 28)
  into.writeUInt32BE(crc32(into.subarray(0, 32)), 32)
}

/** The only head that this blob may have: a reader compares it byte by byte. */
export function expectedHeader(kind: BlobKind, id: BlobId, shape: Shape): Buffer {
  const head = Buffer.allocUnsafe(HEADER_BYTES)
  writeHeader(head, kind, id, shape)
  return head
}

export interface PackedHeader extends Shape {
  readonly id: BlobId
}

/** The head of a packed record, or nothing when these bytes are not one. */
export function readPackedHeader(bytes: Buffer): PackedHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32BE(0) !== HEAD_MAGIC.packed) return undefined
  if (crc32(bytes.subarray(0, 32)) !== bytes.readUInt32BE(32)) return undefined
  const frameBytes = bytes.readUInt32BE(28)
  if (frameBytes < 1 || frameBytes > FRAME_BYTES_MAX) return undefined
  return { id: Buffer.from(bytes.subarray(4, 20)), length: readUint64(bytes, 20), frameBytes }
}

/** Ends a file of its own. The check starts from the id, so the foot of another blob does not pass. */
export function footerOf(id: BlobId, length: number): Buffer {
  const foot = Buffer.allocUnsafe(FOOTER_BYTES)
  foot.writeUInt32BE(FOOT_MAGIC, 0)
  foot.set(uint64(length), 4)
  foot.writeUInt32BE(crc32(foot.subarray(0, 12), idSeed(id)), 12)
  return foot
}

export interface VolumeName {
  readonly writer: Buffer
  readonly number: number
}

export function volumeName({ writer, number }: VolumeName): string {
  return `${writer.toString('hex')}-${number}`
}

/** Names come back from records: what is not a volume's name never becomes part of a path. */
export function parseVolumeName(name: string): VolumeName | undefined {
  const match = /^([0-9a-f]{12})-([1-9][0-9]{0,14})$/.exec(name)
  if (match === null) return undefined
  return { writer: Buffer.from(match[1]!, 'hex'), number: Number(match[2]) }
}

/** The first block of a volume. */
export function superblockOf({ writer, number }: VolumeName): Buffer {
  const block = Buffer.alloc(BATCH_ALIGNMENT_BYTES)
  block.writeUInt32BE(VOLUME_MAGIC, 0)
  block.writeUInt32BE(VOLUME_FORMAT, 4)
  block.set(writer, 8)
  block.set(uint64(number), 16)
  block.writeUInt32BE(crc32(block.subarray(0, 24)), 24)
  return block
}

/** The format that a superblock names, or nothing when it is torn or damaged. */
export function superblockFormat(block: Buffer): number | undefined {
  if (block.length < SUPERBLOCK_BYTES || block.readUInt32BE(0) !== VOLUME_MAGIC) return undefined
  if (crc32(block.subarray(0, 24)) !== block.readUInt32BE(24)) return undefined
  return block.readUInt32BE(4)
}
