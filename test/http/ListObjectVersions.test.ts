import assert from 'node:assert/strict'
import type { XmlNode } from '../../src/lib/xml.ts'
import { get, outcome, put, text, versionedBucket } from './actions.ts'
import { inBoth, OTHER, READER } from './server.ts'

const shown = (page: XmlNode): string[] =>
  page.children
    .filter(({ name }) => name === 'Version' || name === 'DeleteMarker')
    .map(item => `${item.name} ${text(item, 'Key')} ${text(item, 'VersionId')} ${text(item, 'IsLatest')}`)

inBoth(
  'G14 ListObjectVersions: keys in order, newest version first, delete markers included',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const a1 = await put(client, bucket, '/a', '1')
    const a2 = await put(client, bucket, '/a', '22')
    const marker = (await client.send({ method: 'DELETE', bucket, path: '/a' })).own('version-id')
    const b1 = await put(client, bucket, '/b/x')
    const wanted = [
      `DeleteMarker a ${marker} true`,
      `Version a ${a2} false`,
      `Version a ${a1} false`,
      `Version b/x ${b1} true`,
    ]
    const all = (await get(client, bucket, '/?versions')).xml()
    assert.equal(all.name, 'ListVersionsResult')
    assert.deepEqual(shown(all), wanted)
    assert.equal(text(all, 'IsTruncated'), 'false')
    const seen: string[] = []
    let query = '/?max-keys=1&versions'
    for (let pages = 0; pages < 10; pages++) {
      const page = (await get(client, bucket, query)).xml()
      seen.push(...shown(page))
      if (text(page, 'IsTruncated') === 'false') break
      const [key, id] = [text(page, 'NextKeyMarker')!, text(page, 'NextVersionIdMarker')!]
      query = `/?key-marker=${encodeURIComponent(key)}&max-keys=1&version-id-marker=${id}&versions`
    }
    assert.deepEqual(seen, wanted)
    const rolled = (await get(client, bucket, '/?delimiter=%2F&prefix=b&versions')).xml()
    assert.deepEqual(shown(rolled), [])
    assert.equal(text(rolled.children.find(({ name }) => name === 'CommonPrefixes')!, 'Prefix'), 'b/')
  },
)

inBoth(
  'G14 ListObjectVersions: invalid markers and callers without permission are refused',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    await put(client, bucket, '/a')
    for (const bad of [
      'version-id-marker=null',
      'key-marker=a&version-id-marker=',
      'key-marker=a&version-id-marker=x',
    ]) {
      assert.equal(outcome(await get(client, bucket, `/?${bad}&versions`)), '400 InvalidArgument', bad)
    }
    for (const as of [OTHER, READER, null]) {
      assert.equal((await client.send({ method: 'GET', bucket, path: '/?versions', as })).status, 403)
    }
    assert.equal((await client.send({ method: 'POST', bucket, path: '/?versions' })).status, 405)
  },
)
