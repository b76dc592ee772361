/** A35 over HTTP: names that look like others. D11: faults of authentication. */
import assert from 'node:assert/strict'
import { SCHEMES } from '../../src/auth/signing.ts'
import { type Headers, makeUser, outcome, put } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Who } from './server.ts'

const KELVIN = '\u212a'
const CYRILLIC_A = '\u0430'

const statement = (bucket: string, more: object): object => ({
  Effect: 'Deny',
  Principal: '*',
  Action: 'svc:GetObject',
  Resource: `arn:svc:svc:::${bucket}/*`,
  ...more,
})

inBoth('A35: denials apply to the principals they name, not to similar names', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  await put(client, bucket, '/K')
  const kate = await makeUser(parts, OTHER, 'kate', [{ Effect: 'Allow', Action: '*', Resource: '*' }])
  const at = documentsOf(client, bucket, 'policy')
  const open = { ...statement(bucket, {}), Effect: 'Allow' }
  const reads = async (path: string, as: Who | null): Promise<boolean> =>
    (await client.send({ method: 'GET', bucket, path, as })).status === 200
  const arn = (name: string): object => ({ SVC: `arn:svc:iam::${OTHER.accountId}:user/${name}` })
  const resource = (key: string): object => ({ Resource: `arn:aws:s3:::${bucket}/${key}` })
  const not = (who: object): object => ({ Principal: undefined, NotPrincipal: who })
  for (const [more, kateReads, otherReads, anyoneReads] of [
    [{ Principal: arn('kate') }, false, true, true],
    [{ Principal: arn('Kate') }, true, true, true],
    [{ Principal: arn(`${KELVIN}ate`) }, true, true, true],
    [{ Principal: arn(`k${CYRILLIC_A}te`) }, true, true, true],
    [{ Principal: { AWS: OTHER.accountId } }, false, false, true],
    [{ Principal: { CanonicalUser: OTHER.canonicalId } }, false, false, true],
    [{ Action: 'S3:gEtObJeCt' }, false, false, false],
    [{ Action: 'svc:GetObject?*' }, true, true, true],
    [{ Action: undefined, NotAction: 'svc:PutObject' }, false, false, false],
    [{ Action: undefined, NotAction: 'svc:Get*' }, true, true, true],
    [resource('k'), false, false, false],
    [resource('K'), true, true, true],
    [resource(KELVIN), true, true, true],
    [resource('?'), false, false, false],
    [{ Resource: undefined, NotResource: `arn:svc:svc:::${bucket}/k` }, true, true, true],
    [{ Resource: undefined, NotResource: `arn:svc:svc:::${bucket}/K` }, false, false, false],
    [not(arn('kate')), true, false, false],
    [not({ AWS: OTHER.accountId }), true, true, false],
    [not(arn('Kate')), false, false, false],
  ] as const) {
    const body = JSON.stringify({ Version: '2012-10-17', Statement: [open, statement(bucket, more)] })
    assert.equal((await at.put(body)).status, 204, body)
    const found = [await reads('/k', kate), await reads('/k', OTHER), await reads('/k', null)]
    assert.deepEqual(found, [kateReads, otherReads, anyoneReads], JSON.stringify(more))
  }
})

inBoth('A35: unknown principals, actions and resources are refused', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  const fullWidth = OTHER.accountId.replaceAll('2', '\uff12')
  for (const more of [
    { Principal: { SVC: fullWidth } },
    { Principal: { SVC: `${OTHER.accountId}0` } },
    { Principal: { SVC: `arn:svc:iam::${OTHER.accountId}:user/*` } },
    { Principal: { SVC: `arn:svc:iam::${OTHER.accountId}:user/k?te` } },
    { Principal: { SVC: `ARN:svc:iam::${OTHER.accountId}:root` } },
    { Principal: { SVC: `arn:svc:iam::${OTHER.accountId}:root ` } },
    { Principal: { svc: OTHER.accountId } },
    { Principal: { CanonicalUser: OTHER.canonicalId.toUpperCase() } },
    { Principal: {} },
    { Effect: 'Allow', Principal: undefined, NotPrincipal: { SVC: OTHER.accountId } },
    { Effect: 'deny' },
    { Action: 'GetObject' },
    { Action: `svc:Get${CYRILLIC_A}bject` },
    { Action: 'iam:GetObject' },
    { Resource: `arn:svc:svc:::${bucket.toUpperCase()}/*` },
    { Resource: `arn:svc:svc:::${bucket}x/*` },
    { Resource: `${bucket}/*` },
  ]) {
    const body = JSON.stringify({ Version: '2012-10-17', Statement: [statement(bucket, more)] })
    assert.equal(outcome(await at.put(body)), '400 MalformedPolicy', body)
  }
  assert.equal(outcome(await at.get()), '404 NoSuchBucketPolicy')
})

/** The response to a request without a valid signature. */
async function told(client: Client, bucket: string, path: string, headers: Headers): Promise<string> {
  const answer = await client.send({ method: 'GET', bucket, path, headers, as: null })
  return outcome(answer)
}

inBoth('D11 R9: a malformed signature is 403 in svc and 400 in s3', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const { algorithm, service, terminator } = SCHEMES[client.dialect]
  const X = client.dialect === 'svc' ? 'X-Svc-' : 'X-Amz-'
  const day = new Date(client.clock.now()).toISOString().slice(0, 10).replaceAll('-', '')
  const credential = `${MAIN.accessKey}/${day}/us-east-1/${service}/${terminator}`
  const status = client.dialect === 'svc' ? 403 : 400
  const signed = (value: string): Headers => [
    ['Authorization', value],
    [':date', `${day}T000000Z`],
    [':content-sha256', 'UNSIGNED-PAYLOAD'],
  ]
  const names = ['host', client.name(':content-sha256'), client.name(':date')].join(';')
  const good = `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${'0'.repeat(64)}`
  for (const value of [
    `${algorithm} nonsense`,
    `${algorithm} Credential=${credential}`,
    good.replace(day, '20200101'),
    good.replace(terminator, 'other_request'),
  ]) {
    assert.equal(await told(client, bucket, '/k', signed(value)), `${status} AuthorizationHeaderMalformed`, value)
  }
  const query = (more: string): string => `/k?${X}Algorithm=${algorithm}&${more}`
  for (const path of [
    query(''),
    query(`${X}Credential=${credential.replaceAll('/', '%2F')}`),
    query(`${X}Expires=x`),
  ]) {
    assert.equal(await told(client, bucket, path, []), `${status} AuthorizationQueryParametersError`, path)
  }
  // Well-formed but wrong credentials are forbidden in both dialects.
  for (const [headers, wanted] of [
    [[], 'AccessDenied'],
    [signed(good.replace(MAIN.accessKey, 'AKNOBODY')), 'InvalidAccessKeyId'],
    [signed(good), 'SignatureDoesNotMatch'],
  ] as const) {
    assert.equal(await told(client, bucket, '/k', headers), `403 ${wanted}`)
  }
})
