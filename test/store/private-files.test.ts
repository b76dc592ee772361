/** Files in a data folder are accessible only to the owner of the process, whatever the mode of the folder. */
import assert from 'node:assert/strict'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { round } from '../journal/round.ts'
import { bytesOf, makeBucket, payload, put, withFolder } from './fixture.ts'

/** Every file below a folder with any permission for group or others. */
function open(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => {
    const stat = statSync(join(folder, name))
    return !stat.isDirectory() && (stat.mode & 0o077) !== 0
  })
}

test('every file is readable by its owner alone, even in a world-readable data folder', () =>
  withFolder(async folder => {
    chmodSync(folder, 0o755)
    const parts = await openFolder({ folder })
    await makeBucket(parts.store, 'bucket')
    await put(parts.store, 'bucket', 'small', 'small')
    await put(parts.store, 'bucket', 'packed', payload(100_000))
    await put(parts.store, 'bucket', 'solo', payload(3_000_000))
    assert.deepEqual(await round(parts), [])
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    for (const kind of [/data\.mdb$/, /lock\.mdb$/, /\.snapshot$/, /\.journal$/, /^keyring$/, /\.sock$/]) {
      assert.ok(
        names.some(name => kind.test(name)),
        `there is no ${kind}`,
      )
    }
    assert.deepEqual(open(folder), [])
    await parts.close()
    assert.deepEqual(open(folder), [])
  }))

test('metadata files that an earlier version made readable to others are restricted at start', () =>
  withFolder(async folder => {
    const before = await openFolder({ folder })
    await makeBucket(before.store, 'bucket')
    await put(before.store, 'bucket', 'key', 'kept')
    await before.close()
    for (const name of ['data.mdb', 'lock.mdb']) chmodSync(join(folder, 'meta', name), 0o664)
    const after = await openFolder({ folder })
    assert.deepEqual(open(folder), [])
    assert.equal((await bytesOf(after.store, { bucket: 'bucket', key: 'key' })).toString(), 'kept')
    await after.close()
  }))
