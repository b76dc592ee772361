import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs } from './bucket-documents.ts'
import { inBoth, makeBucket, OTHER } from './server.ts'

const payer = (who: string): string =>
  `<RequestPaymentConfiguration><Payer>${who}</Payer></RequestPaymentConfiguration>`

documentSuite('BucketRequestPayment (GetBucketRequestPayment, PutBucketRequestPayment)', {
  query: 'requestPayment',
  good: payer('Requester'),
  absent: { document: payer('BucketOwner') },
  removable: false,
  bad: [
    ['nobody', '<RequestPaymentConfiguration/>', 'MalformedXML'],
    ['somebody else', payer('Somebody'), 'MalformedXML'],
  ],
})

inBoth('R8 PutBucketRequestPayment: requesters must accept the charge, the owner never', async client => {
  const bucket = await makeBucket(client, 'paying', [[':acl', 'public-read']])
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers: [[':acl', 'public-read']] })
  const get = (as: typeof OTHER | null, headers: [string, string][] = []) =>
    client.send({ method: 'GET', bucket, path: '/k', as, headers })
  assert.equal((await get(OTHER)).status, 200)
  assert.equal((await documentsOf(client, bucket, 'requestPayment').put(payer('Requester'))).status, 200)
  faultIs(await get(OTHER), 403, 'AccessDenied')
  faultIs(await get(null), 403, 'AccessDenied')
  const paid = await get(OTHER, [[':request-payer', 'requester']])
  assert.equal(paid.status, 200)
  assert.equal(paid.own('request-charged'), 'requester')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).own('request-charged'), undefined)
})
