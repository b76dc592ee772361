import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidAccountsFile, readAccountsFile } from './accounts-file.ts'

const ID = '111111111111'
const KEY = { accessKey: 'AKONE', secretKey: 'hush-hush' }
const ALLOW = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 'svc:GetObject', Resource: '*' }] }
const one = (change: object): string => JSON.stringify({ accounts: [{ accountId: ID, ...change }] })

test('a complete accounts file is parsed', () => {
  const file = {
    accountId: ID,
    canonicalId: 'ab'.repeat(32),
    displayName: 'main',
    email: 'main@example.com',
    admin: true,
    accessKeys: [KEY],
    users: [{ name: 'reader', accessKeys: [{ ...KEY, accessKey: 'AKTWO' }], policies: [ALLOW] }],
  }
  const [read] = readAccountsFile(JSON.stringify({ accounts: [file] }))
  assert.deepEqual(read, { ...file, users: [{ ...file.users[0], policies: [JSON.stringify(ALLOW)] }] })
})

test('fields that the file omits stay undefined', () => {
  assert.deepEqual(readAccountsFile(one({})), [
    {
      accountId: ID,
      canonicalId: undefined,
      displayName: undefined,
      email: undefined,
      admin: undefined,
      accessKeys: [],
      users: [],
    },
  ])
  assert.deepEqual(readAccountsFile('{"accounts":[]}'), [])
})

const twoAccounts = (second: object): string =>
  JSON.stringify({ accounts: [{ accountId: ID, accessKeys: [KEY] }, second] })
const user = (change: object): string => one({ users: [{ name: 'u', ...change }] })

const BAD: readonly (readonly [string, RegExp])[] = [
  ['{"accounts": [', /^accounts: not JSON$/],
  ['[]', /the file is not an object/],
  ['{}', /the member "accounts" is missing/],
  ['{"accounts": {}}', /accounts is not a list/],
  ['{"accounts": [7]}', /accounts\[0\] is not an object/],
  [one({ accountId: '11' }), /accounts\[0\]: accountId is not 12 digits/],
  [one({ accountId: undefined }), /accounts\[0\]\.accountId is missing/],
  [one({ canonicalId: 'AB'.repeat(32) }), /canonicalId is not 64 hexadecimal digits/],
  [one({ displayName: 'a\nb' }), /displayName is not/],
  [one({ email: 'nobody' }), /email is not an e-mail address/],
  [one({ admin: 'yes' }), /admin is not true or false/],
  [one({ accesskeys: [] }), /accounts\[0\]\.accesskeys is unknown/],
  [one({ accessKeys: [{ accessKey: 'a/b/c', secretKey: 'x' }] }), /accessKeys\[0\]: accessKey is not/],
  [one({ accessKeys: [{ accessKey: 'AKONE' }] }), /accessKeys\[0\]\.secretKey is missing/],
  [one({ accessKeys: [KEY, KEY] }), /access key AKONE is declared twice/],
  [one({ users: [{ name: 'u' }, { name: 'u' }] }), /user u is declared twice/],
  [user({ name: 'a/b' }), /users\[0\]: name is not/],
  [user({ policies: ['x'] }), /policies\[0\] is not an object/],
  [user({ policies: [{ Version: '2012-10-17' }] }), /policies\[0\]: /],
  [user({ accessKeys: [KEY] }).replace('"users"', `"accessKeys":[${JSON.stringify(KEY)}],"users"`), /declared twice/],
  [twoAccounts({ accountId: ID }), /account 111111111111 is declared twice/],
  [twoAccounts({ accountId: '222222222222', accessKeys: [KEY] }), /access key AKONE is declared twice/],
]

test('an error names its place in the file and reveals no secret', () => {
  for (const [source, message] of BAD) {
    assert.throws(
      () => readAccountsFile(source),
      (error: unknown) => {
        assert(error instanceof InvalidAccountsFile, source)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /hush|\n/)
        return true
      },
    )
  }
})

test('two accounts never share a canonical id', () => {
  const canonicalId = 'cd'.repeat(32)
  const accounts = [
    { accountId: ID, canonicalId },
    { accountId: '222222222222', canonicalId },
  ]
  assert.throws(() => readAccountsFile(JSON.stringify({ accounts })), /canonicalId .* is declared twice/)
})
