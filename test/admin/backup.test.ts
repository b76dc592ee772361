import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entriesIn } from '../../src/backup/entries.ts'
import { BackupLeases } from '../../src/backup/lease.ts'
import { makeBucket, put } from '../store/fixture.ts'
import { withConsole } from './fixture.ts'

const start = { method: 'POST', path: '/v1/backups' } as const

test('a backup is begun, read once, kept and ended, by an administrator', () =>
  withConsole(async ({ ask, parts }) => {
    await makeBucket(parts.store, 'one')
    await put(parts.store, 'one', 'k', Buffer.alloc(9_000, 'x'))
    assert.equal((await ask({ ...start, as: null })).status, 403)
    const begun = await ask(start)
    assert.equal(begun.status, 201)
    assert.equal((await ask(start)).json().code, 'OperationAborted')
    const at = `/v1/backups/${begun.json().backup}`
    assert.equal((await ask({ path: `${at}/records`, as: null })).status, 403)
    const records = await ask({ path: `${at}/records` })
    assert.equal(records.headers['content-type'], 'application/octet-stream')
    assert.equal((await ask({ path: `${at}/records` })).json().code, 'InvalidRequest')
    assert.equal((await ask({ method: 'POST', path: at })).status, 204)
    assert.equal((await ask({ method: 'DELETE', path: at })).status, 204)
    for (const [method, path] of [
      ['POST', at],
      ['DELETE', at],
      ['GET', `${at}/records`],
    ] as const) {
      assert.equal((await ask({ method, path })).status, 404, `${method} ${path}`)
    }
  }))

test('the record stream contains every record', () =>
  withConsole(async ({ parts }) => {
    await makeBucket(parts.store, 'one')
    const snapshot = await parts.snapshot()
    const wanted = await snapshot.scan({ start: Buffer.alloc(0), end: undefined }, 1000)
    await snapshot.end()
    const backups = new BackupLeases(parts.store.context, parts.snapshot)
    const { backup } = await backups.start()
    const seen: string[] = []
    for await (const entries of entriesIn(backups.records(backup), 'holdfast records 1')) {
      for (const [key, value] of entries) seen.push(`${key.toString('hex')} ${value.toString('hex')}`)
    }
    await backups.stop()
    assert.deepEqual(
      seen,
      wanted.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`),
    )
  }))

test('malformed blob lists and unknown blobs are refused', () =>
  withConsole(async ({ ask }) => {
    const { backup } = (await ask(start)).json()
    const path = `/v1/backups/${backup}/blobs`
    const id = 'ab'.repeat(16)
    for (const ids of [
      '',
      'x',
      id.slice(1),
      `${id},`,
      `${id}, ${id}`,
      id.toUpperCase(),
      7,
      [id],
      Array(1001).fill(id).join(),
    ]) {
      assert.equal((await ask({ method: 'POST', path, body: { ids } })).json().code, 'InvalidArgument', String(ids))
    }
    assert.equal((await ask({ method: 'POST', path, body: { ids: id } })).json().code, 'NoSuchEntity')
    assert.equal((await ask({ method: 'POST', path: `/v1/backups/${id}/blobs`, body: { ids: id } })).status, 404)
  }))
