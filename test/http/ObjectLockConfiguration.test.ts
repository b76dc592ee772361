import assert from 'node:assert/strict'
import { documentsOf, faultIs, md5, shown } from './bucket-documents.ts'
import { inBoth, makeBucket, OTHER } from './server.ts'

const config = (rule = ''): string =>
  `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>${rule}</ObjectLockConfiguration>`
const retention = (inside: string): string => config(`<Rule><DefaultRetention>${inside}</DefaultRetention></Rule>`)
const LOCKED = [[':bucket-object-lock-enabled', 'true']] as const

inBoth('G19 GetObjectLockConfiguration, PutObjectLockConfiguration: is returned as stored', async client => {
  const at = documentsOf(client, await makeBucket(client, 'locked', LOCKED), 'object-lock')
  assert.equal(shown(await at.get()), config())
  for (const document of [
    retention('<Mode>GOVERNANCE</Mode><Days>365</Days>'),
    retention('<Mode>COMPLIANCE</Mode><Years>1</Years>'),
    config(),
  ]) {
    assert.equal((await at.put(document)).status, 200)
    assert.equal(shown(await at.get()), document)
  }
  faultIs(await at.get(OTHER), 403, 'AccessDenied')
  faultIs(await at.put(config(), OTHER), 403, 'AccessDenied')
  assert.equal((await at.remove()).status, 405)
})

inBoth('G19 PutObjectLockConfiguration: requires versioning and cannot be disabled', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'object-lock')
  faultIs(await at.get(), 404, 'ObjectLockConfigurationNotFoundError')
  faultIs(await at.put(config()), 409, 'InvalidBucketState')
  faultIs(await at.get(), 404, 'ObjectLockConfigurationNotFoundError')
  const versioning = documentsOf(client, bucket, 'versioning')
  await versioning.put('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')
  assert.equal((await at.put(config())).status, 200)
  assert.equal(shown(await at.get()), config())
})

inBoth('G19 PutObjectLockConfiguration: a refused document changes nothing', async client => {
  const at = documentsOf(client, await makeBucket(client, 'locked', LOCKED), 'object-lock')
  const good = retention('<Mode>GOVERNANCE</Mode><Days>2</Days>')
  await at.put(good)
  for (const [document, code] of [
    ['<ObjectLockConfiguration/>', 'MalformedXML'],
    [
      '<ObjectLockConfiguration><ObjectLockEnabled>Disabled</ObjectLockEnabled></ObjectLockConfiguration>',
      'MalformedXML',
    ],
    [config('<Rule/>'), 'MalformedXML'],
    [retention('<Days>1</Days>'), 'MalformedXML'],
    [retention('<Mode>GOVERNANCE</Mode>'), 'MalformedXML'],
    [retention('<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>'), 'MalformedXML'],
    [retention('<Mode>governance</Mode><Days>1</Days>'), 'MalformedXML'],
    [retention('<Mode>GOVERNANCE</Mode><Days>0</Days>'), 'InvalidRetentionPeriod'],
    [retention('<Mode>GOVERNANCE</Mode><Days>-1</Days>'), 'InvalidRetentionPeriod'],
    [retention('<Mode>GOVERNANCE</Mode><Days>36501</Days>'), 'InvalidRetentionPeriod'],
    [retention('<Mode>GOVERNANCE</Mode><Years>101</Years>'), 'InvalidRetentionPeriod'],
  ] as const) {
    faultIs(await at.put(document), 400, code)
  }
  faultIs(await at.put(''), 400, 'MissingRequestBodyError')
  assert.equal(shown(await at.get()), good)
})

inBoth('R27 PutObjectLockConfiguration: default retention applies to new versions', async client => {
  const bucket = await makeBucket(client, 'locked', LOCKED)
  await documentsOf(client, bucket, 'object-lock').put(retention('<Mode>COMPLIANCE</Mode><Days>2</Days>'))
  const put = await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers: [md5('x')] })
  assert.equal(put.status, 200)
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  assert.equal(head.own('object-lock-mode'), 'COMPLIANCE')
  assert.notEqual(head.own('object-lock-retain-until-date'), undefined)
})
