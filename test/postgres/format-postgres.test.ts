/** The format stamp in a database: a newer format is refused, whatever the folder contains. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { openFolder } from '../../src/server/compose.ts'
import { FORMAT, formatStamp } from '../../src/store/commit/format-stamp.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { VERSION } from '../../src/version.ts'
import { withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

test(
  'a database is stamped, and one of a newer format is refused',
  { skip: serverUrl === undefined && 'needs test/postgres/run.sh' },
  () =>
    withDatabase('format', metaUrl =>
      withFolder(async folder => {
        await (await openFolder({ folder, metaUrl })).close()
        const meta = await openPostgresMeta({ url: metaUrl })
        const entry = await meta.get(recordKey.format())
        assert.deepEqual(formatStamp.decode(entry!.value), { format: FORMAT, writtenBy: VERSION })
        const value = formatStamp.encode({ format: FORMAT + 1, writtenBy: '9.8.7' })
        await meta.commit({ checks: [], writes: [{ key: recordKey.format(), value }] })
        await meta.close()
        await withFolder(other =>
          assert.rejects(openFolder({ folder: other, metaUrl }), /the database was written by holdfast 9\.8\.7/),
        )
      }),
    ),
)
