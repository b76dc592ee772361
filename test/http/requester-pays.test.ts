/** R7 and R8 on each of the six operations: the expected owner, and requester pays. */
import assert from 'node:assert/strict'
import { get, lockBucket, md5Header, outcome, put, text } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { begin, listOf, part } from './parts.ts'
import { type Client, inBoth, MAIN, OTHER, type Received, type Sending, type Served, type Who } from './server.ts'

type Headers = NonNullable<Sending['headers']>

const HOLD = '<LegalHold><Status>ON</Status></LegalHold>'

/** Each prepares its objects as the bucket's owner, and returns the request to send. */
const SIX: Readonly<Record<string, (client: Client, bucket: string) => Promise<Sending>>> = {
  CopyObject: async (_client, bucket) => ({
    ...{ method: 'PUT', bucket, path: '/copied' },
    headers: [[':copy-source', `${bucket}/k`]],
  }),
  CreateMultipartUpload: async (_client, bucket) => ({ method: 'POST', bucket, path: '/begun?uploads' }),
  async CompleteMultipartUpload(client, bucket) {
    const place = await begin(client, bucket, '/completed')
    const body = listOf([await part(client, place, 1, 'x')])
    return { method: 'POST', bucket, path: `/completed?uploadId=${place.id}`, body }
  },
  async AbortMultipartUpload(client, bucket) {
    const { id } = await begin(client, bucket, '/aborted')
    return { method: 'DELETE', bucket, path: `/aborted?uploadId=${id}` }
  },
  PutObjectAcl: async (_client, bucket) => ({
    ...{ method: 'PUT', bucket, path: '/k?acl' },
    headers: [[':acl', 'public-read']],
  }),
  PutObjectLegalHold: async (client, bucket) => ({
    ...{ method: 'PUT', bucket, path: '/k?legal-hold', body: HOLD },
    headers: [md5Header(HOLD), ...(client.dialect === 'svc' ? ([[':legal-hold', 'ON']] as const) : [])],
  }),
}

/** Everything that any of the six could have changed. */
async function stateOf({ parts }: Served, bucket: string): Promise<string> {
  const { items } = await parts.store.listing.versions({ bucket, limit: 1000 })
  const uploads = await parts.store.listing.uploads({ bucket, limit: 1000 })
  const versions = items.map(async ({ key, version: { id, marker } }) => {
    if (marker) return [key, id]
    const { lock, attributes } = await parts.store.objects.head({ bucket, key, versionId: id })
    return [key, id, lock, attributes.grants]
  })
  return JSON.stringify([await Promise.all(versions), uploads.items.map(({ id }) => id.toString('hex'))])
}

/** A bucket of MAIN's whose policy allows every caller everything. */
async function openBucket(client: Client): Promise<string> {
  const bucket = await lockBucket(client)
  const Resource = [`arn:svc:svc:::${bucket}`, `arn:svc:svc:::${bucket}/*`]
  const Statement = [{ Effect: 'Allow', Principal: '*', Action: 'svc:*', Resource }]
  const body = JSON.stringify({ Version: '2012-10-17', Statement })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
  await put(client, bucket, '/k')
  return bucket
}

async function letRequesterPay(client: Client, bucket: string): Promise<void> {
  const document = '<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>'
  assert.equal((await documentsOf(client, bucket, 'requestPayment').put(document)).status, 200)
}

const sendWith = (client: Client, sending: Sending, more: Headers, as: Who | null = MAIN): Promise<Received> =>
  client.send({ ...sending, headers: [...(sending.headers ?? []), ...more], as })

const PAYER: Headers = [[':request-payer', 'requester']]
const charged = (answer: Received): string | undefined => answer.own('request-charged')

const isDone = ({ status }: Received): boolean => status === 200 || status === 204

for (const [name, prepare] of Object.entries(SIX)) {
  inBoth(`R7 ${name}: another owner than the expected one is refused before any effect`, async (client, served) => {
    const bucket = await openBucket(client)
    const sending = await prepare(client, bucket)
    const before = await stateOf(served, bucket)
    const wrong = await sendWith(client, sending, [[':expected-bucket-owner', OTHER.accountId]])
    assert.equal(outcome(wrong), '403 AccessDenied')
    assert.equal(await stateOf(served, bucket), before)
    const right = await sendWith(client, sending, [[':expected-bucket-owner', MAIN.accountId]])
    assert(isDone(right), right.body.toString())
    assert.notEqual(await stateOf(served, bucket), before)
  })

  inBoth(`R8 ${name}: other accounts accept the charge and are charged, the owner never`, async (client, served) => {
    const bucket = await openBucket(client)
    const free = await sendWith(client, await prepare(client, bucket), PAYER, OTHER)
    assert(isDone(free), free.body.toString())
    assert.equal(charged(free), undefined, 'nobody pays here, whatever the header says')
    await letRequesterPay(client, bucket)
    const sending = await prepare(client, bucket)
    const before = await stateOf(served, bucket)
    for (const headers of [[], [[':request-payer', 'owner']], [[':request-payer', '']]] as Headers[]) {
      assert.equal(outcome(await sendWith(client, sending, headers, OTHER)), '403 AccessDenied')
    }
    assert.equal(outcome(await sendWith(client, sending, PAYER, null)), '403 AccessDenied', 'nobody cannot pay')
    assert.equal(await stateOf(served, bucket), before)
    const paid = await sendWith(client, sending, PAYER, OTHER)
    assert(isDone(paid), paid.body.toString())
    assert.equal(charged(paid), 'requester')
    const own = await sendWith(client, await prepare(client, bucket), [])
    assert(isDone(own), own.body.toString())
    assert.equal(charged(own), undefined)
  })
}

inBoth('R7 CopyObject: the expected owner of the source is checked too', async (client, served) => {
  const bucket = await openBucket(client)
  const sending = await SIX.CopyObject!(client, bucket)
  const before = await stateOf(served, bucket)
  const expecting = (source: string, target: string): Headers => [
    [':source-expected-bucket-owner', source],
    [':expected-bucket-owner', target],
  ]
  for (const [source, target] of [
    [OTHER.accountId, MAIN.accountId],
    [MAIN.accountId, OTHER.accountId],
  ] as const) {
    assert.equal(outcome(await sendWith(client, sending, expecting(source, target))), '403 AccessDenied')
  }
  assert.equal(await stateOf(served, bucket), before)
  assert.equal((await sendWith(client, sending, expecting(MAIN.accountId, MAIN.accountId))).status, 200)
})

inBoth('R8 CopyObject: a charge for the source is reported, even when copying to an own bucket', async client => {
  const bucket = await openBucket(client)
  await letRequesterPay(client, bucket)
  const theirs = 'their-bucket'
  assert.equal((await client.send({ method: 'PUT', bucket: theirs, path: '/', as: OTHER })).status, 200)
  const sending: Sending = { method: 'PUT', bucket: theirs, path: '/k', headers: [[':copy-source', `${bucket}/k`]] }
  assert.equal(outcome(await sendWith(client, sending, [], OTHER)), '403 AccessDenied')
  const paid = await sendWith(client, sending, PAYER, OTHER)
  assert.equal(paid.status, 200, paid.body.toString())
  assert.equal(charged(paid), 'requester')
  const begun = await client.send({ method: 'POST', bucket: theirs, path: '/u?uploads', as: OTHER })
  const path = `/u?partNumber=1&uploadId=${text(begun.xml(), 'UploadId')}`
  const copied = await sendWith(client, { ...sending, path }, PAYER, OTHER)
  assert.deepEqual([copied.status, charged(copied)], [200, 'requester'])
})

inBoth('R8 GetObject: the payer may be named in the query', async client => {
  const bucket = await openBucket(client)
  await letRequesterPay(client, bucket)
  const path = `/k?${client.name(':request-payer')}=requester`
  const paid = await client.send({ method: 'GET', bucket, path, as: OTHER })
  assert.deepEqual([paid.status, charged(paid)], [200, 'requester'])
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 403)
  assert.equal(charged(await get(client, bucket, '/k')), undefined)
})
