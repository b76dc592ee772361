/** The references: minimal, efficient code that does the same with the bytes as the engine. */
import { promises as fs } from 'node:fs'
import { dirname } from 'node:path'

interface Waiting {
  readonly bytes: Buffer
  resolve(): void
  reject(error: unknown): void
}

/** Appends to one file: all waiting appends share one gathering write and one fdatasync. */
export class GroupAppender {
  readonly #file: fs.FileHandle
  #queue: Waiting[] = []
  #running = false

  private constructor(file: fs.FileHandle) {
    this.#file = file
  }

  static async create(path: string): Promise<GroupAppender> {
    return new GroupAppender(await fs.open(path, 'ax'))
  }

  append(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes, resolve, reject })
      if (this.#running) return
      this.#running = true
      setImmediate(() => void this.#drain())
    })
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue
      this.#queue = []
      try {
        await this.#file.writev(group.map(waiting => waiting.bytes))
        await this.#file.datasync()
        for (const waiting of group) waiting.resolve()
      } catch (error) {
        for (const waiting of group) waiting.reject(error)
      }
    }
    this.#running = false
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Writes a new file and syncs its bytes and its name. */
export async function writeFile(path: string, chunks: Iterable<Buffer>): Promise<void> {
  const file = await fs.open(path, 'wx')
  try {
    for (const chunk of chunks) await file.write(chunk)
    await file.datasync()
  } finally {
    await file.close()
  }
  const folder = await fs.open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Reads a file to its end and returns its size in bytes. Each chunk gets its own buffer, as sending the bytes
 * requires: a shared buffer would be overwritten before they have been sent.
 */
export async function readFile(path: string, chunkBytes: number): Promise<number> {
  const file = await fs.open(path, 'r')
  try {
    let total = 0
    for (;;) {
      const { bytesRead } = await file.read(Buffer.allocUnsafeSlow(chunkBytes), 0, chunkBytes, total)
      if (bytesRead === 0) return total
      total += bytesRead
    }
  } finally {
    await file.close()
  }
}
