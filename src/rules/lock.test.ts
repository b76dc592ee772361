import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Lock } from '../model/version.ts'
import { UNLOCKED } from '../model/version.ts'
import { checkRetainUntil, initialLock, mayChangeRetention, mayRemove } from './lock.ts'

const NOW = 1_000
const governance = { mode: 'governance', until: NOW + 1 } as const
const compliance = { mode: 'compliance', until: NOW + 1 } as const

const anyLock: fc.Arbitrary<Lock> = fc.record({
  retention: fc.option(
    fc.record({ mode: fc.constantFrom('governance' as const, 'compliance' as const), until: fc.nat(2 * NOW) }),
    { nil: undefined },
  ),
  hold: fc.constantFrom(undefined, true, false),
})

test('G19 P1 P12–P14: the lock rule, as a table', () => {
  const rows: [Lock, boolean, string | undefined][] = [
    [UNLOCKED, false, undefined],
    [{ hold: true, retention: undefined }, true, 'held'],
    [{ hold: true, retention: { mode: 'governance', until: 0 } }, true, 'held'],
    [{ hold: false, retention: governance }, false, 'governance'],
    [{ hold: false, retention: governance }, true, undefined],
    [{ hold: undefined, retention: compliance }, true, 'compliance'],
    [{ hold: undefined, retention: { mode: 'compliance', until: NOW } }, false, undefined],
  ]
  for (const [lock, bypass, refusal] of rows) assert.equal(mayRemove(lock, NOW, bypass), refusal, JSON.stringify(lock))
})

test('G19 P13 P16: a hold refuses whatever the retention, the time and the bypass', () => {
  fc.assert(
    fc.property(anyLock, fc.nat(3 * NOW), fc.boolean(), (lock, now, bypass) => {
      assert.equal(mayRemove({ ...lock, hold: true }, now, bypass), 'held')
    }),
  )
})

test('G19 P14 P19: only time ends compliance retention', () => {
  fc.assert(
    fc.property(fc.nat(2 * NOW), fc.nat(2 * NOW), fc.boolean(), (until, now, bypass) => {
      const refusal = mayRemove({ hold: false, retention: { mode: 'compliance', until } }, now, bypass)
      assert.equal(refusal, until > now ? 'compliance' : undefined)
    }),
  )
})

test('G19 P12 P15: retention in force is lengthened by anyone, shortened only by a bypass, compliance never', () => {
  const longer = NOW + 100
  const rows: [Lock['retention'], Lock['retention'], boolean, string | undefined][] = [
    [undefined, compliance, false, undefined],
    [governance, { mode: 'governance', until: longer }, false, undefined],
    // A request without a change shortens nothing: a client that repeats its request gets the same result.
    [governance, governance, false, undefined],
    [compliance, compliance, false, undefined],
    [governance, { mode: 'governance', until: NOW }, false, 'governance'],
    [compliance, { mode: 'compliance', until: NOW }, true, 'compliance'],
    [governance, undefined, false, 'governance'],
    [governance, undefined, true, undefined],
    [governance, { mode: 'compliance', until: longer }, false, 'governance'],
    [governance, { mode: 'compliance', until: longer }, true, undefined],
    [compliance, { mode: 'compliance', until: longer }, false, undefined],
    [compliance, { mode: 'governance', until: longer }, true, 'compliance'],
    [compliance, undefined, true, 'compliance'],
    [{ mode: 'compliance', until: NOW }, undefined, false, undefined],
  ]
  for (const [now, wanted, bypass, refusal] of rows) {
    assert.equal(
      mayChangeRetention({ hold: true, retention: now }, wanted, NOW, bypass),
      refusal,
      JSON.stringify([now, wanted]),
    )
  }
})

test('G19: without a bypass no change shortens a retention in force', () => {
  fc.assert(
    fc.property(anyLock, anyLock, (lock, wanted) => {
      const inForce = lock.retention !== undefined && lock.retention.until > NOW
      fc.pre(inForce && mayChangeRetention(lock, wanted.retention, NOW, false) === undefined)
      assert(wanted.retention !== undefined && wanted.retention.until >= lock.retention!.until)
      assert.equal(wanted.retention.mode, lock.retention!.mode)
    }),
  )
})

const bucket: Bucket = {
  name: 'b',
  id: '0',
  owner: 'o',
  createdAt: 0,
  versioning: 'on',
  lockEnabled: true,
  defaultRetention: { mode: 'compliance', days: 2 },
  grants: [],
  ownership: undefined,
  publicAccessBlock: undefined,
  requesterPays: false,
  documents: [],
  closing: false,
}

test('G19 P25 P26: a new version takes what was asked for, else the default counted from now', () => {
  const asked = { hold: undefined, retention: { mode: 'governance', until: NOW + 5 } } as const
  assert.deepEqual(initialLock(bucket, asked, NOW), asked)
  const byDefault = { hold: true, retention: { mode: 'compliance', until: NOW + 2 * 86_400_000 } }
  assert.deepEqual(initialLock(bucket, { hold: true, retention: undefined }, NOW), byDefault)
  assert.throws(() => initialLock(bucket, { ...asked, retention: { mode: 'governance', until: NOW } }, NOW), Fault)
  assert.throws(() => initialLock({ ...bucket, lockEnabled: false }, asked, NOW), Fault)
  for (const hold of [true, false])
    assert.throws(() => initialLock({ ...bucket, lockEnabled: false }, { hold, retention: undefined }, NOW), Fault)
  assert.deepEqual(initialLock({ ...bucket, lockEnabled: false, defaultRetention: undefined }, UNLOCKED, NOW), UNLOCKED)
})

test('G19 G20: retention lasts a hundred years at most, to the millisecond', () => {
  const until = NOW + 36_525 * 86_400_000
  checkRetainUntil(until, NOW)
  assert.throws(() => checkRetainUntil(until + 1, NOW), Fault)
  checkRetainUntil(NOW + 1, NOW)
  assert.throws(() => checkRetainUntil(NOW, NOW), Fault)
})
