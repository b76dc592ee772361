import assert from 'node:assert/strict'
import { elements, get, outcome, put, text, texts } from './actions.ts'
import { inBoth, makeBucket } from './server.ts'

const KEYS = ['a', 'b/1', 'b/2', 'c d', 'e+f', 'ü', '\u{1F600}']

inBoth('G14 ListObjects: byte order, common prefixes, pages by marker', async client => {
  const bucket = await makeBucket(client)
  for (const key of KEYS) await put(client, bucket, `/${encodeURIComponent(key).replaceAll('%2F', '/')}`)
  const all = (await get(client, bucket, '/')).xml()
  assert.deepEqual(
    elements(all, 'Contents').map(item => text(item, 'Key')),
    [...KEYS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  )
  assert.equal(text(all, 'IsTruncated'), 'false')
  assert.equal(text(all, 'NextMarker'), undefined)
  const rolled = (await get(client, bucket, '/?delimiter=%2F&max-keys=2')).xml()
  assert.deepEqual(texts(rolled, 'Key'), ['a'])
  assert.deepEqual(
    elements(rolled, 'CommonPrefixes').map(one => text(one, 'Prefix')),
    ['b/'],
  )
  assert.equal(text(rolled, 'IsTruncated'), 'true')
  assert.equal(text(rolled, 'NextMarker'), 'b/')
  const next = (await get(client, bucket, '/?delimiter=%2F&max-keys=2&marker=b%2F')).xml()
  assert.deepEqual(texts(next, 'Key'), ['c d', 'e+f'])
  const plain = (await get(client, bucket, '/?max-keys=1')).xml()
  assert.equal(text(plain, 'NextMarker'), undefined)
  assert.equal(text(plain, 'IsTruncated'), 'true')
})

inBoth('G14: a marker inside a common prefix skips that prefix', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a', 'b/1', 'b/2', 'b/c/3', 'b/d', 'e']) await put(client, bucket, `/${key}`)
  const upload = (await client.send({ method: 'POST', bucket, path: '/b/1?uploads' })).xml()
  for (const key of ['b/2', 'e']) await client.send({ method: 'POST', bucket, path: `/${key}?uploads` })
  const shown = async (query: string): Promise<string> => {
    const page = (await get(client, bucket, `/?delimiter=%2F&${query}`)).xml()
    const prefixes = elements(page, 'CommonPrefixes').map(one => text(one, 'Prefix')!)
    return [...texts(page, 'Key'), ...prefixes].sort().join(' ')
  }
  for (const mark of ['marker=', 'versions&key-marker=']) {
    assert.equal(await shown(`${mark}b%2F1`), 'e', mark)
    assert.equal(await shown(`${mark}b%2Fzzz`), 'e', mark)
    assert.equal(await shown(`${mark}b`), 'b/ e', mark)
    assert.equal(await shown(`prefix=b%2F&${mark}b%2F1`), 'b/2 b/c/ b/d', mark)
    assert.equal(await shown(`prefix=b%2F&${mark}b%2Fc%2F1`), 'b/d', mark)
  }
  // A `start-after` key may be under a prefix that the client has not seen: only one equal to the prefix skips it.
  for (const [query, expected] of [
    ['start-after=b%2F1', 'b/ e'],
    ['start-after=b%2Fzzz', 'e'],
    ['start-after=b%2F', 'e'],
    ['start-after=b', 'b/ e'],
    ['prefix=b%2F&start-after=b%2Fc%2F1', 'b/c/ b/d'],
    ['start-after=b%2F1&max-keys=1', 'b/'],
  ] as const) {
    assert.equal(await shown(`list-type=2&${query}`), expected, query)
  }
  assert.equal(await shown('versions&key-marker=b%2F1&version-id-marker=null'), 'e')
  assert.equal(await shown('uploads&key-marker=b%2F1'), 'e')
  assert.equal(await shown(`uploads&key-marker=b%2F1&upload-id-marker=${text(upload, 'UploadId')}`), 'e')
})

inBoth('G14 A60 ListObjects: max-keys, encoding and tokens are checked', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a', 'c%20d', 'e%2Bf']) await put(client, bucket, `/${key}`)
  const none = (await get(client, bucket, '/?max-keys=0')).xml()
  assert.equal(text(none, 'IsTruncated'), 'false')
  assert.deepEqual(texts(none, 'Key'), [])
  assert.equal(text((await get(client, bucket, '/?max-keys=5000')).xml(), 'MaxKeys'), '1000')
  for (const bad of ['max-keys=-1', 'max-keys=x', 'max-keys=1.5', 'encoding-type=html']) {
    assert.equal(outcome(await get(client, bucket, `/?${bad}`)), '400 InvalidArgument', bad)
  }
  const encoded = (await get(client, bucket, '/?encoding-type=url')).xml()
  assert.deepEqual(texts(encoded, 'Key'), ['a', 'c+d', 'e%2Bf'])
  assert.equal(text(encoded, 'EncodingType'), 'url')
  for (const bad of ['', 'junk', '**', 'AAAA']) {
    const answer = await get(
      client,
      bucket,
      `/?continuation-token=${encodeURIComponent(bad).replaceAll('*', '%2A')}&list-type=2`,
    )
    assert.equal(outcome(answer), '400 InvalidArgument', bad)
  }
})

inBoth('G14 ListObjectsV2: every key appears once across pages with any delimiter', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a/1', 'a/2', 'b', 'c/1', 'd']) await put(client, bucket, `/${key}`)
  for (const [query, wanted] of [
    ['', ['a/1', 'a/2', 'b', 'c/1', 'd']],
    ['delimiter=%2F&', ['a/', 'b', 'c/', 'd']],
  ] as const) {
    const seen: string[] = []
    let token = ''
    for (let pages = 0; pages < 10; pages++) {
      const page = (await get(client, bucket, `/?${token}${query}list-type=2&max-keys=1`)).xml()
      seen.push(...elements(page, 'Contents').map(item => text(item, 'Key')!))
      seen.push(...elements(page, 'CommonPrefixes').map(item => text(item, 'Prefix')!))
      assert.equal(text(page, 'KeyCount'), '1')
      const next = text(page, 'NextContinuationToken')
      if (next === undefined) break
      token = `continuation-token=${encodeURIComponent(next)}&`
    }
    assert.deepEqual(seen, wanted)
  }
  const from = (await get(client, bucket, '/?list-type=2&start-after=b')).xml()
  assert.deepEqual(texts(from, 'Key'), ['c/1', 'd'])
  assert.deepEqual(texts(from, 'Owner'), [])
  const owned = (await get(client, bucket, '/?fetch-owner=true&list-type=2&max-keys=1')).xml()
  assert.equal(texts(owned, 'Owner').length, 1)
})

inBoth('G14 A41: a page continues after any valid key, U+FFFD included', async client => {
  const bucket = await makeBucket(client)
  const keys = ['\ufeff', '\ufffd', '\ufffd\u0001', '\uffff', '😀']
  for (const key of keys) await put(client, bucket, `/${encodeURIComponent(key)}`)
  const seen: string[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const query = `list-type=2&max-keys=1&encoding-type=url${after && `&continuation-token=${after}`}`
    const answer = await get(client, bucket, `/?${query}`)
    assert.equal(outcome(answer), '200')
    seen.push(decodeURIComponent(text(answer.xml(), 'Key')!))
    after = text(answer.xml(), 'NextContinuationToken')
  }
  assert.deepEqual(seen, keys)
})
