import { createCipheriv, createHash } from 'node:crypto'
import { type BlobLocation, type Blobs, type Body, DamagedBlob } from '../../src/blobs/blobs.ts'
import { type BlobsOptions, openBlobs } from '../../src/blobs/file-blobs.ts'
import type { Disk } from '../../src/lib/disk.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { type Random, seededRandom } from '../../src/lib/random.ts'

export const FOLDER = '/data'
export const WRITER = Buffer.from('0102030405a6', 'hex')

/** A blob id of this writer; the last byte, which selects the folder of a solo file, varies with the number. */
export function idOf(number: number): Buffer {
  const id = Buffer.alloc(16, 0x5a)
  id.set(WRITER)
  id.writeUInt32BE(number, 12)
  return id
}

/** Neighbouring seeds would start alike, so they are spread first. */
export function chance(seed: number): Random {
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1))
  random.bytes(64)
  return random
}

/** Makes the calls of a disk overlap: each takes a random number of turns of the event loop. */
export function dawdle(disk: MemoryDisk, random: Random): void {
  disk.pause = async () => {
    for (let turns = Math.floor(random.fraction() * 6); turns > 0; turns--) await turn()
  }
}

export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Bytes without a period that could hide a misplaced read; cached, since tests often use the same ones. */
export function payload(length: number, seed = 1): Buffer {
  const name = `${length}/${seed}`
  const bytes = payloads.get(name) ?? keyStream(name, length)
  payloads.set(name, bytes)
  return bytes
}

/** Much faster than the seeded generator, and as repeatable. */
function keyStream(name: string, length: number): Buffer {
  const key = createHash('md5').update(name).digest()
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

const payloads = new Map<string, Buffer>()

export function open(disk: Disk, options: Partial<BlobsOptions> = {}): Promise<Blobs> {
  return openBlobs({ disk, folder: FOLDER, writer: WRITER, ...options })
}

export async function readAll(
  blobs: Blobs,
  id: Buffer,
  location: BlobLocation,
  start = 0,
  end = location.length,
): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of blobs.read(id, location, start, end)) parts.push(part)
  return Buffer.concat(parts)
}

/** The same bytes in chunks of the given sizes in turn. */
export function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    yield bytes.subarray(at, at + size)
    at += size
  }
}

export async function* asynchronously(body: Body): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield chunk
}

export async function contentOf(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, 'read')
  const bytes = Buffer.alloc(await file.size())
  await file.read([bytes], 0)
  await file.close()
  return bytes
}

/** Replaces the bytes of a file. Open descriptors keep the old ones: reopen the blobs. */
export async function replace(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  await disk.remove(path)
  const file = await disk.open(path, 'create')
  if (bytes.length > 0) await file.write([bytes], 0)
  await file.close()
}

export function pathOf(id: Buffer, location: BlobLocation): string {
  if (location.volume !== undefined) return `${FOLDER}/volumes/${location.volume}`
  return `${FOLDER}/solo/${id.toString('hex', 15)}/${id.toString('hex')}`
}

export const isDamaged = (error: unknown): boolean => error instanceof DamagedBlob

/** A disk that counts the bytes read and written. */
export class CountingDisk extends MemoryDisk {
  written = 0
  readBytes = 0

  override async open(path: string, how: 'create' | 'read') {
    const file = await super.open(path, how)
    const { write, read } = file
    file.write = async (pieces, position) => {
      await write.call(file, pieces, position)
      for (const piece of pieces) this.written += piece.length
    }
    file.read = async (into, position) => {
      const got = await read.call(file, into, position)
      this.readBytes += got
      return got
    }
    return file
  }
}
