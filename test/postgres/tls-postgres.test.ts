/** The driver over TLS, as a user with a password: what it reads past its client is what the client has decrypted. */
import assert from 'node:assert/strict'
import { chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type pg from 'pg'
import { META_LIMITS } from '../../src/meta/meta.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { ALL, putOne } from '../../src/meta/suite-driver.ts'
import { TEST_CERTIFICATE } from '../http/certificate.ts'
import { dropTable, newTable, serverUrl, withAdmin } from './server.ts'

const skip = serverUrl === undefined ? 'run it through test/postgres/run.sh' : false

const USER = 'over_tls'
const PASSWORD = 'correct horse'
const SETTINGS = ['ssl', 'ssl_cert_file', 'ssl_key_file']

async function setSsl(admin: pg.Client, state: 'on' | 'off'): Promise<void> {
  await admin.query('SELECT pg_reload_conf()')
  // The server has it when it reaches this session.
  while ((await admin.query('SHOW ssl')).rows[0].ssl !== state) await new Promise(resolve => setImmediate(resolve))
}

/** The server requires TLS and the password from this user meanwhile. */
async function withTls(body: (admin: pg.Client, url: URL) => Promise<void>): Promise<void> {
  const data = join(process.env.HOLDFAST_POSTGRES_FOLDER!, 'data')
  const { uid, gid } = await stat(data)
  const rules = join(data, 'pg_hba.conf')
  const before = await readFile(rules, 'utf8')
  const files = { cert: join(data, 'test.crt'), key: join(data, 'test.key') }
  await withAdmin(async admin => {
    try {
      for (const part of ['cert', 'key'] as const) {
        await writeFile(files[part], TEST_CERTIFICATE[part], { mode: 0o600 })
        await chown(files[part], uid, gid)
      }
      await writeFile(rules, `hostssl all ${USER} 127.0.0.1/32 scram-sha-256\nhost all ${USER} all reject\n${before}`)
      await admin.query(`CREATE ROLE ${USER} LOGIN SUPERUSER PASSWORD '${PASSWORD}'`)
      await admin.query(`ALTER SYSTEM SET ssl_cert_file = '${files.cert}'`)
      await admin.query(`ALTER SYSTEM SET ssl_key_file = '${files.key}'`)
      await admin.query('ALTER SYSTEM SET ssl = on')
      await setSsl(admin, 'on')
      const url = new URL(serverUrl!)
      url.username = USER
      url.password = PASSWORD
      await body(admin, url)
    } finally {
      await writeFile(rules, before)
      for (const setting of SETTINGS) await admin.query(`ALTER SYSTEM RESET ${setting}`)
      await setSsl(admin, 'off')
      await admin.query(`DROP OWNED BY ${USER}`)
      await admin.query(`DROP ROLE ${USER}`)
      for (const path of Object.values(files)) await rm(path, { force: true })
    }
  })
}

test('postgres: records of all lengths pass through TLS', { skip }, () =>
  withTls(async (admin, url) => {
    url.searchParams.set('sslmode', 'no-verify')
    const table = newTable()
    const meta = await openPostgresMeta({ url: url.href, table })
    try {
      const lengths = [0, 1, 16_000, 16_384, 40_000, META_LIMITS.valueBytesMax]
      const writes = lengths.map((length, index) => putOne(`key ${index}`, String(index).repeat(length)))
      assert.equal(await meta.commit({ checks: [], writes }), true)
      const isTls = `SELECT bool_and(ssl) AS all FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE usename = '${USER}'`
      assert.equal((await admin.query(isTls)).rows[0].all, true)
      const found = await meta.remote!.getMany(writes.map(({ key }) => ({ key })))
      const scanned = await meta.scan(ALL, 10)
      for (const [index, { value }] of writes.entries()) {
        assert.ok(found[index]?.value.equals(value!), `get of ${value!.length} bytes`)
        assert.ok(scanned[index]?.value.equals(value!), `scan of ${value!.length} bytes`)
      }
    } finally {
      await meta.close()
      await dropTable(table)
    }
  }),
)
