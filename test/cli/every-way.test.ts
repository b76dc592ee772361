/** The same commands by every path to the data: a server's folder, its console, and the folder without a server. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFolder } from '../store/fixture.ts'
import { type Ended, holdfast, serving, spawnServer } from './program.ts'

const ONE = '111111111111'
const POLICY = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"svc:GetObject","Resource":"*"}}'

/** A command that must succeed; its output as JSON. */
async function done(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, errors } = await holdfast([...args, '--json'])
  assert.equal(code, 0, `${args.join(' ')}: ${errors}`)
  return JSON.parse(out)
}

const oneLine = ({ errors }: Ended): string => {
  assert.match(errors, /^holdfast: [^\n]+\n$/)
  return errors
}

/** The commands behave the same, whichever path leads to the data. */
async function round(where: readonly string[], file: string, account = ONE): Promise<void> {
  const run = (...args: string[]) => done(...args, ...where)
  assert.equal((await run('account', 'create', account, '--name', 'one', '--admin')).admin, true)
  assert.equal((await run('account', 'change', account, '--admin', 'false')).admin, false)
  await run('user', 'create', account, 'reader')
  writeFileSync(file, POLICY)
  const attached = await run('user', 'attach', account, 'reader', 'read', file)
  assert.deepEqual(attached.policies, [{ name: 'read', fromFile: false, document: JSON.parse(POLICY) }])
  const key = await run('key', 'create', account, '--user', 'reader')
  assert.match(String(key.secretKey), /^\S{40}$/)
  assert.equal((await run('key', 'disable', String(key.accessKey))).disabled, true)
  const { keys } = (await run('key', 'list', account)) as { keys: { accessKey: string; disabled: boolean }[] }
  assert.deepEqual(
    keys.map(({ accessKey, disabled }) => [accessKey, disabled]),
    [[key.accessKey, true]],
  )
  assert.deepEqual((await run('user', 'detach', account, 'reader', 'read')).policies, [])
  await run('user', 'delete', account, 'reader')
  assert.equal((await run('bucket', 'create', 'mine', '--account', account, '--lock')).owner, account)
  const locked = await run('bucket', 'lock', 'mine', '--mode', 'governance', '--days', '3')
  assert.deepEqual(locked.defaultRetention, { mode: 'governance', days: 3 })
  const { buckets } = (await run('bucket', 'list')) as { buckets: { name: string }[] }
  assert.deepEqual(
    buckets.map(({ name }) => name),
    ['mine'],
  )
  const empty = { objects: 0, versions: 0, deleteMarkers: 0, bytes: 0, versionBytes: 0, uploads: 0, uploadBytes: 0 }
  assert.deepEqual((await run('bucket', 'info', 'mine')).usage, empty)
  const used = { accountId: account, buckets: 1, uncountedBuckets: 0, ...empty }
  assert.deepEqual((await run('usage', '--account', account)).accounts, [used])
  assert.match(String((await run('server', 'info')).version), /^\d+\.\d+\.\d+/)
  const failed = await holdfast(['account', 'delete', account, ...where])
  assert.deepEqual([failed.code, /owns buckets/.test(oneLine(failed))], [1, true])
  await run('bucket', 'delete', 'mine')
  await run('account', 'delete', account)
  assert.equal((await run('scrub')).damaged, 0)
}

test('commands reach a running server by its folder, and by its console', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const server = await spawnServer(['--data', data, '--workers', '1'])
    try {
      await round(['--data', data], join(folder, 'policy.json'))
      await round(['--endpoint', server.consoleUrl], join(folder, 'policy.json'), '222222222222')
      const busy = await holdfast(['fsck', '--data', data])
      assert.deepEqual([busy.code, /stop it first/.test(oneLine(busy))], [1, true])
      const wrong = { HOLDFAST_ACCESS_KEY: 'AKNOBODY', HOLDFAST_SECRET_KEY: 'wrong' }
      const refused = await holdfast(['account', 'list', '--endpoint', server.consoleUrl], { env: wrong })
      assert.deepEqual([refused.code, /administrator/.test(oneLine(refused))], [1, true])
    } finally {
      assert.equal(await server.stop(), 0)
    }
    assert(!existsSync(join(data, 'console-address')))
  }))

test('without a server the same commands work on the folder and leave it intact', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    await (await serving(['--data', data])).stop()
    await round(['--data', data], join(folder, 'policy.json'))
    const { code, out } = await holdfast(['fsck', '--deep', '--data', data])
    assert.equal(code, 0)
    assert.match(out, /; 0 problems\n$/)
    // The next server sees what a command created.
    assert.match(oneLine(await holdfast(['account', 'create', ONE, '--data', data])), /was deleted/)
    await done('account', 'create', ONE, '--again', '--data', data)
    assert.match(oneLine(await holdfast(['user', 'create', ONE, 'reader', '--data', data])), /was deleted/)
    await done('user', 'create', ONE, 'reader', '--again', '--data', data)
    const server = await serving(['--data', data])
    try {
      assert.equal((await done('account', 'show', ONE, '--endpoint', server.consoleUrl)).accountId, ONE)
    } finally {
      await server.stop()
    }
  }))
