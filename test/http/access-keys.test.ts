/** Access keys that are unknown, disabled or deleted. */
import assert from 'node:assert/strict'
import { Accounts } from '../../src/store/identity/accounts.ts'
import { inBoth, MAIN, makeBucket, OTHER, READER } from './server.ts'

inBoth('A22: an unknown, a disabled and a deleted key get the same answer', async (client, { parts }) => {
  const accounts = new Accounts(parts.store.context)
  const bucket = await makeBucket(client)
  const ask = async (as = READER) => {
    const { status, body, code } = await client.send({ method: 'GET', bucket, path: '/?list-type=2', as })
    return [status, status === 200 ? '' : code(), body.includes(as.secretKey)]
  }
  const refused = [403, 'InvalidAccessKeyId', false]
  assert.deepEqual(await ask(), [200, '', false])
  await accounts.changeKey(READER.accessKey, { disabled: true })
  assert.deepEqual(await ask(), refused)
  await accounts.changeKey(READER.accessKey, { disabled: false })
  assert.deepEqual(await ask(), [200, '', false])
  await accounts.removeKey(READER.accessKey)
  assert.deepEqual(await ask(), refused)
  assert.deepEqual(await ask({ ...READER, accessKey: 'AKNOBODY' }), refused)
  assert.deepEqual(await ask({ ...READER, accessKey: `AK${'X'.repeat(200)}` }), refused)
})

inBoth('a key of a disabled account or user is refused until it is enabled', async (client, { parts }) => {
  const accounts = new Accounts(parts.store.context)
  const bucket = await makeBucket(client)
  const status = async (as = READER): Promise<number> =>
    (await client.send({ method: 'GET', bucket, path: '/?list-type=2', as })).status
  await accounts.changeUser(READER.accountId, 'reader', () => ({ disabled: true }))
  assert.deepEqual([await status(), await status(MAIN)], [403, 200])
  await accounts.changeUser(READER.accountId, 'reader', () => ({ disabled: false }))
  await accounts.change(READER.accountId, { disabled: true })
  assert.deepEqual([await status(), await status(MAIN)], [403, 403])
  await accounts.change(READER.accountId, { disabled: false })
  assert.deepEqual([await status(), await status(MAIN)], [200, 200])
})

inBoth('policy changes take effect at once', async (client, { parts }) => {
  const accounts = new Accounts(parts.store.context)
  const bucket = await makeBucket(client)
  const put = async (): Promise<number> =>
    (await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', as: READER })).status
  assert.equal(await put(), 403)
  const document = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"svc:PutObject","Resource":"*"}}'
  await accounts.changeUser(READER.accountId, 'reader', ({ policies }) => ({
    policies: [...policies, { name: 'write', document, fromFile: false }],
  }))
  assert.equal(await put(), 200)
  await accounts.changeUser(READER.accountId, 'reader', () => ({ policies: [] }))
  assert.equal(await put(), 403)
})

inBoth('a new account can be granted access by e-mail at once', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const headers = [[':grant-read', 'emailAddress="new@example.com"']] as const
  const grant = async (): Promise<number> =>
    (await client.send({ method: 'PUT', bucket, path: '/k?acl', headers })).status
  assert.equal(await grant(), 400)
  await new Accounts(parts.store.context).create({ accountId: '333333333333', email: 'new@example.com' })
  assert.equal(await grant(), 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 403)
})
