/**
 * Streams 256 MiB through a real file in the given folder and prints by how many MiB the process grew. A separate
 * process, since the heap that other tests leave behind determines when a runtime collects.
 */
import { realDisk } from '../../src/lib/disk.ts'
import { idOf, open, payload } from './fixture.ts'

const MIB = 2 ** 20
const blobs = await open(realDisk, { folder: process.argv[2]! })
let start = 0
let most = 0

async function* body(chunks: number): AsyncGenerator<Buffer> {
  // The same chunk repeated, so that the body itself costs no memory.
  for (let turn = 0; turn < chunks; turn++) {
    yield payload(65536)
    most = Math.max(most, process.memoryUsage.rss() - start)
  }
}

async function through(number: number, chunks: number): Promise<void> {
  const location = await blobs.write(idOf(number), body(chunks))
  let length = 0
  for await (const part of blobs.read(idOf(number), location, 0, location.length)) {
    length += part.length
    most = Math.max(most, process.memoryUsage.rss() - start)
  }
  if (length !== chunks * 65536) throw new Error(`read ${length} bytes`)
}

// Once beforehand, so that the runtime's own memory is not counted.
await through(1, 1024)
start = process.memoryUsage.rss()
most = 0
await through(2, 4096)
await blobs.close()
console.log(Math.round(most / MIB))
