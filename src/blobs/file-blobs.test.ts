import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, realDisk } from '../lib/disk.ts'
import { MemoryDisk } from '../lib/memory-disk.ts'
import { openBlobs } from './file-blobs.ts'
import { blobSuite } from './suite.ts'

blobSuite({
  name: 'files',
  async open(writer) {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-blobs-'))
    const reopen = (other: Buffer) => openBlobs({ disk: realDisk, folder, writer: other })
    return { blobs: await reopen(writer), reopen, destroy: () => rm(folder, { recursive: true }) }
  },
})

blobSuite({
  name: 'memory',
  async open(writer) {
    const disk = new MemoryDisk()
    const reopen = (other: Buffer) => openBlobs({ disk, folder: '/blobs', writer: other })
    return { blobs: await reopen(writer), reopen, destroy: async () => {} }
  },
})

/** Blobs on a disk whose removals end one by one, when the test says so. */
async function held() {
  const begun: { readonly path: string; readonly end: (error?: Error) => void }[] = []
  const disk: Disk = new MemoryDisk()
  disk.discard = path =>
    new Promise((resolve, reject) =>
      begun.push({ path, end: error => (error === undefined ? resolve() : reject(error)) }),
    )
  return { begun, blobs: await openBlobs({ disk, folder: '/blobs', writer: Buffer.alloc(6, 1) }) }
}

const SOLO = { volume: undefined, offset: 0, length: 0, frameBytes: 0 }
const soloId = (n: number): Buffer => Buffer.alloc(16, n)
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('files are discarded one at a time, and a failure does not stop the next', async () => {
  const { begun, blobs } = await held()
  const failing = assert.rejects(blobs.remove(soloId(1), SOLO), /not today/)
  const next = blobs.remove(soloId(2), SOLO)
  await turn()
  assert.equal(begun.length, 1)
  begun[0]!.end(new Error('not today'))
  await failing
  await turn()
  assert.equal(begun.length, 2)
  begun[1]!.end()
  await next
})

test('a failed upload is discarded, and does not wait for what is being freed', async () => {
  const { begun, blobs } = await held()
  void blobs.remove(soloId(1), SOLO)
  async function* body(): AsyncGenerator<Buffer> {
    for (let n = 0; n < 4; n++) yield Buffer.alloc(2 ** 20)
    throw new Error('the client has left')
  }
  const failing = assert.rejects(blobs.write(soloId(2), body()), /the client has left/)
  while (begun.length < 2) await turn()
  assert.match(begun[1]!.path, new RegExp(soloId(2).toString('hex')))
  begun[1]!.end()
  await failing
})

test('a removal that never ends holds up only those of the same place', async () => {
  const [hung, other] = [await held(), await held()]
  void hung.blobs.remove(soloId(1), SOLO)
  const removal = other.blobs.remove(soloId(2), SOLO)
  await turn()
  assert.deepEqual([hung.begun.length, other.begun.length], [1, 1])
  other.begun[0]!.end()
  await removal
})

test('a write that fails closes the body that it was reading', async () => {
  const disk = new MemoryDisk()
  const blobs = await openBlobs({ disk, folder: '/blobs', writer: Buffer.alloc(6, 1) })
  const open = disk.open.bind(disk)
  disk.open = async (path, how) => {
    if (how === 'create') throw new Error('no more files')
    return open(path, how)
  }
  let isClosed = false
  async function* body(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.alloc(2 ** 20)
    } finally {
      isClosed = true
    }
  }
  await assert.rejects(blobs.write(soloId(1), body()), /no more files/)
  assert.equal(isClosed, true)
  await blobs.close()
})
