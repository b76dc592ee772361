/** Which bucket a request addresses, by the host name that the client uses. */
import assert from 'node:assert/strict'
import { get, outcome, put } from './actions.ts'
import { detail, expectFault, textAt } from './parts.ts'
import { BASE_HOST, inBoth, makeBucket } from './server.ts'

/** A container's name, a load balancer's, one that no bucket could have, and one that only starts like ours. */
const FOREIGN = [
  'holdfast:9000',
  'HOLDFAST',
  's3.internal.example',
  'my_host',
  'up',
  `x${BASE_HOST}`,
  `${BASE_HOST}.org`,
]

inBoth('R4: on a host that is not a bucket’s, the path names the bucket', async client => {
  for (const host of FOREIGN) {
    const bucket = `bucket-${FOREIGN.indexOf(host)}`
    const at = (method: string, path: string, body = '') => client.send({ method, host, path, body })
    assert.equal(outcome(await at('PUT', `/${bucket}`)), '200', host)
    assert.equal(outcome(await at('PUT', `/${bucket}/a/b`, 'there')), '200', host)
    assert.equal((await at('GET', `/${bucket}/a/b`)).body.toString(), 'there', host)
    assert.equal((await get(client, bucket, '/a/b')).body.toString(), 'there', host)
    assert.equal((await at('GET', '/')).xml().name, 'ListAllMyBucketsResult', host)
    assert.equal(textAt((await at('GET', `/${bucket}?list-type=2`)).xml(), 'Contents', 'Key'), 'a/b', host)
    expectFault(await at('GET', '/no-such-bucket/k'), 404, 'NoSuchBucket')
    assert.equal(outcome(await at('DELETE', `/${bucket}/a/b`)), '204', host)
    assert.equal(outcome(await at('DELETE', `/${bucket}`)), '204', host)
  }
})

inBoth('R4: a URL in a response has the requested host, with the bucket in its path', async client => {
  await makeBucket(client)
  const host = 'holdfast:9000'
  const boundary = 'b'
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const own = field(client.name(':meta-a'), 'b')
  const body = [
    field('key', 'a b'),
    own,
    field('success_action_status', '201'),
    field('file', 'x'),
    `--${boundary}--\r\n`,
  ].join('')
  assert.equal(
    outcome(
      await client.send({ method: 'PUT', bucket: 'open-bucket', path: '/', headers: [[':acl', 'public-read-write']] }),
    ),
    '200',
  )
  const headers = [['Content-Type', `multipart/form-data; boundary=${boundary}`]] as const
  const posted = await client.send({ method: 'POST', host, path: '/open-bucket', body, headers, as: null })
  assert.equal(outcome(posted), '201')
  assert.equal(textAt(posted.xml(), 'Location'), 'http://holdfast:9000/open-bucket/a%20b')
})

inBoth('R4: a host that is a bucket’s name leads to that bucket; one label alone never does', async client => {
  await makeBucket(client, 'files.example.com')
  await put(client, 'files.example.com', '/k', 'of the name')
  await makeBucket(client, 'holdfast')
  await put(client, 'holdfast', '/k', 'of one label')
  const at = (host: string, path: string) => client.send({ method: 'GET', host, path })
  assert.equal((await at('Files.Example.COM:9000', '/k')).body.toString(), 'of the name')
  // Otherwise the creator of a bucket with that name would take over the host that others sign their requests for.
  assert.equal((await at('holdfast:9000', '/holdfast/k')).body.toString(), 'of one label')
  assert.equal((await at('holdfast:9000', '/files.example.com/k')).body.toString(), 'of the name')
})

inBoth('R3 R4: a trailing dot of the host is ignored', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'there')
  for (const host of [`${bucket}.${BASE_HOST}.`, `${bucket}.${BASE_HOST}.:9000`]) {
    assert.equal((await client.send({ method: 'GET', host, path: '/k' })).body.toString(), 'there', host)
  }
  const listed = await client.send({ method: 'GET', host: `${BASE_HOST}.`, path: '/' })
  assert.equal(listed.xml().name, 'ListAllMyBucketsResult')
})

inBoth('R4: a label before the base host that is no bucket name is 400, not a path', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'there')
  for (const label of ['ab', 'a_b', '-ab', 'a--ol-s3', 'x'.repeat(64)]) {
    const answer = await client.send({ method: 'GET', host: `${label}.${BASE_HOST}`, path: `/${bucket}/k` })
    expectFault(answer, 400, 'InvalidRequest')
    assert.match(detail(answer, 'Message'), new RegExp(`${label}\\.${BASE_HOST}`))
  }
})

inBoth(
  'R3 R4: of several matching base hosts the longest applies',
  async client => {
    await makeBucket(client, 'mine')
    await put(client, 'mine', '/k', 'there')
    const at = async (host: string, path: string) => (await client.send({ method: 'GET', host, path })).body.toString()
    for (const host of [`mine.${BASE_HOST}`, 'mine.example.org', 'mine.s3.example.org'])
      assert.equal(await at(host, '/k'), 'there')
    for (const host of ['example.org', 's3.example.org', BASE_HOST]) assert.equal(await at(host, '/mine/k'), 'there')
  },
  { baseHosts: ['example.org', 's3.example.org', BASE_HOST] },
)
