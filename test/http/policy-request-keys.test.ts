/** Condition keys with values from the signature, the connection, the region and the kind of request. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request as secureRequest } from 'node:https'
import { test } from 'node:test'
import { SCHEMES } from '../../src/auth/signing.ts'
import { FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import { type Pair, type Signer, signedByQuery } from '../specimens/signing.ts'
import { type Headers, makeUser, outcome, put } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { textAt } from './parts.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket, withServer } from './server.ts'
import { exchange } from './wire.ts'

const BUCKET = 'test-bucket'

/** Sets a policy that denies one action under a condition. */
async function deny(client: Client, action: string, condition: object): Promise<void> {
  const statement = { Effect: 'Deny', Principal: '*', Action: action, Resource: `arn:aws:s3:::${BUCKET}/*` }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: { ...statement, Condition: condition } })
  assert.equal((await documentsOf(client, BUCKET, 'policy').put(body)).status, 204)
}

const signerAt = (client: Client, now: number): Signer => ({
  scheme: SCHEMES[client.dialect],
  ...MAIN,
  region: 'us-east-1',
  now,
})

/** The target of a presigned URL, signed this many milliseconds ago. */
function link(client: Client, ago = 0, target = '/k'): string {
  const plain = { method: 'GET', target, headers: [['Host', `${BUCKET}.${BASE_HOST}`]] as Pair[] }
  const signed = signedByQuery(signerAt(client, client.clock.now() - ago), plain, {
    contentHash: undefined,
    seconds: 600,
  })
  return signed.request.target
}

const useLink = async (client: Client, ago: number, target = '/k'): Promise<number | undefined> =>
  (await exchange(client.port, `GET ${link(client, ago, target)} HTTP/1.1\r\nHost: ${BUCKET}.${BASE_HOST}\r\n\r\n`))
    ?.status

async function postForm(client: Client, ago: number): Promise<number> {
  const signer = signerAt(client, client.clock.now() - ago)
  const fields = signedFields(signer, { bucket: BUCKET, fields: [['key', 'k']], until: client.clock.now() + 60_000 })
  const body = formBody(fields, Buffer.from('x'))
  const answer = await client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers: [FORM_TYPE], as: null })
  return answer.status
}

inBoth('G8 policies: the age of a signature in a header, a presigned URL and a form', async client => {
  await makeBucket(client, BUCKET)
  await put(client, BUCKET, '/k')
  const tooOld = { NumericGreaterThan: { 's3:signatureAge': '60000' } }
  await deny(client, 's3:*', tooOld)
  assert.deepEqual([await useLink(client, 60_000), await useLink(client, 61_000)], [200, 403])
  assert.deepEqual([await postForm(client, 60_000), await postForm(client, 61_000)], [204, 403])
  // The date of the other dialect may be signed as well, and says nothing about this signature.
  const other = client.dialect === 'svc' ? 'X-Amz-Date' : 'X-Svc-Date'
  for (const forged of ['20991231T000000Z', '19700101T000000Z']) {
    const target = `/k?${other}=${forged}`
    assert.deepEqual([await useLink(client, 60_000, target), await useLink(client, 61_000, target)], [200, 403], forged)
  }
  // A date beside the signature is not the signed one.
  const stamp = new Date(client.clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const dated = `${client.name(':date')}: ${stamp}\r\n`
  const request = `GET ${link(client, 61_000)} HTTP/1.1\r\nHost: ${BUCKET}.${BASE_HOST}\r\n${dated}\r\n`
  assert.equal((await exchange(client.port, request))?.status, 403)
  const read = async (): Promise<number> => (await client.send({ method: 'GET', bucket: BUCKET, path: '/k' })).status
  assert.equal(await read(), 200)
  await deny(client, 's3:GetObject', { NumericLessThan: { 'svc:signatureAge': '1000' } })
  assert.equal(await read(), 403)
  // An unsigned request has no signature age.
  await put(client, BUCKET, '/public', 'x', [[':acl', 'public-read']])
  await deny(client, 's3:GetObject', { Null: { 's3:signatureAge': 'false' } })
  assert.equal((await client.send({ method: 'GET', bucket: BUCKET, path: '/public', as: null })).status, 200)
  assert.equal(await read(), 403)
})

test('D31 G8 policies: a Signature Version 2 has no age, whatever date is sent', () =>
  withServer(async ({ s3 }) => {
    await makeBucket(s3, BUCKET)
    await put(s3, BUCKET, '/k')
    const expires = Math.floor(s3.clock.now() / 1000) + 600
    const mac = createHmac('sha1', MAIN.secretKey).update(`GET\n\n\n${expires}\n/${BUCKET}/k`).digest('base64')
    const signed = `AWSAccessKeyId=${MAIN.accessKey}&Expires=${expires}&Signature=${encodeURIComponent(mac)}`
    const stamp = new Date(s3.clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, '')
    const use = async (target: string): Promise<number | undefined> =>
      (await exchange(s3.port, `GET ${target} HTTP/1.1\r\nHost: ${BUCKET}.${BASE_HOST}\r\n\r\n`))?.status
    const dated = `/k?${signed}&X-Amz-Date=${stamp}`
    // The header is not signed, so it cannot make a presigned URL look younger.
    assert.deepEqual([await use(`/k?${signed}`), await use(dated)], [200, 403])
    await deny(s3, 's3:GetObject', { Null: { 's3:signatureAge': 'true' } })
    assert.equal(await use(`/k?${signed}`), 403)
    assert.equal(await use(link(s3)), 200)
  }))

type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

const overTls = (port: number, path: string, version: TlsVersion): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { host: `${BUCKET}.${BASE_HOST}` }
    const to = { port, host: '127.0.0.1', path, headers, agent: false, rejectUnauthorized: false } as const
    const asked = secureRequest({ ...to, minVersion: version, maxVersion: version }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.on('error', reject)
    asked.end()
  })

test('G8 policies: the TLS version, which is absent without TLS', async () => {
  const restricted = { NumericLessThan: { 's3:TlsVersion': '1.3' } }
  await withServer(
    async ({ s3, parts: { store } }) => {
      await store.buckets.create({
        name: BUCKET,
        owner: MAIN.canonicalId,
        lockEnabled: false,
        grants: [],
        ownership: undefined,
        documents: [],
      })
      const Statement = [
        { Effect: 'Allow', Principal: '*', Action: 's3:ListBucket', Resource: `arn:aws:s3:::${BUCKET}` },
        { Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: `arn:aws:s3:::${BUCKET}`, Condition: restricted },
      ]
      await store.documents.put(BUCKET, 'policy', JSON.stringify({ Version: '2012-10-17', Statement }))
      const found = [await overTls(s3.port, '/', 'TLSv1.2'), await overTls(s3.port, '/', 'TLSv1.3')]
      // Bun does not expose the negotiated version, so the key is absent there.
      assert.deepEqual(found, [process.versions.bun === undefined ? 403 : 200, 200])
    },
    { certificate: TEST_CERTIFICATE },
  )
  await withServer(async ({ s3 }) => {
    await makeBucket(s3, BUCKET)
    await put(s3, BUCKET, '/k')
    for (const [condition, status] of [
      [restricted, 200],
      [{ Null: { 'svc:TlsVersion': 'true' } }, 403],
    ] as const) {
      await deny(s3, 's3:GetObject', condition)
      assert.equal((await s3.send({ method: 'GET', bucket: BUCKET, path: '/k' })).status, status)
    }
  })
})

inBoth('G8 policies: the requested region', async client => {
  await makeBucket(client, BUCKET)
  await put(client, BUCKET, '/k')
  for (const [region, status] of [
    ['us-east-1', 403],
    ['eu-west-1', 200],
  ] as const) {
    await deny(client, 's3:GetObject', { StringEquals: { 'aws:RequestedRegion': region } })
    assert.equal((await client.send({ method: 'GET', bucket: BUCKET, path: '/k' })).status, status, region)
  }
})

inBoth(
  'G8 policies: conditional writes are enforced where an object is created, and uploads still work',
  async client => {
    await makeBucket(client, BUCKET)
    await put(client, BUCKET, '/source')
    await deny(client, 's3:PutObject', {
      Null: { 's3:if-none-match': 'true' },
      Bool: { 's3:ObjectCreationOperation': 'true' },
    })
    const send = (method: string, path: string, headers: Headers = [], body = 'x') =>
      client.send({ method, bucket: BUCKET, path, headers, ...(method === 'PUT' || body !== 'x' ? { body } : {}) })
    const isNew: Headers = [['If-None-Match', '*']]
    assert.equal(outcome(await send('PUT', '/k')), '403 AccessDenied')
    assert.equal((await send('PUT', '/k', isNew)).status, 200)
    const copied: Headers = [[':copy-source', `${BUCKET}/source`]]
    assert.equal(outcome(await send('PUT', '/copy', copied, '')), '403 AccessDenied')
    assert.equal((await send('PUT', '/copy', [...copied, ...isNew], '')).status, 200)
    const begun = await send('POST', '/parts?uploads')
    assert.equal(begun.status, 200, begun.body.toString())
    const upload = `/parts?uploadId=${textAt(begun.xml(), 'UploadId')}`
    assert.equal((await send('PUT', `${upload}&partNumber=2`, copied, '')).status, 200)
    const part = await send('PUT', `${upload}&partNumber=1`)
    assert.equal(part.status, 200)
    const listed = `<Part><PartNumber>1</PartNumber><ETag>${part.headers.get('etag')}</ETag></Part>`
    const list = `<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`
    assert.equal(outcome(await send('POST', upload, [], list)), '403 AccessDenied')
    assert.equal((await send('POST', upload, isNew, list)).status, 200)
    assert.equal(await postForm(client, 0), 403)
    // The key is absent from requests that do not create objects.
    await deny(client, 's3:GetObject', { Null: { 's3:ObjectCreationOperation': 'false' } })
    assert.equal((await send('GET', '/k')).status, 200)
  },
)

inBoth('G8 policies: the tags of a new bucket', async (client, { parts }) => {
  const rule = { Effect: 'Allow', Action: ['s3:CreateBucket', 's3:PutBucketTagging'], Resource: '*' }
  const red = { StringEquals: { 'aws:RequestTag/team': 'red' } }
  const onlyTeam = { 'ForAllValues:StringEquals': { 'aws:TagKeys': ['team'] } }
  const user = await makeUser(parts, MAIN, 'maker', [
    { ...rule, Condition: { StringEquals: red.StringEquals, ...onlyTeam } },
  ])
  const create = async (name: string, ...tags: readonly Pair[]): Promise<number> => {
    const all = tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('')
    const body = `<CreateBucketConfiguration><Tags>${all}</Tags></CreateBucketConfiguration>`
    const asked = { method: 'PUT', bucket: name, path: '/', ...(tags.length === 0 ? {} : { body }) }
    return (await client.send({ ...asked, as: user })).status
  }
  assert.equal(await create('without-tags'), 403)
  assert.equal(await create('blue-bucket', ['team', 'blue']), 403)
  assert.equal(await create('more-tags', ['team', 'red'], ['cost', '1']), 403)
  assert.equal(await create('red-bucket', ['team', 'red']), 200)
  for (const name of ['without-tags', 'blue-bucket', 'more-tags'])
    assert.equal((await client.send({ method: 'HEAD', bucket: name, path: '/' })).status, 404)
})
