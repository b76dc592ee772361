import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { textOf } from '../../src/lib/bytes.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { copyOfView, HEAD_BYTES, type Meta, type MetaEngine } from '../../src/meta/meta.ts'
import { UnfitServer } from '../../src/meta/postgres/connection.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { metaSuite } from '../../src/meta/suite.ts'
import { incrementOnce, putOne, utf8, utf8Text } from '../../src/meta/suite-driver.ts'
import { countUnder, untilProgress } from './counting.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { crashAndRestart, dropTable, newTable, serverUrl, withAdmin } from './server.ts'

const skip = serverUrl === undefined ? 'run it through test/postgres/run.sh' : false

if (!skip) {
  metaSuite({
    name: 'postgres',
    durable: true,
    async open() {
      const table = newTable()
      const reopen = (): Promise<MetaEngine> => openPostgresMeta({ url: serverUrl!, table })
      const meta = await reopen()
      return {
        meta,
        where: `${serverUrl}#${table}`,
        reopen,
        async destroy() {
          await meta.close()
          await dropTable(table)
        },
      }
    },
  })
}

type Body = (metas: readonly Meta[], table: string) => Promise<void>

async function withMetas(count: number, body: Body, url = serverUrl!): Promise<void> {
  const table = newTable()
  const metas: Meta[] = []
  try {
    for (let index = 0; index < count; index++) metas.push(await openPostgresMeta({ url, table }))
    await body(metas, table)
  } finally {
    await Promise.all(metas.map(meta => meta.close()))
    await dropTable(table)
  }
}

/** Terminates the connections that are in the middle of a commit. */
async function killCommits(admin: pg.Client, table: string): Promise<number> {
  const { rowCount } = await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE 'SELECT ${table}_commit(%'`,
  )
  return rowCount ?? 0
}

test('postgres: connections killed during commits lose no success and apply none twice', { skip }, () =>
  withMetas(2, async (metas, table) => {
    let killed = 0
    await countUnder(metas, progress =>
      withAdmin(async admin => {
        while (killed < 60) {
          killed += await killCommits(admin, table)
          await untilProgress(progress, 3)
        }
      }),
    )
    assert.ok(killed >= 60)
  }),
)

test('postgres: connections cut just before and just after commits lose no success and double none', {
  skip,
}, async () => {
  const proxy = await cuttingProxy(serverUrl!, 0.3, seededRandom(1))
  const work: Body = metas =>
    countUnder(metas, async progress => {
      await untilProgress(progress, 300)
      // The number of commits, and thus of cuts, depends on batching.
      while (proxy.cuts.before < 20 || proxy.cuts.after < 20) await untilProgress(progress, 1)
    })
  await withMetas(2, work, proxy.url).finally(() => proxy.close())
})

test('postgres: a server that crashes under load loses no success and applies none twice', { skip }, () =>
  withMetas(2, metas =>
    countUnder(metas, async progress => {
      for (let round = 0; round < 3; round++) {
        await untilProgress(progress, 100)
        await crashAndRestart()
        await untilProgress(progress, 50)
      }
    }),
  ),
)

test('postgres: two instances that race on counters agree', { skip }, () =>
  withMetas(2, metas => countUnder(metas, progress => untilProgress(progress, 1_000))),
)

test('postgres: records and ranges that are read together form a snapshot', { skip }, () =>
  withMetas(2, async ([writer, reader]) => {
    const keys = ['a', 'b', 'c'].map(utf8)
    let over = false
    const write = async (): Promise<void> => {
      for (let count = 0; !over; count++)
        await writer!.commit({ checks: [], writes: ['a', 'b', 'c'].map(key => putOne(key, String(count))) })
    }
    const writing = write()
    const { getMany, scanWithKeys } = reader!.remote!
    try {
      while ((await reader!.get(keys[0]!)) === undefined) {}
      for (let round = 0; round < 200; round++) {
        const values = (await getMany(keys.map(key => ({ key })))).map(entry => String(entry?.value))
        assert.equal(new Set(values).size, 1, values.join())
        const range = { start: utf8('a'), end: round % 2 === 0 ? utf8('c') : undefined }
        const found = await scanWithKeys(range, 2, [{ key: keys[2]! }])
        const all = [...found.entries.map(copyOfView), ...found.records].map(entry => String(entry?.value))
        assert.equal(all.length, 3)
        assert.equal(new Set(all).size, 1, all.join())
      }
    } finally {
      over = true
      await writing
    }
  }),
)

test('postgres: a known record is returned while its stamp is current', { skip }, () =>
  withMetas(1, async ([meta]) => {
    await meta!.commit({ checks: [], writes: [putOne('a', '1'), putOne('b', '1')] })
    const known = (await meta!.get(utf8('a')))!
    const reads = [{ key: utf8('a'), known }, { key: utf8('missing') }, { key: utf8('b') }]
    const [same, missing, other] = await meta!.remote!.getMany(reads)
    assert.equal(same, known)
    assert.equal(missing, undefined)
    assert.equal(String(other?.value), '1')
    await meta!.commit({ checks: [], writes: [putOne('a', '2')] })
    const [changed] = await meta!.remote!.getMany(reads)
    assert.equal(String(changed?.value), '2')
    const scanned = await meta!.remote!.scanWithKeys({ start: utf8('a'), end: undefined }, 1, [
      { key: utf8('a'), known },
    ])
    assert.deepEqual(
      scanned.entries.map(({ value }) => textOf(value)),
      ['2'],
    )
    assert.equal(String(scanned.records[0]?.value), '2')
  }),
)

test('postgres: other scans do not wait for the pages of many listings', { skip }, () =>
  withMetas(1, async ([meta]) => {
    await meta!.commit({ checks: [], writes: [putOne('a', '1')] })
    const range = { start: utf8('a'), end: undefined }
    let pages = 0
    const listings = Array.from({ length: 200 }, async () => {
      await meta!.remote!.scanWithKeys(range, 10, [])
      pages++
    })
    assert.equal((await meta!.scan(range, 10)).length, 1)
    assert.ok(pages < 20, `waited for ${pages} pages`)
    await Promise.all(listings)
  }),
)

test('postgres: a scan for heads cuts long values of the range, and no others', { skip }, () =>
  withMetas(1, async ([meta]) => {
    const long = 'x'.repeat(3 * HEAD_BYTES)
    await meta!.commit({ checks: [], writes: [putOne('a', 'short'), putOne('b', long), putOne('c', long)] })
    for (const end of [utf8('c'), undefined]) {
      const { entries, records } = await meta!.remote!.scanWithKeys(
        { start: utf8('a'), end },
        2,
        [{ key: utf8('c') }],
        true,
      )
      assert.deepEqual(
        entries.map(({ value }) => textOf(value)),
        ['short', long.slice(0, HEAD_BYTES)],
      )
      assert.equal(String(records[0]?.value), long)
    }
  }),
)

test('postgres: an instance starts beside a snapshot and an open commit, and nobody waits for it', { skip }, () =>
  withMetas(1, async ([meta], table) => {
    await meta!.commit({ checks: [], writes: [putOne('a', '1')] })
    const snapshot = await (meta as MetaEngine).snapshot()
    try {
      await withAdmin(async admin => {
        await admin.query('BEGIN')
        await admin.query(`INSERT INTO ${table}_outcome (token, failed) VALUES (gen_random_uuid(), '{}')`)
        const next = await openPostgresMeta({ url: serverUrl!, table })
        assert.equal(await utf8Text(next, 'a'), '1')
        await next.close()
      })
    } finally {
      await snapshot.end()
    }
    const storage = `SELECT attstorage FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attname = 'v'`
    const { rows } = await withAdmin(admin => admin.query(storage))
    assert.deepEqual(rows, [{ attstorage: 'e' }])
  }),
)

test('postgres: an abandoned batch can never take effect', { skip }, () =>
  withMetas(1, ([meta], table) =>
    withAdmin(async admin => {
      await meta!.commit({ checks: [], writes: [putOne('a', '1')] })
      const token = '00000000-0000-4000-8000-000000000001'
      await admin.query(`INSERT INTO ${table}_outcome (token, failed) VALUES ($1, NULL) ON CONFLICT DO NOTHING`, [
        token,
      ])
      const late = admin.query(
        `SELECT ${table}_commit($1, '{7}', '{t}', '{}', '{}', '{}',
          ARRAY['\\x62'::bytea], ARRAY['\\x31'::bytea], '{0}')`,
        [token],
      )
      await assert.rejects(late, (error: pg.DatabaseError) => error.code === '23505')
      assert.equal(await utf8Text(meta!, 'b'), undefined)
    }),
  ),
)

test('postgres: tokens older than an hour are removed', { skip }, () =>
  withMetas(1, ([meta], table) =>
    withAdmin(async admin => {
      await admin.query(
        `INSERT INTO ${table}_outcome
          SELECT gen_random_uuid(), '{}', now() - interval '2 hours' FROM generate_series(1, 500)`,
      )
      for (let index = 0; index < 1_000; index++) await meta!.commit({ checks: [], writes: [] })
      await meta!.commit({ checks: [], writes: [putOne('a', '1')] })
      const stale = `SELECT count(*)::int AS n FROM ${table}_outcome WHERE at < now() - interval '1 hour'`
      let left = 500
      // The purge runs beside the commits that follow it.
      for (let query = 0; query < 2_000 && left > 0; query++) left = (await admin.query(stale)).rows[0].n
      assert.equal(left, 0)
    }),
  ),
)

test('postgres: a server that does not sync is refused', { skip }, () =>
  withAdmin(async admin => {
    for (const setting of [
      'synchronous_commit = off',
      'synchronous_commit = local',
      'full_page_writes = off',
      'fsync = off',
    ]) {
      const name = setting.split(' ')[0]
      try {
        await admin.query(`ALTER SYSTEM SET ${setting}`)
        await admin.query('SELECT pg_reload_conf()')
        // The reload reaches this session when it reaches the server; a new session has it from its start.
        while ((await admin.query(`SHOW ${name}`)).rows[0][name!] === 'on')
          await new Promise(resolve => setImmediate(resolve))
        await assert.rejects(openPostgresMeta({ url: serverUrl!, table: newTable() }), UnfitServer)
      } finally {
        await admin.query(`ALTER SYSTEM RESET ${name}`)
        await admin.query('SELECT pg_reload_conf()')
        while ((await admin.query(`SHOW ${name}`)).rows[0][name!] !== 'on')
          await new Promise(resolve => setImmediate(resolve))
      }
    }
  }),
)

test('postgres: of several hosts the one that responds is used', { skip }, async () => {
  const table = newTable()
  const url = serverUrl!.replace('@', '@127.0.0.1:1,')
  const meta = await openPostgresMeta({ url, table })
  assert.equal(await incrementOnce(meta, 'a'), true)
  await meta.close()
  await dropTable(table)
})

test('postgres: the table has a plain name', { skip }, async () => {
  await assert.rejects(openPostgresMeta({ url: serverUrl!, table: 'a; DROP TABLE b' }), /is not a valid table name/)
})

test('postgres: a closed engine rejects new calls, after it has completed earlier ones', { skip }, () =>
  withMetas(1, async ([meta]) => {
    const asked = [
      meta!.commit({ checks: [], writes: [putOne('a', '1')] }),
      meta!.commit({ checks: [], writes: [putOne('a', '2')] }),
    ]
    await meta!.close()
    assert.deepEqual(await Promise.all(asked), [true, true])
    await assert.rejects(async () => meta!.get(utf8('a')), /closed/)
    await assert.rejects(meta!.commit({ checks: [], writes: [] }), /closed/)
  }),
)
