import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs, shown } from './bucket-documents.ts'
import { begin, finish, part } from './parts.ts'
import { inBoth, makeBucket } from './server.ts'

const status = (word: string): string => `<VersioningConfiguration><Status>${word}</Status></VersioningConfiguration>`

documentSuite('BucketVersioning (GetBucketVersioning, PutBucketVersioning)', {
  query: 'versioning',
  signedHashProves: true,
  good: status('Enabled'),
  absent: { document: '<VersioningConfiguration></VersioningConfiguration>' },
  removable: false,
  bad: [
    ['no status', '<VersioningConfiguration/>', 'IllegalVersioningConfigurationException'],
    ['another status', status('Off'), 'MalformedXML'],
    ['two', status('Enabled</Status><Status>Suspended'), 'MalformedXML'],
  ],
})

inBoth('R18 PutBucketVersioning: enabled, suspended, enabled again; unsupported states are refused', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'versioning')
  const versionOf = async (): Promise<string | undefined> =>
    (await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })).own('version-id')
  assert.equal(await versionOf(), undefined)
  await at.put(status('Enabled'))
  assert.notEqual(await versionOf(), undefined)
  await at.put(status('Suspended'))
  assert.equal(shown(await at.get()), status('Suspended'))
  assert.equal(await versionOf(), client.dialect === 'svc' ? 'null' : undefined)
  const mfa =
    '<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete></VersioningConfiguration>'
  faultIs(await at.put(mfa), 501, 'NotImplemented')
  assert.equal(shown(await at.get()), status('Suspended'))
})

inBoth('R18 D25 PutBucketVersioning: while suspended, only svc returns the null version id on writes', async client => {
  const bucket = await makeBucket(client)
  await documentsOf(client, bucket, 'versioning').put(status('Suspended'))
  const wanted = client.dialect === 'svc' ? 'null' : undefined
  const put = await client.send({ method: 'PUT', bucket, path: '/put', body: 'x' })
  assert.equal(put.own('version-id'), wanted)
  const source = [[':copy-source', `${bucket}/put`]] as const
  const copied = await client.send({ method: 'PUT', bucket, path: '/copied', headers: source })
  assert.equal(copied.own('version-id'), wanted)
  assert.equal(copied.own('copy-source-version-id'), 'null')
  const place = await begin(client, bucket, '/completed')
  const completed = await finish(client, place, [await part(client, place, 1, 'x')])
  assert.equal(completed.own('version-id'), wanted)
  for (const method of ['GET', 'HEAD']) {
    for (const path of ['/put', '/copied', '/completed']) {
      assert.equal((await client.send({ method, bucket, path })).own('version-id'), 'null', path)
    }
  }
  const deleted = await client.send({ method: 'DELETE', bucket, path: '/put' })
  assert.equal(deleted.own('version-id'), 'null')
  assert.equal(deleted.own('delete-marker'), 'true')
})

inBoth('G19 PutBucketVersioning: object lock keeps versioning enabled', async client => {
  const bucket = await makeBucket(client, 'locked', [[':bucket-object-lock-enabled', 'true']])
  const at = documentsOf(client, bucket, 'versioning')
  assert.equal(shown(await at.get()), status('Enabled'))
  faultIs(await at.put(status('Suspended')), 409, 'InvalidBucketState')
  assert.equal(shown(await at.get()), status('Enabled'))
})

inBoth(
  'R103 D26 PutBucketVersioning: a signed hash alone is proof in s3, where clients send nothing else',
  async client => {
    const bucket = await makeBucket(client)
    const body = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
    const put = await client.send({ method: 'PUT', bucket, path: '/?versioning', body })
    assert.equal(put.status, client.dialect === 'svc' ? 400 : 200)
  },
)
