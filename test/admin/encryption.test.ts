/** Encryption keys as an administrator creates, disables and rotates them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Invocation } from '../../src/cli/command.ts'
import { encryptionCommands } from '../../src/cli/commands/encryption.ts'
import { LIMITS } from '../../src/rules/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesOf, faultOf, gate, makeBucket, OWNER, payload, turn } from '../store/fixture.ts'
import { type Consoled, ROOT, withConsole } from './fixture.ts'

const KEYS = '/v1/encryption/keys'

const putUnder = (store: Store, name: string, hold: boolean) =>
  store.objects.put({
    bucket: 'kept',
    key: name,
    owner: OWNER,
    body: [payload(100)],
    encryption: { by: 'named', name, context: undefined, bucketKey: false },
    lock: { hold: hold ? true : undefined, retention: undefined },
  })

const told = async ({ parts }: Consoled): Promise<unknown[]> =>
  (await parts.store.ledger.entries('_store')).map(({ sequence: _s, time: _t, previous: _p, by, ...note }) => ({
    ...note,
    by: by.accessKey,
  }))

test('R22: named keys are made once, listed in order, and rotated', () =>
  withConsole(async consoled => {
    const { ask, parts } = consoled
    const create = (name: unknown) => ask({ method: 'POST', path: KEYS, body: { name } })
    const made = await create('pay/roll ü')
    assert.deepEqual([made.status, made.json()], [201, { name: 'pay/roll ü', version: 1, disabled: false }])
    assert.deepEqual([(await create('pay/roll ü')).status, (await create('archive')).status], [409, 201])
    for (const bad of ['', 7, 'ü'.repeat(LIMITS.keyNameCharactersMax), '\ud800']) {
      assert.equal((await create(bad)).json().code, 'InvalidArgument', String(bad).slice(0, 5))
    }
    const rotate = (body: object) => ask({ method: 'POST', path: '/v1/encryption/rotate', body })
    for (const what of ['service', 'storage', 'named']) assert.equal((await rotate({ what })).json().version, 2, what)
    assert.equal((await rotate({ what: 'named', name: 'archive' })).json().version, 2)
    for (const bad of [{}, { what: 'all' }, { what: 'storage', name: 'archive' }, { what: 'named', name: '\ud800' }]) {
      assert.equal((await rotate(bad)).json().code, 'InvalidArgument', JSON.stringify(bad))
    }
    const { keyring, ...shown } = (await ask({ path: '/v1/encryption' })).json()
    assert.equal(keyring, parts.store.context.keyring.id.toString('hex'))
    const keys = [
      { name: 'archive', version: 2, disabled: false },
      { name: 'pay/roll ü', version: 1, disabled: false },
    ]
    assert.deepEqual(shown, { service: 2, storage: 2, named: 2, keys })
    const by = ROOT.accessKey
    const rotated = ['service', 'storage', 'named'].map(of => ({ what: 'key rotated', of, version: 2, by }))
    const last = { what: 'key rotated', of: 'named', keyName: 'archive', version: 2, by }
    assert.deepEqual(await told(consoled), [...rotated, last])
  }))

test('P31: keys are rewrapped step by step, and the store ledger records the actor', () =>
  withConsole(async consoled => {
    const { ask, parts } = consoled
    const rewrap = (body: object = {}) => ask({ method: 'POST', path: '/v1/encryption/rewrap', body })
    await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', lock: true } })
    await putUnder(parts.store, 'held', true)
    await ask({ method: 'POST', path: '/v1/encryption/rotate', body: { what: 'named' } })
    assert.deepEqual((await rewrap()).json(), { looked: 1, rewrapped: 1, left: 0 })
    assert.deepEqual((await rewrap({ from: '76' })).json(), { looked: 0, rewrapped: 0, left: 0 })
    for (const from of ['', 'zz', '7', '78', 7]) {
      assert.equal((await rewrap({ from })).json().code, 'InvalidArgument', String(from))
    }
    assert((await bytesOf(parts.store, { bucket: 'kept', key: 'held' })).equals(payload(100)))
    const [, last] = await told(consoled)
    assert.deepEqual(last, { what: 'keys rewrapped', service: 1, named: 2, by: ROOT.accessKey })
  }))

test('P23 P31: a key is disabled unless a locked version needs it, as the store ledger records', () =>
  withConsole(async consoled => {
    const { ask, parts } = consoled
    const { store } = parts
    const change = (name: string, disabled: boolean) =>
      ask({ method: 'PATCH', path: `${KEYS}/${encodeURIComponent(name)}`, body: { disabled } })
    await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', lock: true } })
    await putUnder(store, 'held', true)
    await putUnder(store, 'a/b', false)
    const refused = await change('held', true)
    assert.deepEqual([refused.status, refused.json().code], [409, 'KeyInUse'])
    assert.deepEqual(await told(consoled), [])
    assert((await bytesOf(store, { bucket: 'kept', key: 'held' })).equals(payload(100)))
    assert.deepEqual((await change('a/b', true)).json(), { name: 'a/b', version: 1, disabled: true })
    assert.equal(await faultOf(bytesOf(store, { bucket: 'kept', key: 'a/b' })), 'KMS.DisabledException')
    assert.deepEqual((await change('a/b', false)).json(), { name: 'a/b', version: 1, disabled: false })
    assert((await bytesOf(store, { bucket: 'kept', key: 'a/b' })).equals(payload(100)))
    const by = ROOT.accessKey
    assert.deepEqual(await told(consoled), [
      { what: 'key disabled', keyName: 'a/b', by },
      { what: 'key enabled', keyName: 'a/b', by },
    ])
    assert.equal((await store.ledger.verify('_store')).problem, undefined)
  }))

test('P23: a change of a key that the ledger cannot record does not happen', () =>
  withConsole(async ({ parts }) => {
    const { store } = parts
    const { keyring, ledgerCommits: turns } = store.context
    await store.namedKeys.create('one')
    await makeBucket(store, 'kept')
    const { transact: take } = turns
    turns.transact = async () => assert.fail('no ledger')
    await assert.rejects(store.namedKeys.disable('one'), /no ledger/)
    assert.equal(keyring.keyState('one').disabled, false)
    await putUnder(store, 'one', false)
    turns.transact = take
    await store.namedKeys.disable('one')
    assert.equal(keyring.keyState('one').disabled, true)
  }))

test('P23: while versions are scanned the response is 202, and the command polls for the result', () =>
  withConsole(async ({ ask, parts, clock }) => {
    const { store } = parts
    await makeBucket(store, 'kept')
    await putUnder(store, 'one', false)
    const { meta } = store.context
    const { scan } = meta
    const slow = gate()
    meta.scan = async (range, ...rest) => {
      if (range.start.toString() === 'o') await slow.opened
      return scan.call(meta, range, ...rest)
    }
    const asking: Record<string, unknown>[] = []
    const admin = {
      async ask(route: string, input: object): Promise<Record<string, unknown>> {
        asking.push({ route, ...input })
        if (asking.length === 3) slow.open()
        let isAnswered = false
        const answered = ask({ method: 'PATCH', path: `${KEYS}/one`, body: { disabled: true } }).finally(() => {
          isAnswered = true
        })
        for (; !isAnswered; clock.move(asking.length < 3 ? 50 : 0)) await turn()
        const answer = await answered
        assert.equal(answer.status, asking.length < 3 ? 202 : 200)
        return answer.json()
      },
    }
    const lines: string[] = []
    const call = { admin: async () => admin, argument: () => 'one', progress: (line: string) => lines.push(line) }
    const disable = encryptionCommands.find(({ name }) => name === 'encryption disable')!
    const { value } = (await disable.run(call as unknown as Invocation)) as { value: unknown }
    assert.deepEqual(value, { name: 'one', version: 1, disabled: true })
    assert.deepEqual(lines, Array(2).fill('looking for locked versions: 0 so far'))
    assert.deepEqual(asking, Array(3).fill({ route: 'ChangeEncryptionKey', name: 'one', disabled: true }))
    assert.equal(await faultOf(bytesOf(store, { bucket: 'kept', key: 'one' })), 'KMS.DisabledException')
  }))
