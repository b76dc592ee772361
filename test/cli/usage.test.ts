/** Bucket usage on the command line: shown with a bucket, checked and corrected by fsck. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder, openMeta } from '../../src/server/compose.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { makeBucket, put, withFolder } from '../store/fixture.ts'
import { holdfast } from './program.ts'

test('bucket info and bucket list show what a bucket holds; fsck finds a wrong count and --repair corrects it', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const { store, close } = await openFolder({ folder: data, durability: 'os' })
    await makeBucket(store, 'box', 'on')
    await put(store, 'box', 'a', 'four')
    await put(store, 'box', 'a', 'sixsix')
    await put(store, 'box', 'b', 'x')
    await close()
    const info = await holdfast(['bucket', 'info', 'box', '--data', data])
    assert.match(info.out, /^objects +2$/m)
    assert.match(info.out, /^version bytes +11$/m)
    assert.match(
      (await holdfast(['bucket', 'list', '--data', data])).out,
      /OBJECTS +VERSIONS +VERSION BYTES\n.* 2 +3 +11\n/,
    )
    assert.match((await holdfast(['usage', '--data', data])).out, /^bytes +7$/m)
    const meta = await openMeta({ folder: data, durability: 'os' })
    await meta.commit({ checks: [], writes: [{ key: recordKey.current('box', 'b'), value: undefined }] })
    await meta.close()
    const found = await holdfast(['fsck', '--data', data])
    assert.equal(found.code, 1)
    assert.match(found.out, /usage of bucket box: objects 2 recorded, 1 counted/)
    const mended = await holdfast(['fsck', '--repair', '--data', data])
    assert.match(mended.out, /usage of bucket box: counted again/)
    assert.doesNotMatch((await holdfast(['fsck', '--data', data])).out, /usage of bucket/)
    assert.match((await holdfast(['bucket', 'info', 'box', '--data', data])).out, /^objects +1$/m)
  }))
