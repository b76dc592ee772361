/** The flags of `holdfast import`, one by one. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { children, childText } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import { S3Client } from '../../src/s3/client.ts'
import { differences } from '../import/expect.ts'
import { between, type Servers, seededAt, withServers } from '../import/fixture.ts'
import { BUCKET, clientOf, imported, SOURCE_KEY } from '../import/round.ts'
import { EVERYTHING, seed } from '../import/seed.ts'
import { FIRST } from '../workers/certificates.ts'

/** One of each kind. */
const OBJECTS = 10

const put = async (client: S3Client, key: string, text: string, headers: [string, string][] = []): Promise<void> => {
  await client.requestOnce({ method: 'PUT', key, headers, body: Buffer.from(text) })
}

/** The bodies of all versions of a key, oldest first; `-` for a marker. */
async function historyAt(client: S3Client, key: string): Promise<string[]> {
  const root = parseXml((await client.request({ method: 'GET', query: { versions: '', prefix: key } })).body)
  const texts: string[] = []
  for (const node of root.children) {
    if (node.name === 'DeleteMarker') texts.unshift('-')
    if (node.name !== 'Version') continue
    const versionId = childText(node, 'VersionId')
    texts.unshift((await client.request({ method: 'GET', key, query: { versionId } })).body.toString('utf8'))
  }
  return texts
}

/** Versioning without object lock. */
async function withVersions({ sourceUrl }: Servers): Promise<S3Client> {
  const client = clientOf(sourceUrl, BUCKET, SOURCE_KEY)
  await client.requestOnce({ method: 'PUT' })
  const body = Buffer.from('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')
  await client.requestOnce({ method: 'PUT', query: { versioning: '' }, body })
  return client
}

test('--ca: a source whose certificate is named is trusted, another one is not', () =>
  withServers(
    async servers => {
      const ca = join(servers.folder, 'cert.pem')
      const place = { endpoint: new URL(servers.sourceUrl), bucket: BUCKET, region: 'us-east-1', inFlight: 4 }
      const source = new S3Client({ ...place, key: SOURCE_KEY, ca: FIRST.cert })
      const seeded = await seed(source, { objects: OBJECTS, traits: EVERYTHING })
      source.close()
      const refused = await imported(servers)
      assert.deepEqual([refused.code, refused.told], [1, {}])
      assert.match(
        refused.errors,
        /^holdfast: the source https:\S+, bucket moving: \S+ is not trusted: [^\n]+ --ca [^\n]+\n$/,
      )
      const { code, told } = await imported(servers, '--ca', ca)
      assert.deepEqual([code, told.whole], [0, true], JSON.stringify(told))
      const target = clientOf(servers.targetUrl, 'moved')
      assert.deepEqual(await differences(target, seeded), [])
      target.close()
    },
    folder => {
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
      writeFileSync(cert, FIRST.cert)
      writeFileSync(key, FIRST.key, { mode: 0o600 })
      return ['--tls-cert', cert, '--tls-key', key]
    },
  ))

test("--virtual-host: the source's bucket stands in the host's name, never in the path", () =>
  withServers(
    async servers => {
      const seeded = await seededAt(servers.sourceUrl, OBJECTS)
      const hosts = new Set<string>()
      const paths = new Set<string>()
      const watch = ({ host, path }: { readonly host: string; readonly path: string }): undefined => {
        hosts.add(host)
        paths.add(path.split('/')[1]!)
      }
      await between(servers.sourceUrl, watch, async url => {
        const { port } = new URL(url)
        const { code, told, errors } = await imported(
          { ...servers, sourceUrl: `http://localhost:${port}` },
          '--virtual-host',
        )
        assert.deepEqual([code, told.whole], [0, true], errors)
        assert.deepEqual([...hosts], [`${BUCKET}.localhost:${port}`])
        assert(!paths.has(BUCKET))
      })
      const target = clientOf(servers.targetUrl, 'moved')
      assert.deepEqual(await differences(target, seeded), [])
      target.close()
    },
    () => ['--base-host', 'localhost'],
  ))

test('--current-only: current versions are copied; older versions and markers are not', () =>
  withServers(async servers => {
    const source = await withVersions(servers)
    await put(source, 'a', 'old')
    await put(source, 'a', 'new')
    await put(source, 'b', 'hidden')
    await source.requestOnce({ method: 'DELETE', key: 'b' })
    await put(source, 'c', 'only')
    source.close()
    const first = await imported(servers, '--current-only')
    assert.deepEqual([first.code, first.told.copied.versions, first.told.copied.markers], [0, 2, 0])
    const target = clientOf(servers.targetUrl, 'moved')
    const listing = parseXml((await target.request({ method: 'GET', query: { versions: '' } })).body)
    const versions = children(listing, 'Version').map(node => [childText(node, 'Key'), childText(node, 'VersionId')])
    assert.deepEqual(versions, [
      ['a', 'null'],
      ['c', 'null'],
    ])
    assert.equal(children(listing, 'DeleteMarker').length, 0)
    assert.deepEqual(await historyAt(target, 'a'), ['new'])
    const second = await imported(servers, '--current-only')
    assert.deepEqual([second.code, second.told.copied.versions, second.told.present], [0, 0, 2])
    target.close()
  }))

test('--overwrite: replaces differing objects without versioning, and never with it', () =>
  withServers(async servers => {
    const source = await withVersions(servers)
    await put(source, 'a', 'of the source')
    await put(source, 'b', 'the same')
    source.close()
    const target = clientOf(servers.targetUrl, 'moved')
    await target.requestOnce({ method: 'PUT' })
    await put(target, 'a', 'of the target')
    await put(target, 'b', 'the same')
    const kept = await imported(servers, '--current-only')
    assert.deepEqual([kept.code, kept.told.failed.examples.map(({ key }) => key)], [1, ['a']])
    assert.deepEqual(await historyAt(target, 'a'), ['of the target'])
    const replaced = await imported(servers, '--current-only', '--overwrite')
    assert.deepEqual([replaced.code, replaced.told.copied.versions, replaced.told.present], [0, 1, 1])
    assert.deepEqual(await historyAt(target, 'a'), ['of the source'])
    target.close()
    const other = clientOf(servers.targetUrl, 'other')
    await other.requestOnce({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
    const headers: [string, string][] = [['content-md5', createHash('md5').update('theirs').digest('base64')]]
    await put(other, 'a', 'theirs', headers)
    const state = join(servers.folder, 'other.state')
    const refused = await imported(servers, '--overwrite', '--to', 'other', '--state', state)
    assert.deepEqual([refused.code, refused.told.failed.examples.map(({ key }) => key)], [1, ['a']])
    assert.deepEqual([await historyAt(other, 'a'), await historyAt(other, 'b')], [['theirs'], ['the same']])
    other.close()
  }))

const CUSTOMER_KEY = Buffer.alloc(32, 'k')
const SEALED: [string, string][] = [
  [':server-side-encryption-customer-algorithm', 'AES256'],
  [':server-side-encryption-customer-key', CUSTOMER_KEY.toString('base64')],
  [':server-side-encryption-customer-key-md5', createHash('md5').update(CUSTOMER_KEY).digest('base64')],
]

test('--skip-unreadable: versions under customer keys are skipped; without it their keys fail', () =>
  withServers(async servers => {
    const source = await withVersions(servers)
    await put(source, 'a', 'oldest')
    await put(source, 'a', 'sealed', SEALED)
    await put(source, 'a', 'newest')
    await put(source, 'b', 'sealed', SEALED)
    await put(source, 'c', 'plain')
    source.close()
    const target = clientOf(servers.targetUrl, 'moved')
    const waiting = await imported(servers)
    assert.deepEqual([waiting.code, waiting.told.failed.examples.map(({ key }) => key).sort()], [1, ['a', 'b']])
    for (const { why } of waiting.told.failed.examples) assert.match(why, /SSE-C/)
    assert.deepEqual(await historyAt(target, 'a'), ['oldest'], 'a newer version never goes below an older one')
    assert.deepEqual(await historyAt(target, 'c'), ['plain'])
    for (let again = 0; again < 2; again++) {
      const left = await imported(servers, '--skip-unreadable')
      assert.deepEqual([left.code, left.told.failed.count, left.told.missing.count], [1, 0, 0])
      assert.deepEqual(left.told.leftOut.examples.map(({ key }) => key).sort(), ['a', 'b'])
      assert.deepEqual(await historyAt(target, 'a'), ['oldest', 'newest'])
      assert.deepEqual(await historyAt(target, 'b'), [])
    }
    target.close()
  }))

test('--without-acls: no ACL is requested, and everything is private', () =>
  withServers(async servers => {
    const seeded = await seededAt(servers.sourceUrl, OBJECTS)
    let asked = 0
    const count = ({ query, path }: { readonly query: URLSearchParams; readonly path: string }): undefined => {
      if (query.has('acl') && path.split('/').length > 2) asked++
    }
    await between(servers.sourceUrl, count, async sourceUrl => {
      const { code } = await imported({ ...servers, sourceUrl }, '--without-acls')
      assert.deepEqual([code, asked], [0, 0])
    })
    const target = clientOf(servers.targetUrl, 'moved')
    const open = [...seeded].filter(([, versions]) => versions.some(({ isPublic }) => isPublic)).map(([key]) => key)
    const found = await differences(target, seeded)
    assert.deepEqual(found.sort(), open.map(key => `${key}, version 1: no longer public`).sort())
    target.close()
  }))
