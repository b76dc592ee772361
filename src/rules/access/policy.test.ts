import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../../model/faults.ts'
import { POLICY_BYTES_MAX, readBucketPolicy, readIdentityPolicy } from './policy.ts'
import { readJson } from './policy-json.ts'

const GOOD = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::bkt/*' }
const policy = (...statements: unknown[]): string => JSON.stringify({ Version: '2012-10-17', Statement: statements })
const changed = (change: object): string => policy({ ...GOOD, ...change })
const without = (name: keyof typeof GOOD, change: object = {}): string => {
  const { [name]: _, ...rest } = GOOD
  return policy({ ...rest, ...change })
}

function refused(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    assert(error instanceof Fault && error.code === 'MalformedPolicy', String(error))
    return String(error.detail.reason)
  }
  assert.fail('the policy was accepted')
}

test('G2: both spellings of actions, resources, principals and keys read to one form', () => {
  const condition = (key: string) => ({ StringEquals: { [key]: 'private' } })
  const svc = changed({
    Principal: { SVC: ['arn:svc:iam::111111111111:user/ann', '111111111111'] },
    Action: 'svc:PutObject',
    Resource: 'arn:svc:svc:::bkt/*',
    Condition: condition('svc:x-svc-acl'),
  })
  const s3 = changed({
    Principal: { AWS: ['arn:aws:iam::111111111111:user/ann', 'arn:aws:iam::111111111111:root'] },
    Action: 'S3:putOBJECT',
    Resource: 'arn:aws:s3:::bkt/*',
    Condition: condition('s3:X-Amz-Acl'),
  })
  assert.deepEqual(readBucketPolicy(svc, 'bkt'), readBucketPolicy(s3, 'bkt'))
  const kms = (key: string, value: string) => changed({ Condition: { StringEquals: { [key]: value } } })
  assert.deepEqual(
    readBucketPolicy(kms('svc:x-svc-server-side-encryption', 'verenc'), 'bkt'),
    readBucketPolicy(kms('s3:x-amz-server-side-encryption', 'aws:kms'), 'bkt'),
  )
  assert.deepEqual(
    readBucketPolicy(kms('svc:x-svc-server-side-encryption-svc-kms-key-id', 'k'), 'bkt'),
    readBucketPolicy(kms('s3:x-amz-server-side-encryption-aws-kms-key-id', 'k'), 'bkt'),
  )
})

test('G8: a bucket policy that is not valid is refused with its reason', () => {
  const rows: [string, RegExp][] = [
    ['', /well-formed/],
    ['{', /well-formed/],
    ['[]', /must be an object/],
    ['{}', /Missing required field Statement/],
    [policy(), /Missing required field Statement/],
    [JSON.stringify({ Version: '2020-01-01', Statement: [GOOD] }), /version/],
    [JSON.stringify({ Statement: [GOOD], Extra: 1 }), /Unknown field Extra/],
    [changed({ effect: 'Deny' }), /Unknown field effect/],
    [changed({ Effect: 'allow' }), /Invalid effect/],
    [without('Effect'), /Invalid effect: none/],
    [without('Principal'), /Missing required field Principal/],
    [without('Action'), /Missing required field Action/],
    [without('Resource'), /Missing required field Resource/],
    [changed({ NotAction: 's3:PutObject' }), /both Action and NotAction/],
    [changed({ NotResource: 'arn:aws:s3:::bkt' }), /both Resource and NotResource/],
    [changed({ NotPrincipal: '*' }), /both Principal and NotPrincipal/],
    [without('Principal', { NotPrincipal: { AWS: '111111111111' } }), /Allow with NotPrincipal/],
    [changed({ Principal: 'arn:aws:iam::111111111111:root' }), /Invalid principal/],
    [changed({ Principal: { AWS: 'arn:aws:iam::1111*:root' } }), /Invalid principal/],
    [changed({ Principal: { AWS: 'arn:aws:iam::111111111111:user/a*' } }), /Invalid principal/],
    [changed({ Principal: { Federated: '*' } }), /Invalid principal/],
    [changed({ Principal: {} }), /Invalid principal/],
    [changed({ Principal: { AWS: [] } }), /Missing required field Principal/],
    [changed({ Principal: { AWS: 111111111111 } }), /must be a string/],
    [changed({ Principal: { CanonicalUser: 'x' } }), /Invalid principal/],
    [changed({ Action: 's3:GetObjekt' }), /invalid action/],
    [changed({ Action: 'iam:CreateUser' }), /invalid action/],
    [changed({ Action: 's3:ListBuc\u212aet' }), /invalid action/],
    [changed({ Action: [] }), /Missing required field Action/],
    [changed({ Action: ['s3:GetObject', 7] }), /must be a string/],
    [changed({ Resource: 'arn:aws:s3:::other/*' }), /invalid resource/],
    [changed({ Resource: 'arn:aws:s3:::bkt2/*' }), /invalid resource/],
    [changed({ Resource: 'arn:aws:s3:::BKT/*' }), /invalid resource/],
    [changed({ Resource: 'bkt/*' }), /invalid resource/],
    [without('Resource', { NotResource: 'arn:aws:s3:::other/*' }), /invalid resource/],
    [changed({ Resource: `arn:aws:s3:::bkt/\${aws:secret}` }), /Unknown policy variable/],
    [changed({ Resource: `arn:aws:s3:::bkt/\${aws:username` }), /not closed/],
    [changed({ Condition: [] }), /must be an object/],
    [changed({ Condition: { StringEquals: 'x' } }), /must be an object/],
    [changed({ Condition: { StringAlike: { 's3:prefix': 'x' } } }), /Invalid Condition type/],
    [changed({ Condition: { 'ForSome:StringEquals': { 's3:prefix': 'x' } } }), /Invalid Condition type/],
    [changed({ Condition: { NullIfExists: { 's3:prefix': 'true' } } }), /Invalid Condition type/],
    [changed({ Condition: { toString: { 's3:prefix': 'x' } } }), /Invalid Condition type/],
    [changed({ Condition: { StringEquals: { 's3:prefxi': 'x' } } }), /invalid condition key/],
    [changed({ Condition: { StringEquals: { prefix: 'x' } } }), /invalid condition key/],
    [changed({ Condition: { StringEquals: { 's3:ExistingObjectTag/': 'x' } } }), /invalid condition key/],
    [changed({ Condition: { StringEquals: { 's3:prefix': [] } } }), /Missing required field/],
    [changed({ Condition: { StringEquals: { 's3:prefix': null } } }), /Invalid condition value/],
    [changed({ Condition: { NumericEquals: { 's3:max-keys': 'ten' } } }), /Invalid condition value/],
    [changed({ Condition: { DateEquals: { 'aws:CurrentTime': '2026-02-30' } } }), /Invalid condition value/],
    [changed({ Condition: { Bool: { 'aws:SecureTransport': 'yes' } } }), /Invalid condition value/],
    [changed({ Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.256/8' } } }), /Invalid condition value/],
    [changed({ Condition: { ArnLike: { 'aws:PrincipalArn': 'ann' } } }), /Invalid condition value/],
  ]
  for (const [text, reason] of rows)
    assert.match(
      refused(() => readBucketPolicy(text, 'bkt')),
      reason,
      text,
    )
  readBucketPolicy(policy(GOOD), 'bkt')
})

test('G8: patterns that can mean the bucket are accepted, with or without wildcards', () => {
  for (const resource of ['*', 'arn:aws:s3:::*', 'arn:aws:s3:::*/*', 'arn:svc:svc:::bk?/x', 'arn:aws:s3:::bkt']) {
    readBucketPolicy(changed({ Action: 's3:*', Resource: resource }), 'bkt')
  }
})

test('G8: an identity policy has no principal and may name any bucket', () => {
  assert.match(
    refused(() => readIdentityPolicy(policy(GOOD))),
    /must not name a principal/,
  )
  assert.match(
    refused(() => readIdentityPolicy(without('Principal', { NotPrincipal: '*' }))),
    /must not name/,
  )
  readIdentityPolicy(without('Principal', { Resource: 'arn:aws:s3:::other/*' }))
})

test('A67: more than 20,480 bytes are refused, exactly as many are read', () => {
  const padded = (bytes: number): string => {
    const text = policy({ ...GOOD, Sid: '' })
    return text.replace('"Sid":""', `"Sid":"${'é'.repeat(4)}${'x'.repeat(bytes - Buffer.byteLength(text) - 8)}"`)
  }
  readBucketPolicy(padded(POLICY_BYTES_MAX), 'bkt')
  assert.match(
    refused(() => readBucketPolicy(padded(POLICY_BYTES_MAX + 1), 'bkt')),
    /maximum size/,
  )
})

test('A67: a duplicate JSON member is refused at every level and in every spelling', () => {
  const text = policy(GOOD)
  const rows = [
    text.replace('"Effect":"Allow"', '"Effect":"Deny","Effect":"Allow"'),
    text.replace('"Effect":"Allow"', '"Effect":"Deny","Eff\\u0065ct":"Allow"'),
    text.replace('"Version"', '"Statement":[],"Version"'),
    changed({ Condition: { Bool: { 'aws:SecureTransport': true } } }).replace('true}', 'true,"aws:SecureTransport":1}'),
  ]
  for (const row of rows)
    assert.match(
      refused(() => readBucketPolicy(row, 'bkt')),
      /twice/,
      row,
    )
})

test('A67: __proto__ is a member like any other, and unknown', () => {
  const text = policy(GOOD).replace('"Effect"', '"__proto__":{"Effect":"Allow"},"Effect"')
  assert.match(
    refused(() => readBucketPolicy(text, 'bkt')),
    /Unknown field __proto__/,
  )
  const members = readJson('{"__proto__":{"a":1}}') as ReadonlyMap<string, ReadonlyMap<string, number>>
  assert.equal(members.get('__proto__')?.get('a'), 1)
  assert.equal(({} as Record<string, unknown>).a, undefined)
})

test('A67: the parser accepts exactly what JSON.parse accepts', () => {
  const plain = (value: unknown): unknown =>
    value instanceof Map
      ? Object.fromEntries(Array.from(value, ([name, inner]) => [name, plain(inner)]))
      : Array.isArray(value)
        ? value.map(plain)
        : value
  fc.assert(
    fc.property(fc.json({ maxDepth: 5, noUnicodeString: false }), text => {
      fc.pre(!/\\ud[89a-f]/i.test(text) && !text.includes('__proto__'))
      assert.deepEqual(plain(readJson(text)), JSON.parse(text))
    }),
    { numRuns: 300 },
  )
  const bad = ['01', '1.', '.5', '+1', 'NaN', '[1,]', '{"a":1,}', '{a:1}', "{'a':1}", '"\n"', '"\\x"', '"a', '[1 2]']
  for (const text of [...bad, '\ufeff{}', '{}{}', '"\\ud800"', 'nul', '']) refused(() => readJson(text))
  assert.match(
    refused(() => readJson('['.repeat(20_000))),
    /deeply/,
  )
})
