/** Accounts in the store: which are stored, which are refused, and that no request sees an outdated cache. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fsckDeep } from '../../src/maintenance/fsck.ts'
import {
  BUILT_IN,
  canonicalIdOf,
  EXEC_ACCOUNT_ID,
  EXEC_CANONICAL_ID,
  ROOT_ACCOUNT_ID,
} from '../../src/model/account.ts'
import { Fault } from '../../src/model/faults.ts'
import { ACCOUNT_LIMITS } from '../../src/rules/accounts.ts'
import { InvalidAccountsFile, readAccountsFile } from '../../src/rules/accounts-file.ts'
import { openFolder, openMemory } from '../../src/server/compose.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { Accounts } from '../../src/store/identity/accounts.ts'
import { applyAccounts } from '../../src/store/identity/apply-accounts.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import type { StoreContext } from '../../src/store/store-context.ts'
import { withFolder } from './fixture.ts'

const ONE = '111111111111'
const TWO = '222222222222'
const POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"svc:GetObject","Resource":"*"}]}'
const DENY = POLICY.replace('Allow', 'Deny')

const isFault = (code: string) => (error: unknown) => error instanceof Fault && error.code === code

async function withAccounts(use: (accounts: Accounts, context: StoreContext) => Promise<void>): Promise<void> {
  const parts = await openMemory()
  try {
    await use(new Accounts(parts.store.context), parts.store.context)
  } finally {
    await parts.close()
  }
}

const secretOf = async (directory: IdentityCache, accessKey: string): Promise<string | undefined> =>
  (await (await directory.now()).findCredential(accessKey))?.secretKey

test('accounts, users and keys are found, and their secrets are decrypted', () =>
  withAccounts(async (accounts, context) => {
    const directory = new IdentityCache(context, { accessKey: 'AKROOT', secretKey: 'root-secret' })
    await accounts.create({ accountId: ONE, displayName: 'one', email: 'One@Example.com' })
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKONE', secretKey: 'secret-one' })
    await accounts.createUser(ONE, 'reader')
    await accounts.changeUser(ONE, 'reader', () => ({ policies: [{ name: 'p', document: POLICY, fromFile: false }] }))
    await accounts.createKey({ accountId: ONE, user: 'reader', accessKey: 'AKREADER', secretKey: 'secret-reader' })
    const known = await directory.now()
    const own = await known.findCredential('AKONE')
    assert.equal(own?.account.canonicalId, canonicalIdOf(ONE))
    assert.equal(own?.user, undefined)
    const reader = await known.findCredential('AKREADER')
    assert.equal(reader?.secretKey, 'secret-reader')
    assert.deepEqual(reader?.user, { name: 'reader', policies: [POLICY] })
    assert.equal((await known.findCredential('AKROOT'))?.account.accountId, ROOT_ACCOUNT_ID)
    assert.equal(known.byEmail('one@EXAMPLE.com')[0]?.accountId, ONE)
    assert.deepEqual(
      (await accounts.keys({ accountId: ONE })).map(key => [key.accessKey, key.user]),
      [
        ['AKONE', undefined],
        ['AKREADER', 'reader'],
      ],
    )
    assert(!('sealedSecret' in (await accounts.key('AKONE'))))
    assert.deepEqual((await fsckDeep(context)).problems, [])
  }))

test('G9: the root account and svc-exec are always there, and svc-exec can be given a key', () =>
  withAccounts(async (accounts, context) => {
    const known = await new IdentityCache(context, undefined).now()
    assert.equal(known.byCanonicalId(EXEC_CANONICAL_ID)?.displayName, 'svc-exec')
    assert.equal(known.byCanonicalId(canonicalIdOf(ROOT_ACCOUNT_ID))?.displayName, 'root')
    await accounts.createKey({ accountId: EXEC_ACCOUNT_ID, user: undefined, accessKey: 'AKEXEC', secretKey: 'x' })
    const found = await (await new IdentityCache(context, undefined).now()).findCredential('AKEXEC')
    assert.equal(found?.account.canonicalId, EXEC_CANONICAL_ID)
    for (const { accountId } of BUILT_IN) {
      await assert.rejects(accounts.remove(accountId), isFault('DeleteConflict'))
      await assert.rejects(accounts.create({ accountId }), isFault('EntityAlreadyExists'))
    }
    await assert.rejects(accounts.change(ROOT_ACCOUNT_ID, { disabled: true }), isFault('InvalidArgument'))
    await assert.rejects(accounts.change(ROOT_ACCOUNT_ID, { admin: false }), isFault('InvalidArgument'))
  }))

test('A22: every identity cache sees a disabled, deleted or changed key immediately', () =>
  withAccounts(async (accounts, context) => {
    // Each represents a process with a filled cache.
    const processes = [new IdentityCache(context, undefined), new IdentityCache(context, undefined)]
    const seen = async (accessKey: string): Promise<(string | undefined)[]> =>
      Promise.all(processes.map(directory => secretOf(directory, accessKey)))
    await accounts.create({ accountId: ONE })
    await accounts.createUser(ONE, 'u')
    await accounts.createKey({ accountId: ONE, user: 'u', accessKey: 'AKU', secretKey: 's1' })
    assert.deepEqual(await seen('AKU'), ['s1', 's1'])
    const changes: readonly (readonly [() => Promise<unknown>, string | undefined])[] = [
      [() => accounts.changeKey('AKU', { disabled: true }), undefined],
      [() => accounts.changeKey('AKU', { disabled: false }), 's1'],
      [() => accounts.changeKey('AKU', { secretKey: 's2' }), 's2'],
      [() => accounts.changeUser(ONE, 'u', () => ({ disabled: true })), undefined],
      [() => accounts.changeUser(ONE, 'u', () => ({ disabled: false })), 's2'],
      [() => accounts.change(ONE, { disabled: true }), undefined],
      [() => accounts.change(ONE, { disabled: false }), 's2'],
      [() => accounts.removeKey('AKU'), undefined],
      [() => accounts.createKey({ accountId: ONE, user: 'u', accessKey: 'AKU', secretKey: 's3' }), 's3'],
      [() => accounts.removeUser(ONE, 'u'), undefined],
    ]
    for (const [change, expected] of changes) {
      await change()
      assert.deepEqual(await seen('AKU'), [expected, expected])
    }
    assert.deepEqual(await accounts.keys({ accountId: ONE }), [])
  }))

test('a directory that nothing has changed reads one record for a request', () =>
  withAccounts(async (accounts, context) => {
    await accounts.create({ accountId: ONE })
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKONE', secretKey: 's' })
    let reads = 0
    const counting = {
      ...context,
      meta: {
        get: (key: Buffer) => {
          reads++
          return context.meta.get(key)
        },
        scan: context.meta.scan.bind(context.meta),
        scanMap: context.meta.scanMap.bind(context.meta),
        commit: context.meta.commit.bind(context.meta),
        close: context.meta.close.bind(context.meta),
      },
    }
    const directory = new IdentityCache(counting, undefined)
    await secretOf(directory, 'AKONE')
    reads = 0
    for (let i = 0; i < 10; i++) assert.equal(await secretOf(directory, 'AKONE'), 's')
    assert.equal(reads, 10)
  }))

test('an account that others depend on is not deleted', () =>
  withAccounts(async (accounts, context) => {
    await accounts.create({ accountId: ONE })
    await accounts.createUser(ONE, 'u')
    await assert.rejects(accounts.remove(ONE), isFault('DeleteConflict'))
    await accounts.removeUser(ONE, 'u')
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKONE', secretKey: 's' })
    await accounts.remove(ONE)
    await assert.rejects(accounts.key('AKONE'), isFault('NoSuchEntity'))
    await assert.rejects(accounts.get(ONE), isFault('NoSuchEntity'))
    await assert.rejects(accounts.users(ONE), isFault('NoSuchEntity'))
    assert.deepEqual((await fsckDeep(context)).problems, [])
  }))

test('invalid changes of accounts are refused and change nothing', () =>
  withAccounts(async (accounts, context) => {
    await accounts.create({ accountId: ONE })
    await accounts.createUser(ONE, 'u')
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKONE', secretKey: 's' })
    const mark = (await context.meta.get(recordKey.accountsMark()))?.stamp
    const refused: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['InvalidArgument', () => accounts.create({ accountId: '1' })],
      ['InvalidArgument', () => accounts.create({ accountId: TWO, email: 'x' })],
      ['EntityAlreadyExists', () => accounts.create({ accountId: ONE })],
      ['EntityAlreadyExists', () => accounts.create({ accountId: TWO, canonicalId: canonicalIdOf(ONE) })],
      ['EntityAlreadyExists', () => accounts.createUser(ONE, 'u')],
      ['NoSuchEntity', () => accounts.createUser(TWO, 'u')],
      ['InvalidArgument', () => accounts.createUser(ONE, '<img>')],
      [
        'EntityAlreadyExists',
        () => accounts.createKey({ accountId: ONE, user: 'u', accessKey: 'AKONE', secretKey: 's' }),
      ],
      ['NoSuchEntity', () => accounts.createKey({ accountId: ONE, user: 'v', accessKey: 'AKV', secretKey: 's' })],
      ['InvalidArgument', () => accounts.createKey({ accountId: ONE, user: 'u', accessKey: 'a/b', secretKey: 's' })],
      [
        'MalformedPolicy',
        () => accounts.changeUser(ONE, 'u', () => ({ policies: [{ name: 'p', document: '{}', fromFile: false }] })),
      ],
      ['NoSuchEntity', () => accounts.changeKey('AKX', { disabled: true })],
    ]
    for (const [code, act] of refused) await assert.rejects(async () => act(), isFault(code), code)
    assert.equal((await context.meta.get(recordKey.accountsMark()))?.stamp, mark)
  }))

test('accounts created concurrently never share a canonical id, and ids of deleted ones stay reserved', () =>
  withAccounts(async (accounts, context) => {
    const canonicalId = 'ef'.repeat(32)
    const both = await Promise.allSettled([ONE, TWO].map(accountId => accounts.create({ accountId, canonicalId })))
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const [made] = (await accounts.list()).filter(account => account.canonicalId === canonicalId)
    await accounts.remove(made!.accountId)
    const other = made!.accountId === ONE ? TWO : ONE
    await assert.rejects(accounts.create({ accountId: other, canonicalId }), isFault('EntityAlreadyExists'))
    assert.deepEqual((await fsckDeep(context)).problems, [])
  }))

test('G6: the ids of a deleted account cannot be reused, unless the new account is declared the same', () =>
  withAccounts(async (accounts, context) => {
    const canonicalId = 'ef'.repeat(32)
    for (const wish of [{ accountId: ONE }, { accountId: TWO, canonicalId }]) {
      const { canonicalId: first } = await accounts.create(wish)
      await accounts.remove(wish.accountId)
      await assert.rejects(accounts.create(wish), isFault('EntityAlreadyExists'))
      await assert.rejects(accounts.create({ ...wish, again: false }), isFault('EntityAlreadyExists'))
      const taking = { accountId: '333333333333', canonicalId: first }
      await assert.rejects(accounts.create(taking), isFault('EntityAlreadyExists'))
      await assert.rejects(accounts.create({ ...taking, again: true }), isFault('EntityAlreadyExists'))
      const again = await accounts.create({ accountId: wish.accountId, again: true })
      assert.equal(again.canonicalId, first)
      // Created again, it can be deleted again.
      await accounts.remove(wish.accountId)
      await assert.rejects(accounts.create(wish), isFault('EntityAlreadyExists'))
    }
    assert.deepEqual(
      (await accounts.list()).map(({ accountId }) => accountId),
      BUILT_IN.map(({ accountId }) => accountId).sort(),
    )
    assert.deepEqual((await fsckDeep(context)).problems, [])
  }))

test('G6: the name of a deleted user cannot be reused, unless the new user is declared the same', () =>
  withAccounts(async (accounts, context) => {
    for (const accountId of [ONE, TWO]) await accounts.create({ accountId })
    // A policy may name a user before it exists.
    for (let turn = 0; turn < 2; turn++) {
      await accounts.createUser(ONE, 'u', turn > 0)
      await accounts.createKey({ accountId: ONE, user: 'u', accessKey: 'AKU', secretKey: 's' })
      await accounts.removeUser(ONE, 'u')
      await assert.rejects(accounts.createUser(ONE, 'u'), isFault('EntityAlreadyExists'))
    }
    // The same name in another account, or in another case, is a different user.
    await accounts.createUser(TWO, 'u')
    await accounts.createUser(ONE, 'U')
    // The names stay reserved even when the account is deleted and created again.
    await accounts.removeUser(ONE, 'U')
    await accounts.remove(ONE)
    await accounts.create({ accountId: ONE, again: true })
    for (const name of ['u', 'U']) await assert.rejects(accounts.createUser(ONE, name), isFault('EntityAlreadyExists'))
    // An existing user is not created again, with any arguments.
    await accounts.createUser(ONE, 'u', true)
    await assert.rejects(accounts.createUser(ONE, 'u', true), isFault('EntityAlreadyExists'))
    assert.deepEqual((await fsckDeep(context)).problems, [])
  }))

test('a deleted user in the accounts file is restored as the same user at the next start', () =>
  withAccounts(async accounts => {
    const given = readAccountsFile(JSON.stringify({ accounts: [{ accountId: ONE, users: [{ name: 'u' }] }] }))
    await applyAccounts(accounts, given)
    await accounts.removeUser(ONE, 'u')
    await applyAccounts(accounts, given)
    assert.equal((await accounts.user(ONE, 'u')).name, 'u')
  }))

test('a deleted account in the accounts file is restored as the same account at the next start', () =>
  withAccounts(async accounts => {
    const file = (...given: object[]) => readAccountsFile(JSON.stringify({ accounts: given }))
    const both = file({ accountId: ONE }, { accountId: TWO, canonicalId: 'ef'.repeat(32) })
    await applyAccounts(accounts, both)
    const ids = async () => (await accounts.list()).map(({ accountId, canonicalId }) => [accountId, canonicalId])
    const before = await ids()
    for (const accountId of [ONE, TWO]) await accounts.remove(accountId)
    await applyAccounts(accounts, both)
    assert.deepEqual(await ids(), before)
    await accounts.remove(TWO)
    const taking = file(
      { accountId: ONE, displayName: 'changed' },
      { accountId: '333333333333', canonicalId: 'ef'.repeat(32) },
    )
    await assert.rejects(applyAccounts(accounts, taking), /belongs to account 222222222222/)
    assert.equal((await accounts.get(ONE)).displayName, ONE, 'nothing of it is done')
  }))

test('the number of keys of one owner is bounded, also when all are made at once', () =>
  withAccounts(async accounts => {
    await accounts.create({ accountId: ONE })
    const tries = Array.from({ length: ACCOUNT_LIMITS.keysPerOwnerMax + 5 }, (_, i) =>
      accounts.createKey({ accountId: ONE, user: undefined, accessKey: `AK${i}X`, secretKey: 's' }),
    )
    const outcomes = await Promise.allSettled(tries)
    assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 5)
    assert.equal((await accounts.keys({ accountId: ONE })).length, ACCOUNT_LIMITS.keysPerOwnerMax)
  }))

const FILE = {
  accounts: [
    {
      accountId: ONE,
      displayName: 'one',
      accessKeys: [{ accessKey: 'AKONE', secretKey: 'file-secret-one' }],
      users: [
        {
          name: 'reader',
          accessKeys: [{ accessKey: 'AKREADER', secretKey: 'file-secret-two' }],
          policies: [JSON.parse(POLICY)],
        },
      ],
    },
  ],
}

const given = (file: object) => readAccountsFile(JSON.stringify(file))

test('an accounts file can be applied several times at once, and applying it again writes nothing', () =>
  withAccounts(async (accounts, context) => {
    await Promise.all([1, 2, 3].map(() => applyAccounts(accounts, given(FILE))))
    const mark = (await context.meta.get(recordKey.accountsMark()))?.stamp
    await applyAccounts(accounts, given(FILE))
    assert.equal((await context.meta.get(recordKey.accountsMark()))?.stamp, mark)
  }))

test('accounts in the file are changed to match it; others stay', () =>
  withAccounts(async (accounts, context) => {
    await applyAccounts(accounts, given(FILE))
    await accounts.create({ accountId: TWO })
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKMADE', secretKey: 'made' })
    await accounts.changeKey('AKREADER', { disabled: true })
    await accounts.changeUser(ONE, 'reader', ({ policies }) => ({
      policies: [...policies, { name: 'attached', document: DENY, fromFile: false }],
    }))
    const [one] = FILE.accounts
    const changed = {
      ...one!,
      displayName: 'renamed',
      accessKeys: [{ accessKey: 'AKONE', secretKey: 'another' }],
      users: [{ ...one!.users[0]!, policies: [] }],
    }
    await applyAccounts(accounts, given({ accounts: [changed] }))
    const directory = new IdentityCache(context, undefined)
    assert.equal(await secretOf(directory, 'AKONE'), 'another')
    assert.equal(await secretOf(directory, 'AKMADE'), 'made')
    assert.equal(await secretOf(directory, 'AKREADER'), undefined, 'a disabled key stays disabled')
    assert.equal((await accounts.get(ONE)).displayName, 'renamed')
    assert.equal((await accounts.get(TWO)).displayName, TWO)
    assert.deepEqual(
      (await accounts.user(ONE, 'reader')).policies.map(({ name }) => name),
      ['attached'],
    )
  }))

test('an accounts file that contradicts the store is refused before it changes anything', () =>
  withAccounts(async (accounts, context) => {
    await applyAccounts(accounts, given(FILE))
    const mark = (await context.meta.get(recordKey.accountsMark()))?.stamp
    const fresh = { accountId: '333333333333' }
    const bad: readonly (readonly [object, RegExp])[] = [
      [{ accountId: ONE, canonicalId: 'ab'.repeat(32) }, /cannot be changed/],
      [{ accountId: TWO, canonicalId: canonicalIdOf(ONE) }, /belongs to account 111111111111/],
      [{ accountId: TWO, canonicalId: EXEC_CANONICAL_ID }, /belongs to account/],
      [{ accountId: TWO, accessKeys: [{ accessKey: 'AKONE', secretKey: 'x' }] }, /belongs to another account or user/],
      [
        { accountId: ONE, accessKeys: [{ accessKey: 'AKREADER', secretKey: 'x' }] },
        /belongs to another account or user/,
      ],
      [{ accountId: ROOT_ACCOUNT_ID, admin: false }, /root account/],
    ]
    for (const [account, message] of bad) {
      await assert.rejects(applyAccounts(accounts, given({ accounts: [fresh, account] })), (error: unknown) => {
        assert(error instanceof InvalidAccountsFile)
        assert.match(error.message, message)
        return true
      })
    }
    assert.equal((await context.meta.get(recordKey.accountsMark()))?.stamp, mark)
  }))

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile())
}

test('no secret is stored in plaintext, and keys survive a restart', () =>
  withFolder(async folder => {
    const first = await openFolder({ folder })
    await applyAccounts(new Accounts(first.store.context), given(FILE))
    await first.close()
    // Plain text would be found: the names are.
    const found = (text: string): string[] => filesBelow(folder).filter(path => readFileSync(path).includes(text))
    assert.notDeepEqual(found('AKREADER'), [])
    for (const secret of ['file-secret-one', 'file-secret-two']) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64').slice(0, 16),
        Buffer.from(secret).toString('hex'),
      ])
        assert.deepEqual(found(form), [])
    }
    const again = await openFolder({ folder })
    assert.equal(await secretOf(new IdentityCache(again.store.context, undefined), 'AKREADER'), 'file-secret-two')
    // A secret can still be opened after its storage key was rotated.
    await again.store.context.keyring.rotate('storage')
    assert.equal(await secretOf(new IdentityCache(again.store.context, undefined), 'AKONE'), 'file-secret-one')
    await again.close()
  }))
