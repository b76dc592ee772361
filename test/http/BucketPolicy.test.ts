import assert from 'node:assert/strict'
import { documentsOf, faultIs } from './bucket-documents.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

const statement = (bucket: string, more: object = {}): object => ({
  Effect: 'Allow',
  Principal: { SVC: OTHER.accountId },
  Action: 'svc:GetObject',
  Resource: `arn:svc:svc:::${bucket}/*`,
  ...more,
})
const policy = (...statements: object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements }, undefined, 2)

inBoth('R12 PutBucketPolicy, GetBucketPolicy, DeleteBucketPolicy: exact text, effective immediately', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const at = documentsOf(client, bucket, 'policy')
  const get = () => client.send({ method: 'GET', bucket, path: '/k', as: OTHER })
  faultIs(await at.get(), 404, 'NoSuchBucketPolicy')
  assert.equal((await get()).status, 403)
  const text = policy(statement(bucket))
  // A policy needs no checksum of its body.
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body: text })).status, 204)
  const got = await at.get()
  assert.equal(got.status, 200)
  assert.equal(got.body.toString(), text)
  assert.equal(got.headers.get('content-type'), 'application/json')
  assert.equal((await get()).status, 200)
  assert.equal((await at.remove()).status, 204)
  faultIs(await at.get(), 404, 'NoSuchBucketPolicy')
  assert.equal((await get()).status, 403)
  assert.equal((await at.remove()).status, 204)
})

inBoth('A67 PutBucketPolicy: a refused policy changes nothing', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  const good = policy(statement(bucket))
  await at.put(good)
  for (const bad of [
    '',
    '{',
    '[]',
    '<Policy/>',
    policy(statement('another-bucket')),
    policy(statement(bucket, { Effect: 'Maybe' })),
    policy(statement(bucket, { Principal: undefined })),
    policy(statement(bucket, { Principal: undefined, NotPrincipal: { SVC: OTHER.accountId } })),
    good.replace('"Effect": "Allow"', '"Effect": "Allow", "Effect": "Deny"'),
    good.replace('"Effect"', '"__proto__": {}, "Effect"'),
    policy(statement(bucket, { Sid: 'x'.repeat(20_480) })),
  ]) {
    faultIs(await at.put(bad), 400, 'MalformedPolicy')
  }
  const large = await at.put(`{${' '.repeat(2 ** 20)}}`)
  faultIs(large, 400, 'MaxMessageLengthExceeded')
  assert.equal((await at.get()).body.toString(), good)
})

inBoth('G8 PutBucketPolicy: the bucket owner can always replace a policy, others need permission', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  const everything = { Effect: 'Deny', Principal: '*', Action: '*' }
  const resources = [`arn:svc:svc:::${bucket}`, `arn:svc:svc:::${bucket}/*`]
  assert.equal((await at.put(policy(statement(bucket, { ...everything, Resource: resources })))).status, 204)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/' })).status, 403)
  for (const as of [OTHER, READER, null]) {
    faultIs(await at.get(as), 403, 'AccessDenied')
    faultIs(await at.put('{}', as), 403, 'AccessDenied')
    faultIs(await at.remove(as), 403, 'AccessDenied')
  }
  assert.equal((await at.get()).status, 200)
  assert.equal((await at.remove()).status, 204)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/' })).status, 200)
})

inBoth('G8 GetBucketPolicyStatus: reports whether the policy is public', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  const status = documentsOf(client, bucket, 'policyStatus')
  faultIs(await status.get(), 404, 'NoSuchBucketPolicy')
  for (const [principal, isPublic] of [
    [{ SVC: OTHER.accountId }, 'false'],
    ['*', 'true'],
  ] as const) {
    await at.put(policy(statement(bucket, { Principal: principal })))
    const root = (await status.get()).xml()
    assert.deepEqual(
      [root.name, root.children[0]?.name, root.children[0]?.text],
      ['PolicyStatus', 'IsPublic', isPublic],
    )
  }
  assert.equal((await status.put('x')).status, 405)
})

const inDialect = (dialect: string, key: string): string =>
  dialect === 's3' ? key : key.replace(/^(?:aws|s3):/, 'svc:').replace(':x-amz-', ':x-svc-')

inBoth('G8 G2 PutBucketPolicy: keys, principals and actions that S3 documents are accepted', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  for (const [key, operator, value] of [
    ['aws:PrincipalOrgID', 'StringEquals', 'o-1'],
    ['aws:SourceVpce', 'StringNotEquals', 'vpce-1'],
    ['aws:PrincipalTag/Team', 'StringLike', 'red*'],
    ['aws:MultiFactorAuthPresent', 'BoolIfExists', 'true'],
    ['aws:RequestedRegion', 'StringEquals', 'us-east-1'],
    ['aws:CalledVia', 'ForAnyValue:StringEquals', 'athena.amazonaws.com'],
    ['s3:TlsVersion', 'NumericLessThan', '1.2'],
    ['s3:signatureAge', 'NumericGreaterThan', '600000'],
    ['s3:ObjectCreationOperation', 'Bool', 'true'],
    ['s3:DataAccessPointAccount', 'StringEquals', '111111111111'],
    ['s3:BucketTag/Team', 'StringEquals', 'red'],
    ['s3:x-amz-bucket-namespace', 'StringEquals', 'x'],
  ] as const) {
    const condition = { [operator]: { [inDialect(client.dialect, key)]: value } }
    const answer = await at.put(policy(statement(bucket, { Condition: condition })))
    assert.equal(answer.status, 204, `${key} ${answer.body}`)
  }
  const arn = `arn:aws:iam::${OTHER.accountId}`
  for (const principal of [
    { AWS: `${arn}:role/writers` },
    { Federated: `${arn}:saml-provider/corp` },
    { Service: 'cloudtrail.amazonaws.com' },
    { CanonicalUser: OTHER.canonicalId },
  ])
    assert.equal((await at.put(policy(statement(bucket, { Principal: principal })))).status, 204)
  assert.equal((await at.put(policy(statement(bucket, { Action: 's3:RestoreObject' })))).status, 204)
  const before = (await at.get()).body.toString()
  for (const bad of [
    { Condition: { StringEquals: { 'aws:Nothing': 'x' } } },
    { Principal: { Federated: '*' } },
    { Action: 's3:Nothing' },
    { Action: 's3:ListBucket' },
    { Resource: `arn:aws:s3:::${bucket}` },
  ])
    faultIs(await at.put(policy(statement(bucket, bad))), 400, 'MalformedPolicy')
  const unfit = await at.put(policy(statement(bucket, { Action: ['s3:GetObject', 's3:ListBucket'] })))
  assert.match(unfit.body.toString(), /<Message>Action does not apply to any resource\(s\) in statement<\/Message>/)
  assert.equal((await at.get()).body.toString(), before)
})

inBoth('G8: a stored policy whose action matches no resource stays in force', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const old = policy(statement(bucket, { Action: ['svc:GetObject', 'svc:ListBucket'] }))
  await parts.store.documents.put(bucket, 'policy', old)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/', as: OTHER })).status, 403)
})
