/** A store moves from LMDB to PostgreSQL by the commands that operators use. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { openFolder } from '../../src/server/compose.ts'
import { rows } from '../backup/fixture.ts'
import { holdfast } from '../cli/program.ts'
import { makeBucket, payload, put, withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

test(
  'records move to PostgreSQL, where no server starts before they are complete and none on the folder afterwards',
  { skip: serverUrl === undefined && 'needs test/postgres/run.sh' },
  () =>
    withFolder(outer =>
      withDatabase('move', async metaUrl => {
        const folder = join(outer, 'data')
        const move = (...more: string[]) => holdfast(['meta', 'move', '--data', folder, '--to', metaUrl, ...more])
        const lmdb = await openFolder({ folder })
        await makeBucket(lmdb.store, 'bucket', 'on')
        for (let n = 0; n < 300; n++) await put(lmdb.store, 'bucket', `key-${n % 200}`, payload(100 + n * 50, n))
        const copied = await move()
        assert.deepEqual([copied.code, copied.errors], [0, ''])
        assert.match(copied.out, /^copied: .* run the command again with --finish/)
        assert.match((await move('--finish')).errors, /another server is using .*: stop it before --finish/)
        await put(lmdb.store, 'bucket', 'later', payload(6000))
        const before = await rows(lmdb)
        await lmdb.close()
        await assert.rejects(openFolder({ folder: join(outer, 'early'), metaUrl }), /partly moved/)
        const moved = await move('--finish')
        assert.deepEqual([moved.code, moved.errors], [0, ''])
        assert.match(moved.out, /^moved: .* nothing differs: start the server with --meta/)
        await assert.rejects(openFolder({ folder }), /were moved to/)
        const parts = await openFolder({ folder, metaUrl })
        try {
          assert.deepEqual((await fsck(parts.store.context)).problems, [])
          assert.deepEqual(await rows(parts), before)
        } finally {
          await parts.close()
        }
      }),
    ),
)
