/** The region that a request is signed for: any without a configured region, else that one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcome, put } from './actions.ts'
import { detail, expectFault, textAt } from './parts.ts'
import { type Client, inBoth, makeBucket, type Received, withServer } from './server.ts'

const ANY = { anyRegion: true }

const locatedIn = (region: string): string =>
  `<CreateBucketConfiguration><LocationConstraint>${region}</LocationConstraint></CreateBucketConfiguration>`

inBoth(
  'D28: without a configured region every region is accepted and reported',
  async client => {
    for (const region of ['us-east-1', 'auto', 'eu-west-1', 'garage', 'cn_north.1']) {
      const bucket = `bucket-${region.replace(/[^a-z0-9]/g, '')}`
      const at = (method: string, path: string, body = '') => client.send({ method, bucket, path, body, region })
      assert.equal(outcome(await at('PUT', '/', locatedIn(region))), '200', region)
      assert.equal(outcome(await at('PUT', '/k', 'x')), '200', region)
      assert.equal((await at('GET', '/k')).body.toString(), 'x', region)
      assert.equal((await at('HEAD', '/')).own('bucket-region'), region)
      assert.equal((await at('GET', '/?location')).xml().text, region === 'us-east-1' ? '' : region)
      const listed = await client.send({ method: 'GET', path: '/', region })
      assert.equal(textAt(listed.xml(), 'Buckets', 'Bucket', 'BucketRegion'), region)
    }
    // A client without a configured region signs for one and requests another.
    const other = locatedIn('eu-central-1')
    assert.equal(outcome(await client.send({ method: 'PUT', bucket: 'elsewhere', path: '/', body: other })), '200')
  },
  ANY,
)

inBoth(
  'D28: an invalid region name is refused, configured or not',
  async client => {
    const bucket = await makeBucket(client)
    for (const region of ['a b', 'x'.repeat(65), 'ü', 'a\tb']) {
      const answer = await client.send({ method: 'GET', bucket, path: '/', region })
      assert.equal(answer.code(), 'AuthorizationHeaderMalformed', region)
      assert.notEqual(answer.own('bucket-region'), region)
    }
    const body = locatedIn('a b')
    const made = await client.send({ method: 'PUT', bucket: 'not-made', path: '/', body })
    expectFault(made, 400, 'InvalidLocationConstraint')
  },
  ANY,
)

inBoth('D28: a region other than the configured one is 400 and names the right one', async client => {
  const bucket = await makeBucket(client)
  const answer = await client.send({ method: 'GET', bucket, path: '/k', region: 'eu-west-1' })
  expectFault(answer, 400, 'AuthorizationHeaderMalformed')
  assert.equal(detail(answer, 'Region'), 'us-east-1')
  assert.match(detail(answer, 'Message'), /the region 'eu-west-1' is wrong; expecting 'us-east-1'/)
})

const regionOf = (answer: Received): string | undefined => answer.headers.get('x-amz-bucket-region')

test('s3: D28: every response about a bucket names its region', () =>
  withServer(async ({ s3 }) => {
    const bucket = 'test-bucket'
    const at = (method: string, path: string, more: Partial<Parameters<Client['send']>[0]> = {}) =>
      s3.send({ method, bucket, path, ...more })
    const made = await at('PUT', '/')
    await put(s3, bucket, '/k', 'x')
    const answers = {
      made,
      headBucket: await at('HEAD', '/'),
      wrongRegion: await at('HEAD', '/', { region: 'eu-west-1' }),
      wrongRegionOfObject: await at('GET', '/k', { region: 'eu-west-1' }),
      bytes: await at('GET', '/k'),
      head: await at('HEAD', '/k'),
      listing: await at('GET', '/?list-type=2'),
      missing: await at('GET', '/none'),
      refused: await at('GET', '/k', { as: null, headers: [[':request-payer', 'requester']] }),
      noBucket: await s3.send({ method: 'HEAD', path: '/no-such-bucket' }),
      unchanged: await at('GET', '/k', { headers: [['If-None-Match', '*']] }),
      removed: await at('DELETE', '/k'),
    }
    const statuses = Object.values(answers).map(({ status }) => status)
    assert.deepEqual(statuses, [200, 200, 400, 400, 200, 200, 200, 404, 403, 404, 304, 204])
    for (const [name, answer] of Object.entries(answers)) assert.equal(regionOf(answer), 'us-east-1', name)
    assert.equal(regionOf(await s3.send({ method: 'GET', path: '/' })), undefined, 'no bucket, no region')
  }))

test('s3: D28: where every region is accepted, a refusal names the one that was signed for', () =>
  withServer(async ({ s3 }) => {
    const bucket = await makeBucket(s3)
    const missing = await s3.send({ method: 'GET', bucket, path: '/none', region: 'auto' })
    assert.deepEqual([outcome(missing), regionOf(missing)], ['404 NoSuchKey', 'auto'])
    const stranger = { accessKey: 'AKNOBODY', secretKey: 'x', accountId: '', canonicalId: '' }
    const refused = await s3.send({ method: 'HEAD', bucket, path: '/', region: 'auto', as: stranger })
    assert.deepEqual([refused.status, regionOf(refused)], [403, 'auto'])
  }, ANY))
