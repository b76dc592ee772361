/**
 * The layout of stored bytes, as docs/formats/blobs.md defines it. Pure; no file is touched here.
 *
 * Packed or solo, a blob is a header followed by frames; a frame is a CRC-32 and up to `frameBytes` of payload. The CRC
 * is seeded with the blob's id and the frame's index, so an intact frame in the wrong place fails the check.
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
/** Batches start at a multiple of this, so that a sector with acknowledged bytes is never rewritten. */
export const BATCH_ALIGNMENT_BYTES = 4096
const FRAME_BYTES_MAX = 2 ** 20
/** The newest volume format this program reads, and the one it writes. */
export const VOLUME_FORMAT = 1

const VOLUME_MAGIC = 0x48465631
const FOOT_MAGIC = 0x48464531
const HEAD_MAGIC = { packed: 0x48465031, solo: 0x48465331 } as const
const SUPERBLOCK_BYTES = 28

export type BlobKind = keyof typeof HEAD_MAGIC

/** A blob's shape: enough to locate every frame. */
interface Shape {
  readonly length: number
  readonly frameBytes: number
}

export function checkFrameBytes(frameBytes: number): void {
  assert(
    Number.isInteger(frameBytes) && frameBytes >= 1 && frameBytes <= FRAME_BYTES_MAX,
    `frames of ${frameBytes} bytes are not supported`,
  )
}

/** Bytes from the start of the header to the end of the last frame. */
export function storedBytes({ length, frameBytes }: Shape): number {
  return HEADER_BYTES + length + Math.ceil(length / frameBytes) * FRAME_CRC_BYTES
}

/** The offset of frame `index` from the start of the header. */
export function frameStart(index: number, frameBytes: number): number {
  return HEADER_BYTES + index * (FRAME_CRC_BYTES + frameBytes)
}

export function alignToBatch(position: number): number {
  return Math.ceil(position / BATCH_ALIGNMENT_BYTES) * BATCH_ALIGNMENT_BYTES
}

/** The seed of all frame CRCs of this blob. */
export function idSeed(id: BlobId): number {
  return crc32(id)
}

const indexBytes = Buffer.alloc(4)

export function frameSeed(seedOfId: number, index: number): number {
  indexBytes.writeUInt32BE(index)
  return crc32(indexBytes, seedOfId)
}

/** The length of a solo blob is not known when its header is written, so the footer holds it. */
export function writeHeader(into: Buffer, kind: BlobKind, id: BlobId, shape: Shape): void {
  into.writeUInt32BE(HEAD_MAGIC[kind], 0)
  into.set(id, 4)
  into.set(uint64(kind === 'solo' ? 0 : shape.length), 20)
  into.writeUInt32BE(shape.frameBytes, 28)
  into.writeUInt32BE(crc32(into.subarray(0, 32)), 32)
}

/** The only valid header of this blob: a reader compares it byte by byte. */
export function expectedHeader(kind: BlobKind, id: BlobId, shape: Shape): Buffer {
  const head = Buffer.allocUnsafe(HEADER_BYTES)
  writeHeader(head, kind, id, shape)
  return head
}

interface PackedHeader extends Shape {
  readonly id: BlobId
}

/** The header of a packed record; undefined if these bytes are not one. */
export function readPackedHeader(bytes: Buffer): PackedHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32BE(0) !== HEAD_MAGIC.packed) return undefined
  if (crc32(bytes.subarray(0, 32)) !== bytes.readUInt32BE(32)) return undefined
  const frameBytes = bytes.readUInt32BE(28)
  if (frameBytes < 1 || frameBytes > FRAME_BYTES_MAX) return undefined
  return { id: Buffer.from(bytes.subarray(4, 20)), length: readUint64(bytes, 20), frameBytes }
}

/** Ends a solo file. The CRC is seeded with the id, so the footer of another blob fails the check. */
export function footerOf(id: BlobId, length: number): Buffer {
  const foot = Buffer.allocUnsafe(FOOTER_BYTES)
  foot.writeUInt32BE(FOOT_MAGIC, 0)
  foot.set(uint64(length), 4)
  foot.writeUInt32BE(crc32(foot.subarray(0, 12), idSeed(id)), 12)
  return foot
}

interface VolumeName {
  readonly writer: Buffer
  readonly number: number
}

export function volumeName({ writer, number }: VolumeName): string {
  return `${writer.toString('hex')}-${number}`
}

/** Names come from records: only a valid volume name may become part of a path. */
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

/** The format in a superblock; undefined if it is torn or damaged. */
export function superblockFormat(block: Buffer): number | undefined {
  if (block.length < SUPERBLOCK_BYTES || block.readUInt32BE(0) !== VOLUME_MAGIC) return undefined
  if (crc32(block.subarray(0, 24)) !== block.readUInt32BE(24)) return undefined
  return block.readUInt32BE(4)
}
