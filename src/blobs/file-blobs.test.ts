import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
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
