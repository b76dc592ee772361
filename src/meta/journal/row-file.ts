/** Files of rows in key order: snapshots, and the sorted runs that a round makes of journals. */
import { format, struct, text, uint } from '../../lib/codec.ts'
import type { Disk, DiskFile } from '../../lib/disk.ts'
import {
  type CommitOrder,
  type CopyRow,
  closeFrame,
  FRAME_HEAD_BYTES,
  FrameReader,
  frameOf,
  readRows,
  rowBytes,
  writeRow,
} from './copy-format.ts'

const CHUNK_BYTES = 2 ** 18

interface Head {
  readonly title: string
}

interface End {
  readonly rows: number
}

const TITLE = 'holdfast rows 1'
const headFormat = format<Head>('RH', struct<Head>({ title: text }))
const HEAD = headFormat.encode({ title: TITLE })
const endFormat = format<End>('RE', struct<End>({ rows: uint }))

/** A file of the copy is damaged. */
export class DamagedCopy extends Error {
  readonly path: string
  constructor(path: string, what: string) {
    super(`${path}: ${what}`)
    this.name = 'DamagedCopy'
    this.path = path
  }
}

export class RowWriter {
  readonly #file: DiskFile
  readonly #path: string
  readonly #disk: Disk
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #used = FRAME_HEAD_BYTES
  #at = 0
  rows = 0

  private constructor(disk: Disk, path: string, file: DiskFile) {
    this.#disk = disk
    this.#path = path
    this.#file = file
  }

  static async create(disk: Disk, path: string, head = frameOf('head', HEAD)): Promise<RowWriter> {
    await disk.remove(path)
    const writer = new RowWriter(disk, path, await disk.open(path, 'create'))
    await writer.#write(head)
    return writer
  }

  get bytes(): number {
    return this.#at
  }

  async #write(frame: Buffer): Promise<void> {
    await this.#file.write([frame], this.#at)
    this.#at += frame.length
  }

  async add(order: CommitOrder, row: Pick<CopyRow, 'key' | 'value' | 'stamp'>): Promise<void> {
    const bytes = rowBytes(row.key, row.value)
    if (this.#used + bytes > this.#chunk.length) await this.#flush(bytes)
    this.#used = writeRow(this.#chunk, this.#used, order, row)
    this.rows++
  }

  async #flush(room: number): Promise<void> {
    if (this.#used > FRAME_HEAD_BYTES) {
      const frame = this.#chunk.subarray(0, this.#used)
      closeFrame(frame, 'rows')
      await this.#write(frame)
    }
    this.#used = FRAME_HEAD_BYTES
    if (FRAME_HEAD_BYTES + room > this.#chunk.length) this.#chunk = Buffer.allocUnsafeSlow(FRAME_HEAD_BYTES + room)
  }

  /** Completes the file, synced if requested. */
  async finish(synced: boolean): Promise<void> {
    await this.#flush(0)
    await this.#write(frameOf('end', endFormat.encode({ rows: this.rows })))
    if (synced) await this.#file.datasync()
    await this.#file.close()
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
    await this.#disk.remove(this.#path)
  }
}

/** All rows, frame by frame; throws DamagedCopy unless the file is complete. */
export async function* rowsOf(disk: Disk, path: string): AsyncGenerator<readonly CopyRow[]> {
  const file = await disk.open(path, 'read')
  try {
    const reader = new FrameReader(file)
    const head = await reader.next()
    if (head?.kind !== 'head' || headFormat.decode(head.payload).title !== TITLE) {
      throw new DamagedCopy(path, 'has no valid header')
    }
    let rows = 0
    for (let frame = await reader.next(); frame !== undefined; frame = await reader.next()) {
      if (reader.damaged > 0) break
      if (frame.kind === 'end') {
        if (endFormat.decode(frame.payload).rows !== rows) throw new DamagedCopy(path, 'has too few rows')
        return
      }
      const batch = readRows(frame.payload)
      rows += batch.length
      yield batch
    }
    throw new DamagedCopy(path, reader.damaged > 0 ? 'does not match its checksums' : 'its end is missing')
  } finally {
    await file.close()
  }
}
