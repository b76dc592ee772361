/** Explanations, ledgers and the lock clock, as an administrator requests them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LedgerCheck } from '../../src/rules/ledger.ts'
import { verifyLedger } from '../../src/rules/suite-ledger.ts'
import { ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const DAY_MS = 86_400_000

test('an explanation names what decides, and requires a known key', () =>
  withConsole(async ({ ask, accounts }) => {
    await accounts.create({ accountId: ONE })
    await accounts.createKey({ accountId: ONE, user: undefined, accessKey: 'AKONE', secretKey: 's' })
    await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'mine', accountId: ONE } })
    const explained = async (body: object) => (await ask({ method: 'POST', path: '/v1/explain', body })).json()
    const question = { action: 'svc:ListBucket', bucket: 'mine' }
    const own = await explained({ ...question, as: 'AKONE' })
    assert.equal(own.verdict, 'allowed')
    assert.match(String(own.text), /account 111111111111 \(key AKONE\): allowed/)
    assert.equal((await explained({ ...question, as: ROOT.accessKey })).verdict, 'refused')
    assert.equal((await explained(question)).verdict, 'refused')
    assert.equal((await explained({ ...question, as: 'AKNOBODY' })).code, 'InvalidAccessKeyId')
    assert.equal((await explained({ ...question, action: 'svc:Nothing' })).code, 'InvalidArgument')
  }))

test('lock changes by an administrator are in the ledger with the administrator as actor', () =>
  withConsole(async ({ ask }) => {
    await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', lock: true } })
    await ask({ method: 'PUT', path: '/v1/buckets/kept/lock', body: { mode: 'compliance', days: 1 } })
    const exported = await ask({ path: '/v1/ledgers/kept' })
    assert.equal(exported.headers['content-type'], 'application/x-ndjson')
    const lines = exported.text.trimEnd().split('\n')
    const check = new LedgerCheck()
    for (const line of lines) check.take(line)
    const { problem, entries } = check.end()
    assert.deepEqual([problem, entries > 0], [undefined, true])
    const by = lines.slice(1, -1).map(line => JSON.parse(line).by)
    assert.deepEqual([by.at(-1).account, by.at(-1).accessKey], ['000000000000', ROOT.accessKey])
    const listed = (await ask({ path: '/v1/ledgers' })).json()
    assert.deepEqual([listed.buckets, listed.publicKey], [['kept'], check.end().publicKey])
    const verdict = (await ask({ path: '/v1/ledgers/kept/verdict' })).json()
    assert.deepEqual([verdict.problem, verdict.entries], [undefined, entries])
    assert.equal((await ask({ path: '/v1/ledgers/none' })).json().code, 'NoSuchBucket')
  }))

test('P19: a clock jump is reported, and accepted once an administrator confirms it', () =>
  withConsole(async ({ ask, clock }) => {
    assert.equal((await ask({ path: '/v1/clock' })).json().jumped, false)
    // Moves only the wall clock: the monotonic clock does not advance.
    clock.jump(10 * DAY_MS)
    const jumped = (await ask({ path: '/v1/clock' })).json()
    assert.deepEqual([jumped.jumped, jumped.clock === jumped.lockTime], [true, false])
    const confirmed = (await ask({ method: 'POST', path: '/v1/clock/confirm' })).json()
    assert.deepEqual([confirmed.jumped, confirmed.lockTime], [false, confirmed.clock])
    const ledger = (await ask({ path: '/v1/ledgers/_store' })).text.trimEnd().split('\n')
    assert.equal(verifyLedger(ledger).problem, undefined)
    const entry = JSON.parse(ledger[1]!)
    assert.deepEqual([entry.what, entry.before.lockTime], ['clock confirmed', jumped.lockTime])
    assert.deepEqual([entry.after.lockTime, entry.by.accessKey], [confirmed.lockTime, ROOT.accessKey])
  }))
