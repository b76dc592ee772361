/** A store must never take the blobs of another one for bytes without a name. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { bytesOf, makeBucket, payload, put, withFolder } from './fixture.ts'

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

test('a store is not begun where there are blobs', () =>
  withFolder(async folder => {
    const open = () => openFolder({ folder, durability: 'os' })
    const blobs = join(folder, 'blobs')
    for (const bytes of [70_000, 3_000_000]) {
      const parts = await open()
      await makeBucket(parts.store, 'bucket')
      await put(parts.store, 'bucket', 'key', payload(bytes))
      await parts.close()
      const before = filesIn(blobs)
      for (const name of ['meta', 'meta-copy']) await rm(join(folder, name), { recursive: true })
      await assert.rejects(open(), /blobs has blobs, but these metadata are empty/)
      assert.deepEqual(filesIn(blobs), before)
      await rm(blobs, { recursive: true })
    }
  }))

test('a store does not start on an empty folder where the disk of its blobs is not mounted', () =>
  withFolder(async outer => {
    const [folder, blobsPlace, unmounted] = ['data', 'blobs', 'unmounted'].map(name => join(outer, name))
    const open = () => openFolder({ folder: folder!, blobsPlace: blobsPlace!, durability: 'os' })
    const first = await open()
    await makeBucket(first.store, 'bucket')
    await first.close()
    const second = await open()
    await put(second.store, 'bucket', 'key', payload(70_000))
    await second.close()
    await rename(blobsPlace!, unmounted!)
    await mkdir(blobsPlace!)
    await assert.rejects(open(), /has none of the blobs that these metadata name/)
    await rm(blobsPlace!, { recursive: true })
    await rename(unmounted!, blobsPlace!)
    const { store, close } = await open()
    assert((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(70_000)))
    await close()
    // Lost blobs are damage, which a server reports.
    for (const name of ['volumes', 'solo']) await rm(join(blobsPlace!, name), { recursive: true })
    await (await open()).close()
  }))
