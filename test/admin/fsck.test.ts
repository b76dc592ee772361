/** The full check over the admin API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FsckRound } from '../../src/admin/fsck-round.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { openMemory } from '../../src/server/compose.ts'
import { makeBucket, payload, put } from '../store/fixture.ts'
import { signedInPage } from './console-fixture.ts'
import { type Consoled, withConsole } from './fixture.ts'

const path = '/v1/fsck'
const start = (deep?: boolean) => ({ method: 'POST', path, ...(deep === undefined ? {} : { body: { deep } }) }) as const

async function ended({ ask }: Pick<Consoled, 'ask'>): Promise<Record<string, unknown>> {
  for (;;) {
    const state = (await ask({ path })).json()
    if (state.state !== 'running') return state
  }
}

test('only an administrator starts a check, and its state reports the counts', () =>
  withConsole(async consoled => {
    const { ask, parts, accounts } = consoled
    const accountId = '111111111111'
    const key = { accessKey: 'AKSOMEBODY', secretKey: 'a-secret-of-some-length' }
    await accounts.create({ accountId })
    await accounts.createKey({ accountId, user: undefined, ...key })
    const page = await signedInPage(consoled, key)
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      for (const as of [null, key]) assert.equal((await ask({ method, path, as })).status, 403, method)
      assert.equal((await page.ask({ method, path })).json().code, 'AccessDenied', method)
    }
    const never = (await ask({ path })).json()
    assert.deepEqual([never.state, never.records, never.problems], ['never', 0, []])
    assert.equal((await ask({ method: 'DELETE', path })).json().state, 'never')
    await makeBucket(parts.store, 'bucket')
    await put(parts.store, 'bucket', 'packed', payload(9000))
    await put(parts.store, 'bucket', 'inline', payload(90))
    assert.equal((await ask(start())).status, 202)
    const shallow = await ended(consoled)
    assert.deepEqual([shallow.state, shallow.deep, shallow.versions, shallow.blobs], ['done', false, 2, 1])
    assert.deepEqual([shallow.bytes, shallow.totalBytes, shallow.problemCount], [0, 9000, 0])
    await ask(start(true))
    const deep = await ended(consoled)
    assert.deepEqual([deep.state, deep.phase, deep.bytes, deep.damageCount], ['done', 'bytes', 9000, 0])
    assert.equal((await ask({ method: 'POST', path, body: { deep: 'perhaps' } })).json().code, 'InvalidArgument')
  }))

test('findings of a check are listed', () =>
  withConsole(async consoled => {
    const { ask, parts } = consoled
    await makeBucket(parts.store, 'bucket')
    await put(parts.store, 'bucket', 'packed', payload(9000))
    for await (const { key } of recordsOf(parts.store.context, 'b')) {
      await parts.store.context.meta.commit({ checks: [], writes: [{ key, value: undefined }] })
    }
    await ask(start(true))
    const { state, problemCount, problems } = await ended(consoled)
    assert.deepEqual([state, problemCount], ['done', 1])
    assert.match(String(problems), /^blob [0-9a-f]{32} is referenced, but has no record$/)
  }))

test('a stopped check keeps its findings, another may follow, and metrics report the last', async () => {
  const { store, snapshot, close } = await openMemory()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'packed', payload(9000))
  const round = new FsckRound(store.context, snapshot)
  const findings = (): unknown => round.samples().find(([name]) => name === 'holdfast_fsck_findings')?.[2]
  assert.equal(round.start(true).state, 'running')
  assert.equal(round.start(false).deep, true, 'the running one is told of')
  assert.deepEqual(round.samples()[0], ['holdfast_fsck_running', '', 1])
  assert.equal((await round.stop()).state, 'stopped')
  assert.equal(store.context.reclamationLock.isHeld, false)
  for await (const { key } of recordsOf(store.context, 'b')) {
    await store.context.meta.commit({ checks: [], writes: [{ key, value: undefined }] })
  }
  round.start(false)
  await round.ended()
  assert.deepEqual([round.state.state, findings()], ['done', 1])
  await round.close()
  assert.equal(round.start(true).state, 'done', 'nothing starts on a store that is closed')
  await close()
})

test('a failed check reports the reason', async () => {
  const { store, close } = await openMemory()
  const round = new FsckRound(store.context, () => Promise.reject(new Error('no connection')))
  round.start(false)
  await round.ended()
  assert.deepEqual([round.state.state, round.state.error], ['failed', 'Error: no connection'])
  assert.equal(store.context.reclamationLock.isHeld, false)
  await close()
})
