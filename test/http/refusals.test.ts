/** Details of refusals beyond their code: the responsible party, the allowed methods, and unsupported features. */
import assert from 'node:assert/strict'
import { document, outcome, put, text, versionedBucket } from './actions.ts'
import { customerKey, expectFault, KEY } from './parts.ts'
import { inBoth, MAIN, makeBucket, OTHER } from './server.ts'

inBoth('R7 D19: an expected owner must be an account id and the owner', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const read = (owner: string) =>
    client.send({ method: 'GET', bucket, path: '/k', headers: [[':expected-bucket-owner', owner]] })
  const copy = (owner: string) =>
    client.send({
      method: 'PUT',
      bucket,
      path: '/copy',
      headers: [
        [':copy-source', `${bucket}/k`],
        [':source-expected-bucket-owner', owner],
      ],
    })
  const noAccount = client.dialect === 'svc' ? '403 AccessDenied' : '400 InvalidBucketOwnerAWSAccountID'
  for (const ask of [read, copy]) {
    assert.equal(outcome(await ask(OTHER.accountId)), '403 AccessDenied')
    for (const owner of ['me', '', '11111111111', `${MAIN.accountId}1`, MAIN.canonicalId]) {
      assert.equal(outcome(await ask(owner)), noAccount, owner)
    }
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/copy' })).status, 404)
    assert.equal((await ask(MAIN.accountId)).status, 200)
  }
})

const INSECURE: { readonly tlsForCustomerKeys: boolean } = { tlsForCustomerKeys: true }

inBoth(
  'D24 A70: customer keys over plain HTTP are refused if so configured',
  async client => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/k')
    const source: [string, string] = [':copy-source', `${bucket}/k`]
    for (const headers of [
      customerKey(KEY),
      customerKey(KEY).slice(0, 1),
      [source, ...customerKey(KEY, ':copy-source-')],
    ]) {
      const body = headers.includes(source) ? '' : 'secret'
      const answer = await client.send({ method: 'PUT', bucket, path: '/own', headers, body })
      expectFault(answer, 400, 'InvalidRequest')
      assert.match(answer.body.toString(), /must be made over HTTPS/)
    }
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/own' })).status, 404)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).status, 200)
  },
  INSECURE,
)

inBoth('R105: a deleted key reports its delete marker', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  await put(client, bucket, '/k')
  const marker = (await client.send({ method: 'DELETE', bucket, path: '/k' })).own('version-id')
  assert.notEqual(marker, undefined)
  const acl = { method: 'PUT', bucket, path: '/k?acl', headers: [[':acl', 'private']] } as const
  for (const [what, status, allow] of [
    [{ method: 'GET', bucket, path: '/k' }, 404, undefined],
    [{ method: 'HEAD', bucket, path: '/k' }, 404, undefined],
    [{ method: 'GET', bucket, path: `/k?versionId=${marker}` }, 405, 'DELETE'],
    [acl, 405, 'DELETE'],
  ] as const) {
    const answer = await client.send(what)
    assert.equal(answer.status, status)
    assert.equal(answer.own('delete-marker'), 'true')
    assert.equal(answer.own('version-id'), marker)
    assert.equal(answer.headers.get('allow'), allow)
  }
  const never = await client.send({ method: 'GET', bucket, path: '/never' })
  assert.deepEqual([never.status, never.own('delete-marker'), never.own('version-id')], [404, undefined, undefined])
})

inBoth('G2: headers of both dialects are refused, in the dialect of the signature', async client => {
  const bucket = await makeBucket(client)
  const other = client.dialect === 'svc' ? 'x-amz-acl' : 'x-svc-acl'
  const mixed = await client.send({ method: 'PUT', bucket, path: '/k', headers: [[other, 'private']] })
  assert.equal(outcome(mixed), '400 InvalidRequest')
  assert.notEqual(mixed.own('request-id'), undefined)
})

inBoth('G3 D11: an incomplete presigned query is a malformed signature of its dialect', async client => {
  const bucket = await makeBucket(client)
  const X = client.dialect === 'svc' ? 'X-Svc-' : 'X-Amz-'
  for (const query of [`${X}Signature=0`, `a=b&${X}Credential=x`, `${X}Algorithm=other`]) {
    const answer = await client.send({ method: 'GET', bucket, path: `/k?${query}`, as: null })
    assert.equal(outcome(answer), `${client.dialect === 'svc' ? 403 : 400} AuthorizationQueryParametersError`, query)
  }
})

inBoth('R116: 405 lists the methods that are allowed there', async client => {
  const bucket = await makeBucket(client)
  for (const [method, path, allow] of [
    ['DELETE', '/?versioning', 'GET, PUT'],
    ['POST', '/?policy', 'GET, PUT, DELETE'],
    ['PUT', '/k?attributes', 'GET'],
    ['PATCH', '/k', 'GET, HEAD, PUT, POST, DELETE'],
    ['TRACE', '/?delete', 'POST'],
    ['GET', '/?delete', 'POST'],
  ] as const) {
    const answer = await client.send({ method, bucket, path })
    expectFault(answer, 405, 'MethodNotAllowed')
    assert.equal(answer.headers.get('allow'), allow, `${method} ${path}`)
  }
})

inBoth('D2 DeleteObjects: errors per key have the codes of the dialect', async client => {
  const bucket = await makeBucket(client)
  const wanted = document('<Delete><Object><Key>none</Key><ETag>"x"</ETag></Object></Delete>')
  const answer = await client.send({ method: 'POST', bucket, path: '/?delete', ...wanted })
  assert.equal(text(answer.xml(), 'Code'), client.dialect === 'svc' ? 'PreconditionFailed' : 'NoSuchKey')
})

const NOT_OFFERED = [
  'accelerate',
  'analytics',
  'intelligent-tiering',
  'inventory',
  'metadataTable',
  'metrics',
  'notification',
  'replication',
  'restore',
  'select&select-type=2',
  'session',
  'torrent',
]

inBoth('R11: sub-resources that are not offered are 501 for every method, on buckets and objects', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'as it was')
  for (const query of NOT_OFFERED) {
    for (const path of [`/?${query}`, `/k?${query}`]) {
      for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'HEAD']) {
        const answer = await client.send({ method, bucket, path, body: method === 'PUT' ? 'x' : '' })
        assert.equal(answer.status, 501, `${method} ${path}`)
        if (method === 'HEAD') continue
        assert.equal(answer.code(), 'NotImplemented')
        const name = query.split('&')[0]!
        assert.match(answer.body.toString(), new RegExp(`<Message>The sub-resource ${name} is not implemented`), query)
      }
    }
  }
  for (const headers of [[[':write-offset-bytes', '9']], [[':rename-source', `/${bucket}/k`]]] as [
    string,
    string,
  ][][]) {
    const answer = await client.send({ method: 'PUT', bucket, path: '/k', headers, body: 'x' })
    expectFault(answer, 501, 'NotImplemented')
    const name = headers[0]![0].replace(':', client.dialect === 's3' ? 'x-amz-' : 'x-svc-')
    assert.match(
      answer.body.toString(),
      new RegExp(`<Message>The header ${name} implies functionality that is not implemented`),
    )
  }
  // Conditions that the operation does not evaluate: the request is refused instead of ignoring them.
  for (const [name, value] of [
    [':if-match-size', '1'],
    [':if-match-last-modified-time', 'Mon, 01 Jan 2018 00:00:00 GMT'],
    [':if-match-initiated-time', 'Mon, 01 Jan 2018 00:00:00 GMT'],
  ] as const) {
    for (const [method, path] of [
      ['DELETE', '/k?tagging'],
      ['PUT', '/k'],
      ['GET', '/k'],
      ['DELETE', name === ':if-match-initiated-time' ? '/k' : '/'],
    ] as const) {
      expectFault(await client.send({ method, bucket, path, headers: [[name, value]] }), 501, 'NotImplemented')
    }
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'as it was')
})

inBoth('R11: sub-resources of another level are refused, never ignored', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'as it was')
  for (const [method, path] of [
    ['PUT', '/k?versioning'],
    ['GET', '/k?policy'],
    ['DELETE', '/k?lifecycle'],
    ['DELETE', '/k?uploads'],
    ['PUT', '/k?encryption'],
    ['DELETE', '/?acl'],
    ['DELETE', '/?retention'],
    ['GET', '/?attributes'],
  ] as const) {
    expectFault(await client.send({ method, bucket, path, body: method === 'PUT' ? 'x' : '' }), 405, 'MethodNotAllowed')
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'as it was')
})

inBoth('R11: two sub-resources at once are 400 InvalidArgument, and neither is served', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'as it was')
  for (const [method, path, names] of [
    ['GET', '/?acl&versioning', 'acl, versioning'],
    ['PUT', '/?versioning&policy', 'versioning, policy'],
    ['DELETE', '/?policy&lifecycle', 'policy, lifecycle'],
    ['GET', '/k?tagging&acl', 'tagging, acl'],
    ['DELETE', '/k?tagging&uploadId=x', 'tagging, uploadId'],
    ['PUT', '/k?legal-hold&retention&versionId=null', 'legal-hold, retention'],
  ] as const) {
    const answer = await client.send({ method, bucket, path, body: method === 'PUT' ? 'x' : '' })
    expectFault(answer, 400, 'InvalidArgument')
    assert.equal(text(answer.xml(), 'Message'), `Conflicting query string parameters: ${names}`)
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'as it was')
})

inBoth('R4: a host that equals a bucket’s name addresses that bucket', async client => {
  const bucket = await makeBucket(client, 'files.example.com')
  await put(client, bucket, '/k', 'here')
  const at = (host: string) => client.send({ method: 'GET', host, path: '/k' })
  assert.equal((await at('files.example.com')).body.toString(), 'here')
  assert.equal((await at('Files.Example.COM:9000')).body.toString(), 'here')
})
