/** Forms signed with Signature Version 2, as boto3's `generate_presigned_post` makes them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureV2 } from '../specimens/signature-v2.ts'
import { get, outcome } from './actions.ts'
import { detail, expectFault } from './parts.ts'
import { type Client, MAIN, makeBucket, type Received, withServer } from './server.ts'

const BUCKET = 'test-bucket'
const BOUNDARY = 'form-boundary'

type Fields = Readonly<Record<string, string>>

function post(client: Client, fields: Fields): Promise<Received> {
  const parts = Object.entries({ ...fields, file: 'hello' }).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const headers = [['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`]] as const
  const body = `${parts.join('')}--${BOUNDARY}--\r\n`
  return client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers, as: null })
}

/** The fields of a form, with a policy that names them, and its signature. */
function signed(client: Client, fields: Fields, more: Fields = {}): Fields {
  const named = Object.entries(fields).map(([name, value]) => ({ [name]: value }))
  const expiration = new Date(client.clock.now() + 60_000).toISOString()
  const document = JSON.stringify({ expiration, conditions: [{ bucket: BUCKET }, ...named] })
  const policy = Buffer.from(document).toString('base64')
  const signature = signatureV2(MAIN.secretKey, policy)
  return { ...fields, AWSAccessKeyId: MAIN.accessKey, policy, signature, ...more }
}

const served = (run: (client: Client) => Promise<void>, options: Parameters<typeof withServer>[1] = {}) =>
  withServer(async ({ s3 }) => {
    await makeBucket(s3, BUCKET)
    await run(s3)
  }, options)

test('s3: D31 PostObject: a form of Signature Version 2 stores its file as its fields say', () =>
  served(async client => {
    const fields = { key: 'up/a.txt', 'Content-Type': 'text/plain', 'x-amz-meta-colour': 'blue', acl: 'public-read' }
    assert.equal(outcome(await post(client, signed(client, fields))), '204')
    const stored = await get(client, BUCKET, '/up/a.txt')
    assert.deepEqual([stored.body.toString(), stored.headers.get('content-type')], ['hello', 'text/plain'])
    assert.equal(stored.own('meta-colour'), 'blue')
    // boto3's form has no dialect field: only the signature shows the dialect.
    const plain = await post(client, signed(client, { key: 'plain', success_action_status: '201' }))
    assert.deepEqual([plain.status, plain.xml().name], [201, 'PostResponse'])
    assert(plain.headers.has('x-amz-request-id'))
    assert.equal(outcome(await post(client, { ...signed(client, { key: 'k' }), 'x-ignore-this': 'y' })), '204')
  }))

test('s3: D31 PostObject: an invalid form is refused with its reason, and nothing is stored', () =>
  served(async client => {
    const key = { key: 'k' }
    const cases: readonly (readonly [Fields, number, string])[] = [
      [signed(client, key, { signature: signatureV2('guess', 'policy') }), 403, 'SignatureDoesNotMatch'],
      [signed(client, key, { signature: 'short' }), 403, 'SignatureDoesNotMatch'],
      [signed(client, key, { AWSAccessKeyId: 'AKNOBODY' }), 403, 'InvalidAccessKeyId'],
      [signed(client, key, { acl: 'public-read' }), 403, 'AccessDenied'],
      [signed(client, key, { 'x-amz-security-token': 't' }), 400, 'InvalidToken'],
      [signed(client, { ...key, bucket: 'other-bucket' }), 403, 'AccessDenied'],
    ]
    for (const [fields, status, code] of cases) expectFault(await post(client, fields), status, code)
    for (const gone of ['policy', 'signature', 'AWSAccessKeyId']) {
      const rest = Object.fromEntries(Object.entries(signed(client, key)).filter(([name]) => name !== gone))
      const answer = await post(client, rest)
      expectFault(answer, 400, 'InvalidArgument')
      assert.equal(detail(answer, 'ArgumentName'), gone)
    }
    const early = signed(client, key)
    client.clock.move(60_000)
    expectFault(await post(client, early), 403, 'AccessDenied')
    assert.equal((await get(client, BUCKET, '/k')).status, 404)
  }))

test('s3: D31 PostObject: with --no-sigv2 such a form is refused with the scheme to use', () =>
  served(
    async client => {
      const answer = await post(client, signed(client, { key: 'k' }))
      expectFault(answer, 400, 'InvalidRequest')
      assert.match(detail(answer, 'Message'), /Please use AWS4-HMAC-SHA256\./)
    },
    { sigV2: false },
  ))

test('svc: D31 PostObject: svc forms are never signed with Signature Version 2', () =>
  served(async client => {
    const answer = await post(client, signed(client, { key: 'k', 'x-svc-meta-a': 'b' }))
    expectFault(answer, 403, 'InvalidRequest')
    assert.match(detail(answer, 'Message'), /Please use SVC4-HMAC-SHA256\./)
  }))
