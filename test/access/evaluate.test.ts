/** The evaluator against a slow one that shares no code with it (G7), and invariants for all policies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { absenceDependsOn, mayLearnAbsence } from '../../src/rules/access/absence.ts'
import { type AccessRequest, evaluate, unansweredKeys } from '../../src/rules/access/evaluate.ts'
import { shortOrLong } from '../long.ts'
import { accessRequest, BUCKET, policyText } from './arbitrary.ts'
import { referenceAllows, referenceTellsAbsence } from './reference.ts'

const RUNS = shortOrLong(400, 5000, 'HOLDFAST_RUNS')

test('G7: every decision is that of the reference evaluator, and gives its reasons', () => {
  const seen = { allowed: 0, refused: 0 }
  fc.assert(
    fc.property(accessRequest, request => {
      const { allowed, reasons } = evaluate(request)
      assert.equal(allowed, referenceAllows(request), JSON.stringify(reasons))
      assert(reasons.length > 0)
      seen[allowed ? 'allowed' : 'refused'] += 1
    }),
    { numRuns: RUNS },
  )
  // A generator that allows or refuses nearly everything would prove nothing.
  assert(seen.allowed > RUNS / 20 && seen.refused > RUNS / 20, JSON.stringify(seen))
})

const withStatement = (policy: string | undefined, statement: unknown): string => {
  const before = policy === undefined ? [] : JSON.parse(policy).Statement
  return JSON.stringify({ Version: '2012-10-17', Statement: [...before, statement] })
}

const DENY_ALL = { Sid: 'no', Effect: 'Deny', Principal: '*', Action: '*', Resource: '*' }

test('G7: an explicit denial of everything in the bucket policy wins, but for the keeper of the policy', () => {
  fc.assert(
    fc.property(accessRequest, request => {
      fc.pre(request.bucket !== undefined)
      const policy = withStatement(request.bucket!.policy, DENY_ALL)
      const { allowed } = evaluate({ ...request, bucket: { ...request.bucket!, policy } })
      const isKeeper =
        request.caller.kind === 'account' &&
        request.caller.account.accountId === request.bucket!.ownerAccountId &&
        /^(Get|Put|Delete)BucketPolicy$/.test(request.action)
      assert.equal(allowed, isKeeper)
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})

test('G7: adding denials never allows what was refused', () => {
  const denials = policyText(false).map(text =>
    JSON.parse(text).Statement.map((one: object) => ({ ...one, Effect: 'Deny' })),
  )
  fc.assert(
    fc.property(accessRequest, denials, (request, added) => {
      fc.pre(request.bucket !== undefined && !evaluate(request).allowed)
      const policy = added.reduce(withStatement, request.bucket!.policy)
      assert.equal(evaluate({ ...request, bucket: { ...request.bucket!, policy } }).allowed, false)
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})

test('G7: an identity denial of everything stops its user everywhere', () => {
  const deny = JSON.stringify({ Statement: { Effect: 'Deny', Action: '*', Resource: '*' } })
  fc.assert(
    fc.property(accessRequest, request => {
      fc.pre(request.caller.kind === 'user')
      if (request.caller.kind !== 'user') return
      const { user } = request.caller
      const caller = { ...request.caller, user: { ...user, policies: [...user.policies, deny] } }
      assert.equal(evaluate({ ...request, caller, isInitiator: true }).allowed, false, BUCKET)
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})

test('G7: a deferred condition key neither refuses nor admits a caller it could still decide about', () => {
  const seen = { known: 0, open: 0 }
  fc.assert(
    fc.property(accessRequest, request => {
      const keys = ['requestobjecttagkeys', 'requestobjecttag/', 'prefix', 'sourceip']
      const best = evaluate({ ...request, deferred: { keys, assume: 'allow' } }).allowed
      const worst = evaluate({ ...request, deferred: { keys, assume: 'deny' } }).allowed
      const { allowed } = evaluate(request)
      assert((best || !allowed) && (allowed || !worst))
      if (best !== worst) assert.notDeepEqual(unansweredKeys(request, keys), [])
      seen[best === worst ? 'known' : 'open'] += 1
    }),
    // Few requests depend on what is told later.
    { numRuns: 4 * RUNS },
  )
  assert(seen.open > 0, 'no request depended on what is told later')
})

test('A34 G7: a caller learns that a key is missing exactly if the reference lets it list the key', () => {
  const seen = { told: 0, untold: 0, open: 0 }
  fc.assert(
    fc.property(accessRequest, request => {
      fc.pre(request.resource.key !== undefined)
      const isTold = mayLearnAbsence(request).allowed
      assert.equal(isTold, referenceTellsAbsence(request))
      const keys = ['prefix', 'max-keys', 'sourceip', 'securetransport']
      const best = mayLearnAbsence({ ...request, deferred: { keys, assume: 'allow' } }).allowed
      const worst = mayLearnAbsence({ ...request, deferred: { keys, assume: 'deny' } }).allowed
      assert((best || !isTold) && (isTold || !worst))
      if (best !== worst) assert.notDeepEqual(absenceDependsOn(request, keys), [])
      if (best !== worst) seen.open += 1
      seen[isTold ? 'told' : 'untold'] += 1
    }),
    // About one request in eighty depends on what is told later.
    { numRuns: 4 * RUNS },
  )
  assert(seen.told > RUNS / 50 && seen.untold > RUNS / 20 && seen.open > 0, JSON.stringify(seen))
})

test('R106 G7: a change of an ACL is authorized with the condition keys of writing the object', () => {
  const allow = (statement: object): string =>
    JSON.stringify({ Statement: { Effect: 'Allow', Resource: '*', ...statement } })
  const account = { accountId: '3'.repeat(12), canonicalId: '3'.repeat(64), displayName: '3', email: undefined }
  const fromInside = { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } }
  const policies = [allow({ Action: 's3:*Acl' }), allow({ Action: 's3:PutObject', Condition: fromInside })]
  const block = {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: false,
    restrictPublicBuckets: false,
  }
  const owner = { ownerAccountId: '1'.repeat(12), ownerCanonicalId: '1'.repeat(64) }
  const request: AccessRequest = {
    caller: { kind: 'user', account, user: { name: 'ann', policies }, accessKey: 'k' },
    action: 'PutObjectAcl',
    resource: { bucket: BUCKET, key: 'a' },
    bucket: { ...owner, policy: undefined, grants: [], ownership: 'ObjectWriter', publicAccessBlock: block },
    object: { ownerCanonicalId: account.canonicalId, grants: [], tags: [] },
    context: [],
  }
  assert.deepEqual(unansweredKeys(request, ['sourceip']), ['sourceip'])
  const others = { ...request, object: { ...request.object!, ownerCanonicalId: owner.ownerCanonicalId } }
  assert.deepEqual(unansweredKeys(others, ['sourceip']), [])
})
