import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bucket } from '../../model/bucket.ts'
import type { Grant } from '../../model/grant.ts'
import { mayDeliverLogs } from './log-delivery.ts'

const target = (grants: readonly Grant[], ownership: Bucket['ownership'] = undefined): Bucket => ({
  name: 'logs',
  id: '0',
  owner: 'o',
  createdAt: 0,
  versioning: 'off',
  lockEnabled: false,
  defaultRetention: undefined,
  grants,
  ownership,
  publicAccessBlock: undefined,
  requesterPays: false,
  documents: [],
  closing: false,
})

const to = (grantee: string, permission: Grant['permission']): Grant => ({ grantee, group: true, permission })
const WANTED = [to('LogDelivery', 'WRITE'), to('LogDelivery', 'READ_ACP')]

const policy = (effect: string, principal: unknown, more: object = {}): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: {
      Effect: effect,
      Principal: principal,
      Action: 's3:PutObject',
      Resource: 'arn:aws:s3:::logs/*',
      ...more,
    },
  })

const isWanted = (bucket: Bucket, text?: string): boolean =>
  mayDeliverLogs({ target: bucket, key: 'a/', source: 'app', account: '111111111111' }, text)

test('log delivery: the list gives both permissions to the group, and counts at all', () => {
  assert.equal(isWanted(target(WANTED)), true)
  assert.equal(isWanted(target([to('LogDelivery', 'FULL_CONTROL')])), true)
  for (const grants of [
    [],
    [WANTED[0]!],
    [WANTED[1]!],
    [to('AllUsers', 'FULL_CONTROL')],
    [to('AuthenticatedUsers', 'WRITE'), WANTED[1]!],
    [{ ...to('LogDelivery', 'FULL_CONTROL'), group: false }],
  ])
    assert.equal(isWanted(target(grants)), false, JSON.stringify(grants))
  assert.equal(isWanted(target(WANTED, 'BucketOwnerEnforced')), false)
})

test('log delivery: a policy consents by naming the service, and a denial of everyone denies it too', () => {
  const service = { Service: 'logging.s3.amazonaws.com' }
  for (const [text, withList, without] of [
    [policy('Allow', service), true, true],
    [policy('Allow', { Service: ['cloudtrail.amazonaws.com', 'logging.svc'] }), true, true],
    [policy('Allow', '*'), true, false],
    [policy('Allow', { AWS: '*' }), true, false],
    [policy('Allow', { Service: 'cloudtrail.amazonaws.com' }), true, false],
    [policy('Allow', service, { Action: 's3:GetObject' }), true, false],
    [policy('Allow', service, { Resource: 'arn:aws:s3:::logs/b/*' }), true, false],
    [policy('Deny', '*'), false, false],
    [policy('Deny', service), false, false],
    [policy('Deny', { Service: 'cloudtrail.amazonaws.com' }), true, false],
    [policy('Deny', undefined, { NotPrincipal: service }), true, false],
    [policy('Deny', undefined, { NotPrincipal: { AWS: '111111111111' } }), false, false],
    ['{', false, false],
  ] as const)
    assert.deepEqual([isWanted(target(WANTED), text), isWanted(target([]), text)], [withList, without], text)
})

test('log delivery: a statement for the service may ask whose log it is', () => {
  const service = { Service: 'logging.s3.amazonaws.com' }
  for (const [condition, wanted] of [
    [{ ArnLike: { 'aws:SourceArn': 'arn:aws:s3:::app' } }, true],
    [{ ArnLike: { 'aws:SourceArn': 'arn:aws:s3:::other' } }, false],
    [{ StringEquals: { 'aws:SourceAccount': '111111111111' } }, true],
    [{ StringEquals: { 'aws:SourceAccount': '222222222222' } }, false],
    [{ Bool: { 'aws:PrincipalIsAWSService': 'true' } }, true],
    [{ StringEquals: { 'aws:PrincipalServiceName': 'logging.s3.amazonaws.com' } }, true],
    [{ Bool: { 'aws:SecureTransport': 'false' } }, false],
  ] as const)
    assert.equal(isWanted(target([]), policy('Allow', service, { Condition: condition })), wanted)
})
