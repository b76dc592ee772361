import assert from 'node:assert/strict'
import { documentSuite, documentsOf, shown } from './bucket-documents.ts'
import { inBoth, makeBucket } from './server.ts'

const rule = (inside: string): string =>
  `<ServerSideEncryptionConfiguration><Rule>${inside}</Rule></ServerSideEncryptionConfiguration>`
const byDefault = (algorithm: string, more = ''): string =>
  '<ApplyServerSideEncryptionByDefault>' +
  `<SSEAlgorithm>${algorithm}</SSEAlgorithm>${more}</ApplyServerSideEncryptionByDefault>`

documentSuite('BucketEncryption (GetBucketEncryption, PutBucketEncryption, DeleteBucketEncryption)', {
  query: 'encryption',
  good: rule(`${byDefault('AES256')}<BucketKeyEnabled>false</BucketKeyEnabled>`),
  absent: 'ServerSideEncryptionConfigurationNotFoundError',
  removable: true,
  bad: [
    ['no rule', '<ServerSideEncryptionConfiguration/>', 'MalformedXML'],
    ['an empty rule', rule(''), 'MalformedXML'],
    ['unknown algorithm', rule(byDefault('ROT13')), 'MalformedXML'],
    ['a key for AES256', rule(byDefault('AES256', '<KMSMasterKeyID>k</KMSMasterKeyID>')), 'InvalidArgument'],
    ['an empty key', rule(byDefault('verenc', '<KMSMasterKeyID></KMSMasterKeyID>')), 'InvalidArgument'],
    ...['&#10;', '&#13;', '&#127;'].map(
      letter =>
        [
          `a key with ${letter}`,
          rule(byDefault('verenc', `<KMSMasterKeyID>a${letter}b</KMSMasterKeyID>`)),
          'InvalidArgument',
        ] as const,
    ),
    ['a flag that is none', rule(`${byDefault('AES256')}<BucketKeyEnabled>maybe</BucketKeyEnabled>`), 'MalformedXML'],
  ],
})

inBoth('R22 PutBucketEncryption: each dialect reads the algorithm under its own name', async (_, { svc, s3 }) => {
  const bucket = await makeBucket(svc)
  const [native, foreign] = [documentsOf(svc, bucket, 'encryption'), documentsOf(s3, bucket, 'encryption')]
  const blocked = '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>'
  const key = '<KMSMasterKeyID>my-key</KMSMasterKeyID>'
  assert.equal((await foreign.put(rule(byDefault('aws:kms', key) + blocked))).status, 200)
  assert.equal(shown(await foreign.get()), rule(byDefault('aws:kms', key) + blocked))
  assert.equal(shown(await native.get()), rule(byDefault('verenc', key) + blocked))
  assert.equal((await foreign.put(rule(byDefault('aws:kms:dsse')))).status, 200)
  assert.equal(shown(await foreign.get()), rule(byDefault('aws:kms:dsse')))
  assert.equal(shown(await native.get()), rule(byDefault('verenc')))
})

inBoth('R22 PutBucketEncryption: a stored key name that no header can carry is not sent', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await documentsOf(client, bucket, 'encryption').put(rule(byDefault('AES256')))
  const stored = rule(byDefault('verenc', '<KMSMasterKeyID>a&#10;b</KMSMasterKeyID>'))
  await parts.store.documents.put(bucket, 'encryption', stored)
  assert.match(shown(await documentsOf(client, bucket, 'encryption').get()), /<KMSMasterKeyID>a&#xA;b</)
  const named = client.dialect === 'svc' ? 'verenc' : 'aws:kms'
  for (const method of ['PUT', 'GET', 'HEAD']) {
    const answer = await client.send({ method, bucket, path: '/k', ...(method === 'PUT' ? { body: 'text' } : {}) })
    assert.equal(answer.status, 200, method)
    assert.equal(answer.own('server-side-encryption'), named, method)
    assert.deepEqual(
      [...answer.headers.keys()].filter(name => name.endsWith('key-id')),
      [],
      method,
    )
    if (method === 'GET') assert.equal(answer.body.toString(), 'text')
  }
})
