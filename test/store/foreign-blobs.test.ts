/** A store must never take the blobs of another one for bytes without a name. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { withFolder } from './fixture.ts'

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)

test('a folder of blobs belongs to one store, also before it has any', () =>
  withFolder(async outer => {
    const blobsPlace = join(outer, 'blobs')
    const start = async (name: string): Promise<void> =>
      (await openFolder({ folder: join(outer, name), blobsPlace, durability: 'os' })).close()
    await start('one')
    await assert.rejects(start('two'), /blobs holds the blobs of another store \(file store-[0-9a-f]{32}\)/)
    await start('one')
    assert.equal(filesIn(blobsPlace).length, 1)
  }))
