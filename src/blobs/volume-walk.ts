import type { ReadableFile } from '../lib/disk.ts'
import type { PackedEntry } from './blobs.ts'
import {
  alignToBatch,
  BATCH_ALIGNMENT_BYTES,
  HEADER_BYTES,
  readPackedHeader,
  storedBytes,
  superblockFormat,
  VOLUME_FORMAT,
} from './frames.ts'

/** Small records share a read of this size; between large ones no more is read. */
const WINDOW_BYTES = 64 * 1024

/**
 * Every whole record of a volume in file order. A torn or damaged header ends the walk, since the bytes after it cannot
 * be told from payload. A damaged superblock does not, since every record carries its own checksums.
 */
export async function* walkVolume(file: ReadableFile, volume: string): AsyncGenerator<PackedEntry, void, undefined> {
  const size = await file.size()
  const window = new Window(file, size)
  const format = superblockFormat(await window.at(0, BATCH_ALIGNMENT_BYTES))
  if (format !== undefined && format > VOLUME_FORMAT) {
    throw new Error(`volume ${volume} has format ${format}; this program reads up to ${VOLUME_FORMAT}`)
  }
  let position = BATCH_ALIGNMENT_BYTES
  while (position < size) {
    const head = readPackedHeader(await window.at(position, HEADER_BYTES))
    if (head !== undefined) {
      const end = position + storedBytes(head)
      if (end > size) return
      const { id, length, frameBytes } = head
      yield { id, location: { volume, offset: position, length, frameBytes } }
      position = end
      continue
    }
    // The rest of a batch's last block is padding; a block that does not start with a record is foreign.
    const border = alignToBatch(position)
    if (border === position || !isZero(await window.at(position, Math.min(4, border - position)))) return
    position = border
  }
}

function isZero(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0) return false
  return true
}

/** The part of a file that was read last. */
class Window {
  readonly #file: ReadableFile
  readonly #size: number
  readonly #bytes = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  #start = 0
  #end = 0

  constructor(file: ReadableFile, size: number) {
    this.#file = file
    this.#size = size
  }

  /** Up to `count` bytes at `position`, fewer at the end of the file; valid until the next call. */
  async at(position: number, count: number): Promise<Buffer> {
    const end = Math.min(position + count, this.#size)
    if (position < this.#start || end > this.#end) {
      this.#start = position
      this.#end = position + (await this.#file.read([this.#bytes], position))
    }
    return this.#bytes.subarray(position - this.#start, Math.min(end, this.#end) - this.#start)
  }
}
