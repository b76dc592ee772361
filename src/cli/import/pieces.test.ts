/** The small pieces of an import that need no server. */
import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseXml } from '../../lib/xml-reader.ts'
import { refusalOf } from '../../s3/responses.ts'
import { grantHeaders, readAccessList } from './grants.ts'
import { byBytes, inOrder, keyVersions } from './listing.ts'
import { barOf } from './progress.ts'
import { renamed } from './settings.ts'
import { State } from './state.ts'

const entry = (key: string, versionId: string, marker: boolean, modifiedAt: number, latest = false) => ({
  ...{ key, versionId, marker, modifiedAt, latest },
  ...{ size: 0, etag: '' },
})

test('versions keep the order of the listing; markers listed separately are ordered by time', () => {
  const mixed = [entry('a', '3', false, 1, true), entry('a', '2', true, 9), entry('a', '1', false, 5)]
  assert.deepEqual(inOrder(mixed), mixed)
  const apart = [
    entry('a', '3', false, 30, true),
    entry('a', '1', false, 10),
    entry('b', '1', false, 10),
    entry('a', '2', true, 20),
    entry('b', '2', true, 10, true),
  ]
  const ids = inOrder(apart).map(({ key, versionId }) => key + versionId)
  assert.deepEqual(ids, ['a3', 'a2', 'a1', 'b2', 'b1'])
  const markersFirst = [apart[3]!, apart[4]!, apart[0]!, apart[1]!, apart[2]!]
  assert.deepEqual(inOrder(markersFirst), inOrder(apart))
  const alone = [apart[3]!, apart[0]!, apart[1]!]
  assert.deepEqual(inOrder(alone), [apart[0], apart[3], apart[1]], 'also when there is one key on the page')
  const deleted = [entry('a', '2', true, 1, true), entry('a', '1', false, 5)]
  assert.deepEqual(inOrder(deleted), deleted, 'what begins with the latest is in order')
})

test('an unsupported request is not retried, one to a busy server is', () => {
  const isTransientOf = (status: number): boolean => refusalOf(status, Buffer.alloc(0)).isTransient
  assert.deepEqual([500, 501, 502, 503, 429, 404, 403].map(isTransientOf), [
    true,
    false,
    true,
    true,
    true,
    false,
    false,
  ])
})

test('an entry on two pages of a listing is reported once, in every kind of listing', async () => {
  const version = (key: string, id: string): string =>
    `<Version><Key>${key}</Key><VersionId>${id}</VersionId><Size>1</Size><ETag>"e"</ETag></Version>`
  const page = (isLast: boolean, inside: string): string =>
    `<R><IsTruncated>${!isLast}</IsTruncated><NextKeyMarker>a</NextKeyMarker>${inside}</R>`
  const answering = (...pages: readonly string[]) => {
    const left = [...pages]
    const address = { endpoint: new URL('http://x'), bucket: 'b', region: 'r', key, inFlight: 1 }
    return { address, request: async () => ({ headers: new Map(), body: Buffer.from(left.shift()!) }) }
  }
  const all = async (lister: ReturnType<typeof answering>, currentOnly: boolean): Promise<string[]> => {
    const found: string[] = []
    for await (const { key, versions } of keyVersions(lister, { prefix: '', currentOnly })) {
      found.push(`${key} ${versions.map(({ versionId }) => versionId).join('')}`)
    }
    return found
  }
  const key = { accessKey: 'a', secretKey: 's' }
  const pages = [
    page(false, version('a', '3') + version('a', '2')),
    page(false, version('a', '2') + version('a', '1') + version('b', '1')),
    page(true, version('b', '1')),
  ]
  assert.deepEqual(await all(answering(...pages), false), ['a 123', 'b 1'])
  const contents = '<Contents><Key>a</Key><Size>1</Size></Contents>'
  assert.deepEqual(await all(answering(page(false, contents), page(true, contents)), true), ['a '])
})

test('keys are ordered by their bytes, as servers do', () => {
  assert(byBytes('\uffee', '\u{1f600}') < 0)
  assert(byBytes('a', 'a/') < 0)
})

test('a state survives a line that was cut off, and belongs to one import', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-state-'))
  try {
    const path = join(folder, 'state')
    const version = { versionId: '1', marker: false, size: 1, etag: 'a' }
    const first = State.open(path, 'from', 'to')
    first.leaveOut('k', version)
    first.noteEtag('k', { ...version, versionId: '2' }, 'other')
    for (const id of ['one', 'two']) first.noteUpload('k', id)
    first.noteEnd('one')
    first.close()
    appendFileSync(path, '{"leftOut":"[')
    const second = State.open(path, 'from', 'to')
    assert(second.isLeftOut('k', version))
    assert(!second.isLeftOut('k', { ...version, etag: 'b' }))
    assert.equal(second.etagOf('k', { ...version, versionId: '2' }), 'other')
    assert.deepEqual(second.openUploads, [['two', 'k']])
    second.leaveOut('after', version)
    second.close()
    const third = State.open(path, 'from', 'to')
    assert(third.isLeftOut('after', version))
    third.close()
    assert.throws(() => State.open(path, 'elsewhere', 'to'), /another import/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('grants: the owner is replaced, groups stay, unknown accounts are dropped, private ACLs omitted', () => {
  const grant = (grantee: string, permission: string): string =>
    `<Grant><Grantee>${grantee}</Grantee><Permission>${permission}</Permission></Grant>`
  const listOf = (...grants: readonly string[]) =>
    readAccessList(
      parseXml(`<A><Owner><ID>old</ID></Owner><AccessControlList>${grants.join('')}</AccessControlList></A>`),
    )
  const own = grant('<ID>old</ID>', 'FULL_CONTROL')
  assert.deepEqual(
    grantHeaders(listOf(own), 'new', () => false),
    [],
  )
  const list = listOf(own, grant('<URI>all</URI>', 'READ'), grant('<ID>stranger</ID>', 'READ'))
  assert.deepEqual(
    grantHeaders(list, 'new', grantee => grantee === 'stranger'),
    [
      [':grant-full-control', 'id="new"'],
      [':grant-read', 'uri="all"'],
    ],
  )
})

test('a policy is renamed where it names the bucket, and nowhere else', () => {
  const policy = '["arn:aws:s3:::old","arn:aws:s3:::old/*","arn:aws:s3:::older/*","old"]'
  const expected = '["arn:aws:s3:::new","arn:aws:s3:::new/*","arn:aws:s3:::older/*","old"]'
  assert.equal(renamed(Buffer.from(policy), 'old', 'new').toString(), expected)
})

test('a bar shows the share that is done, and never more than all of it', () => {
  assert.match(barOf(5, 10, 2 ** 20), /^\[#{15} {15}\] 50 % 5 of 10 versions, 1\.0 MiB copied$/)
  assert.match(barOf(12, 10, 0), /^\[#{30}\] 100 %/)
  assert.equal(barOf(3, undefined, 0), '3 versions, 0.0 MiB copied')
})
