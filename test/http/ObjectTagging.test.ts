import assert from 'node:assert/strict'
import { document, elements, get, lockBucket, outcome, put, text, versionedBucket } from './actions.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

const tag = ([key, value]: readonly [string, string]): string => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`

const tagging = (...tags: readonly (readonly [string, string])[]): string =>
  `<Tagging><TagSet>${tags.map(tag).join('')}</TagSet></Tagging>`

inBoth(
  'G13 PutObjectTagging GetObjectTagging DeleteObjectTagging: stored, returned, counted and deleted',
  async client => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/k', 'hello', [[':tagging', 'a=1']])
    const before = await get(client, bucket, '/k')
    assert.equal(before.own('tagging-count'), '1')
    const set = await client.send({
      method: 'PUT',
      bucket,
      path: '/k?tagging',
      ...document(tagging(['x', 'y z'], ['e', ''])),
    })
    assert.equal(set.status, 200)
    const shown = (await get(client, bucket, '/k?tagging')).xml()
    assert.equal(shown.name, 'Tagging')
    const found = elements(elements(shown, 'TagSet')[0]!, 'Tag').map(tag => [text(tag, 'Key'), text(tag, 'Value')])
    assert.deepEqual(found, [
      ['x', 'y z'],
      ['e', ''],
    ])
    const after = await get(client, bucket, '/k')
    assert.equal(after.own('tagging-count'), '2')
    for (const name of ['etag', 'last-modified']) assert.equal(after.headers.get(name), before.headers.get(name))
    assert.equal((await client.send({ method: 'DELETE', bucket, path: '/k?tagging' })).status, 204)
    assert.equal((await get(client, bucket, '/k')).own('tagging-count'), undefined)
    assert.deepEqual(elements((await get(client, bucket, '/k?tagging')).xml(), 'TagSet')[0]!.children, [])
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const sent = method === 'PUT' ? document(tagging()) : {}
      assert.equal(outcome(await client.send({ method, bucket, path: '/none?tagging', ...sent })), '404 NoSuchKey')
    }
  },
)

inBoth(
  'G13 PutObjectTagging GetObjectTagging DeleteObjectTagging: a delete marker has no tags',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    await put(client, bucket, '/k')
    const marker = (await client.send({ method: 'DELETE', bucket, path: '/k' })).own('version-id')
    for (const query of ['tagging', `tagging&versionId=${marker}`]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const sent = method === 'PUT' ? document(tagging()) : {}
        const answer = await client.send({ method, bucket, path: `/k?${query}`, ...sent })
        assert.equal(outcome(answer), '405 MethodNotAllowed', `${method} ${query}`)
        assert.deepEqual([answer.own('delete-marker'), answer.own('version-id')], ['true', marker])
      }
    }
  },
)

inBoth('A66 PutObjectTagging: invalid tag sets are refused without effect', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'x', [[':tagging', 'a=1']])
  const eleven = Array.from({ length: 11 }, (_, i): [string, string] => [`k${i}`, 'v'])
  for (const [body, wanted] of [
    ['', '400 MalformedXML'],
    ['<Tagging>', '400 MalformedXML'],
    ['<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>', '400 MalformedXML'],
    [tagging(...eleven), '400 BadRequest'],
    [tagging(['a', '1'], ['a', '2']), '400 InvalidTag'],
    [tagging(['aws:x', '1']), '400 InvalidTag'],
    [tagging(['a', 'b'.repeat(257)]), '400 InvalidTag'],
  ] as const) {
    const answer = await client.send({ method: 'PUT', bucket, path: '/k?tagging', ...document(body) })
    assert.equal(outcome(answer), wanted, body.slice(0, 80))
  }
  const other = { body: tagging(['b', '2']), headers: [['Content-MD5', 'AAAAAAAAAAAAAAAAAAAAAA==']] as const }
  assert.equal(outcome(await client.send({ method: 'PUT', bucket, path: '/k?tagging', ...other })), '400 BadDigest')
  const shown = (await get(client, bucket, '/k?tagging')).xml()
  assert.equal(text(elements(elements(shown, 'TagSet')[0]!, 'Tag')[0]!, 'Key'), 'a')
})

inBoth('P18 R9 PutObjectTagging: works by version and under a lock, and needs permission', async client => {
  const bucket = await lockBucket(client)
  const first = await put(client, bucket, '/k', 'one')
  const second = await put(client, bucket, '/k', 'two')
  const hold = document(
    '<LegalHold><Status>ON</Status></LegalHold>',
    client.dialect === 'svc' ? [[':legal-hold', 'ON']] : [],
  )
  assert.equal(
    (await client.send({ method: 'PUT', bucket, path: `/k?legal-hold&versionId=${first}`, ...hold })).status,
    200,
  )
  const set = await client.send({
    method: 'PUT',
    bucket,
    path: `/k?tagging&versionId=${first}`,
    ...document(tagging(['a', 'b'])),
  })
  assert.equal(set.status, 200)
  assert.equal(set.own('version-id'), first)
  const old = await get(client, bucket, `/k?versionId=${first}`)
  assert.equal(old.body.toString(), 'one')
  assert.equal(old.own('tagging-count'), '1')
  assert.equal(old.own('object-lock-legal-hold'), 'ON')
  assert.equal((await get(client, bucket, `/k?versionId=${second}`)).own('tagging-count'), undefined)
  assert.equal((await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${first}` })).status, 403)
  for (const as of [OTHER, READER, null]) {
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k?tagging', as })).status, 403)
    assert.equal(
      (await client.send({ method: 'PUT', bucket, path: '/k?tagging', as, ...document(tagging()) })).status,
      403,
    )
  }
})
