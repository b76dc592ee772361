import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { XmlNode } from '../../src/lib/xml.ts'
import {
  document,
  elements,
  get,
  type Headers,
  lockBucket,
  md5Header,
  outcome,
  put,
  text,
  versionedBucket,
} from './actions.ts'
import { BYPASS, DAY, hold, ok, retain } from './lock-requests.ts'
import { type Client, inBoth, makeBucket, OTHER, READER, type Received, type Who } from './server.ts'

interface Wanted {
  readonly key: string
  readonly versionId?: string | undefined
  readonly etag?: string
}

const escaped = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function batch(wanted: readonly Wanted[], quiet = false): string {
  const objects = wanted.map(({ key, versionId, etag }) => {
    const version = versionId === undefined ? '' : `<VersionId>${versionId}</VersionId>`
    const tag = etag === undefined ? '' : `<ETag>${etag}</ETag>`
    return `<Object><Key>${escaped(key)}</Key>${version}${tag}</Object>`
  })
  return `<Delete>${quiet ? '<Quiet>true</Quiet>' : ''}${objects.join('')}</Delete>`
}

function removeAll(
  client: Client,
  bucket: string,
  body: string,
  headers: Headers = [],
  as?: Who | null,
): Promise<Received> {
  const sent = document(body, headers)
  return client.send({ method: 'POST', bucket, path: '/?delete', ...sent, ...(as === undefined ? {} : { as }) })
}

const failures = (answer: XmlNode): string[] =>
  elements(answer, 'Error').map(error => `${text(error, 'Key')} ${text(error, 'Code')}`)

const removed = (answer: XmlNode): (string | undefined)[] =>
  elements(answer, 'Deleted').map(deleted => text(deleted, 'Key'))

inBoth('G12 DeleteObjects: deletes many keys, missing ones included; Quiet returns only errors', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a', 'b', 'c']) await put(client, bucket, `/${key}`)
  const answer = await removeAll(client, bucket, batch([{ key: 'a' }, { key: 'none' }]))
  assert.equal(answer.status, 200)
  assert.equal(answer.xml().name, 'DeleteResult')
  assert.deepEqual(removed(answer.xml()), ['a', 'none'])
  const quiet = await removeAll(client, bucket, batch([{ key: 'b' }], true))
  assert.deepEqual(quiet.xml().children, [])
  assert.equal((await get(client, bucket, '/a')).status, 404)
  assert.equal((await get(client, bucket, '/b')).status, 404)
  assert.equal((await get(client, bucket, '/c')).status, 200)
})

inBoth('G12 DeleteObjects: results distinguish delete markers from versions', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  const id = await put(client, bucket, '/k')
  const [hidden] = elements((await removeAll(client, bucket, batch([{ key: 'k' }]))).xml(), 'Deleted')
  assert.equal(text(hidden!, 'DeleteMarker'), 'true')
  assert.equal(text(hidden!, 'VersionId'), undefined)
  const marker = text(hidden!, 'DeleteMarkerVersionId')
  const answer = await removeAll(
    client,
    bucket,
    batch([
      { key: 'k', versionId: marker },
      { key: 'k', versionId: id },
    ]),
  )
  const [first, second] = elements(answer.xml(), 'Deleted')
  assert.equal(text(first!, 'DeleteMarkerVersionId'), marker)
  assert.equal(text(second!, 'VersionId'), id)
  assert.equal(text(second!, 'DeleteMarker'), undefined)
  assert.equal((await get(client, bucket, `/k?versionId=${id}`)).status, 404)
})

inBoth('P3 DeleteObjects: locked versions are reported and kept, the others deleted, in any order', async client => {
  const bucket = await lockBucket(client)
  const ids = new Map<string, string | undefined>()
  for (const key of ['free1', 'held', 'free2']) ids.set(key, await put(client, bucket, `/${key}`))
  const hold = document(
    '<LegalHold><Status>ON</Status></LegalHold>',
    client.dialect === 'svc' ? [[':legal-hold', 'ON']] : [],
  )
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/held?legal-hold', ...hold })).status, 200)
  const wanted = ['free1', 'held', 'free2'].map(key => ({ key, versionId: ids.get(key) }))
  const bypass: Headers = [[':bypass-governance-retention', 'true']]
  const answer = await removeAll(client, bucket, batch(wanted, true), bypass)
  assert.equal(answer.status, 200)
  assert.deepEqual(failures(answer.xml()), ['held AccessDenied'])
  assert.equal((await get(client, bucket, `/held?versionId=${ids.get('held')}`)).status, 200)
  for (const key of ['free1', 'free2']) {
    assert.equal((await get(client, bucket, `/${key}?versionId=${ids.get(key)}`)).status, 404)
  }
  // D10: hiding a held version is refused in one dialect, key by key.
  const hiding = (await removeAll(client, bucket, batch([{ key: 'held' }, { key: 'other' }]))).xml()
  assert.deepEqual(failures(hiding), client.dialect === 'svc' ? ['held AccessDenied'] : [])
})

inBoth('R9 DeleteObjects: permission is checked key by key', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/a')
  for (const as of [OTHER, READER, null]) {
    const answer = await removeAll(client, bucket, batch([{ key: 'a' }, { key: 'none' }]), [], as)
    assert.deepEqual(failures(answer.xml()), ['a AccessDenied', 'none AccessDenied'])
  }
  assert.equal((await get(client, bucket, '/a')).status, 200)
})

inBoth('G12 A64 DeleteObjects: an invalid body changes nothing', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/a')
  const many = Array.from({ length: 1001 }, () => ({ key: 'a' }))
  for (const body of [
    batch([]),
    batch(many),
    '',
    '<Delete>',
    `<Delete><Object><Key>a</Key></Object>${' '.repeat(2 * 2 ** 20)}</Delete>`,
    '<Remove><Object><Key>a</Key></Object></Remove>',
    '<Delete><Object><Key>a</Key><Key>b</Key></Object></Delete>',
    '<!DOCTYPE x [<!ENTITY e "a">]><Delete><Object><Key>&e;</Key></Object></Delete>',
    '<Delete><Object><Key>a</Key></Object><__proto__/></Delete>',
  ]) {
    assert.equal(outcome(await removeAll(client, bucket, body)), '400 MalformedXML', body.slice(0, 60))
  }
  const unproven = await client.send({ method: 'POST', bucket, path: '/?delete', body: batch([{ key: 'a' }]) })
  assert.equal(outcome(unproven), '400 InvalidRequest')
  const headers = [md5Header('something else')]
  const other = await client.send({ method: 'POST', bucket, path: '/?delete', body: batch([{ key: 'a' }]), headers })
  assert.equal(outcome(other), '400 BadDigest')
  const sized = '<Delete><Object><Key>a</Key><Size>9</Size></Object></Delete>'
  assert.equal(text((await removeAll(client, bucket, sized)).xml().children[0]!, 'Code'), 'PreconditionFailed')
  assert.equal((await get(client, bucket, '/a')).status, 200)
})

inBoth('A39 DeleteObjects: unusual keys are literal, invalid ones fail alone, conditions apply', async client => {
  const [bucket, beside] = [await makeBucket(client), await makeBucket(client, 'beside')]
  for (const at of [bucket, beside]) await put(client, at, '/k', 'hello')
  await put(client, bucket, '/__proto__')
  const keys = ['../beside/k', '__proto__', 'x'.repeat(1025), '']
  const answer = (await removeAll(client, bucket, batch(keys.map(key => ({ key }))))).xml()
  assert.deepEqual(removed(answer), ['../beside/k', '__proto__'])
  assert.deepEqual(failures(answer), [`${'x'.repeat(1025)} KeyTooLongError`, ' InvalidArgument'])
  assert.equal((await get(client, beside, '/k')).status, 200)
  const junk = (
    await removeAll(
      client,
      bucket,
      batch([
        { key: 'k', versionId: 'junk' },
        { key: 'k', etag: '"no"' },
      ]),
    )
  ).xml()
  assert.deepEqual(failures(junk), ['k NoSuchVersion', 'k PreconditionFailed'])
  assert.equal(text(elements(junk, 'Error')[0]!, 'Message'), 'The specified version does not exist.')
  assert.equal((await get(client, bucket, '/k')).status, 200)
  const matched = batch([{ key: 'k', etag: '"5d41402abc4b2a76b9719d911017c592"' }])
  assert.deepEqual(removed((await removeAll(client, bucket, matched)).xml()), ['k'])
})

inBoth('G12 DeleteObjects: accepts a thousand keys', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k999')
  const keys = Array.from({ length: 1000 }, (_, i) => ({ key: `k${i}` }))
  const answer = (await removeAll(client, bucket, batch(keys))).xml()
  assert.deepEqual(
    removed(answer),
    keys.map(({ key }) => key),
  )
  assert.equal((await get(client, bucket, '/k999')).status, 404)
})

inBoth('P12 DeleteObjects: a bypass on a bucket without object lock is ignored', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'x')
  const bypass: Headers = [[':bypass-governance-retention', 'true']]
  const body = batch([{ key: 'k' }])
  const answer = await client.send({ method: 'POST', bucket, path: '/?delete', ...document(body, bypass) })
  assert.equal(outcome(answer), '200')
  assert.equal(elements(answer.xml(), 'Deleted').length, 1)
  assert.equal((await get(client, bucket, '/k')).status, 404)
  const odd: Headers = [[':bypass-governance-retention', 'maybe']]
  const refused = await client.send({ method: 'POST', bucket, path: '/?delete', ...document(body, odd) })
  assert.equal(outcome(refused), '400 InvalidArgument')
  const one = await client.send({ method: 'DELETE', bucket, path: '/k', headers: bypass })
  assert.equal(outcome(one), '400 InvalidArgument')
})

/** A request for one key, and the object that it meets. */
const single = fc.record({
  bucket: fc.constantFrom('plain', 'versioned', 'locked', 'locked'),
  object: fc.constantFrom('missing', 'free', 'held', 'governed', 'compliant'),
  names: fc.constantFrom('key', 'version', 'version', 'no version'),
  etag: fc.constantFrom(undefined, undefined, '"5d41402abc4b2a76b9719d911017c592"', '"no"'),
  quiet: fc.boolean(),
  bypass: fc.boolean(),
  as: fc.constantFrom(undefined, undefined, OTHER),
})
type Single = typeof single extends fc.Arbitrary<infer T> ? T : never

/** The requests that a lock decides. */
const DECISIVE = (['held', 'governed', 'compliant'] as const).flatMap(object =>
  [true, false].map((bypass): [Single] => [
    { bucket: 'locked', object, names: 'version', etag: undefined, quiet: bypass, bypass, as: undefined },
  ]),
)

/** Creates the object in a bucket, and returns the id of its version. */
async function prepare(client: Client, bucket: string, key: string, { object }: Single): Promise<string | undefined> {
  if (object === 'missing') return undefined
  const id = await put(client, bucket, `/${key}`, 'hello')
  const until = Date.now() + DAY
  if (!bucket.startsWith('locked')) return id
  if (object === 'held') await ok(hold(client, bucket, `/${key}`, 'ON'))
  if (object === 'governed') await ok(retain(client, bucket, `/${key}`, 'GOVERNANCE', until))
  if (object === 'compliant') await ok(retain(client, bucket, `/${key}`, 'COMPLIANCE', until))
  return id
}

/** Ids and times differ from one bucket to the other. */
const comparable = (answer: Received): string =>
  answer.body
    .toString()
    .replace(/<(Deleted|Error)><Key>absent.*?<\/\1>/, '')
    .replace(/[0-9a-f]{32}(?=<\/(Delete)?(Marker)?VersionId>)/g, 'id')
    .replace(/<(Name|LastModified)>[^<]*/g, '<$1>')

inBoth(
  'P3 DeleteObjects: a batch of one key answers and acts as a larger batch does for it',
  async (client, served) => {
    const { parts } = served
    for (const one of ['alone', 'beside']) {
      await makeBucket(client, `plain-${one}`)
      await versionedBucket(client, parts, `versioned-${one}`)
      await lockBucket(client, `locked-${one}`)
    }
    let runs = 0
    const property = fc.asyncProperty(single, async request => {
      const key = `key${++runs}`
      const answers = ['alone', 'beside'].map(async one => {
        const bucket = `${request.bucket}-${one}`
        const id = await prepare(client, bucket, key, request)
        const versionId = { key: undefined, version: id ?? 'null', 'no version': 'f'.repeat(32) }[request.names]
        const wanted = { key, versionId, ...(request.etag === undefined ? {} : { etag: request.etag }) }
        const all = one === 'alone' ? [wanted] : [wanted, { key: `absent${runs}` }]
        const headers = request.bypass ? BYPASS : []
        const answer = await removeAll(client, bucket, batch(all, request.quiet), headers, request.as)
        const left = await client.send({ method: 'GET', bucket, path: `/?versions&prefix=${key}` })
        return [answer.status, comparable(answer), comparable(left)]
      })
      const [alone, beside] = await Promise.all(answers)
      assert.deepEqual(alone, beside)
    })
    await fc.assert(property, { numRuns: 60, examples: DECISIVE })
  },
)

/** A machine that is busy otherwise does not count. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

inBoth('A67 DeleteObjects: other requests are served while a hostile policy refuses many keys', async client => {
  const bucket = await makeBucket(client)
  const agent = 'a'.repeat(12_000)
  const policy = {
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: { SVC: OTHER.accountId },
      Action: 'svc:DeleteObject',
      Resource: `arn:svc:svc:::${bucket}/*`,
      Condition: { StringLike: { 'aws:UserAgent': `*a${'?'.repeat(5_998)}x*` } },
    },
  }
  const at = { method: 'PUT', bucket, path: '/?policy', body: JSON.stringify(policy) }
  assert.equal((await client.send(at)).status, 204)
  const wanted = Array.from({ length: 60 }, (_, index) => ({ key: `k${index}` }))
  let last = processorMs()
  let longest = 0
  const beats = setInterval(() => {
    longest = Math.max(longest, processorMs() - last)
    last = processorMs()
  }, 1)
  const began = processorMs()
  const answer = await removeAll(client, bucket, batch(wanted), [['User-Agent', agent]], OTHER)
  const took = processorMs() - began
  clearInterval(beats)
  assert.equal(failures(answer.xml()).length, wanted.length)
  assert(longest < took / 3, `${longest} ms of ${took} ms`)
})
