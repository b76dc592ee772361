import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { at } from '../../src/store/addresses.ts'
import { documentFormat } from '../../src/store/documents.ts'
import { document, get, put } from './actions.ts'
import { documentSuite, documentsOf, faultIs, shown } from './bucket-documents.ts'
import { inBoth, makeBucket } from './server.ts'

const config = (rules: string): string => `<LifecycleConfiguration>${rules}</LifecycleConfiguration>`
const rule = (inside: string, id = 'one', status = 'Enabled'): string =>
  `<Rule><ID>${id}</ID><Status>${status}</Status>${inside}</Rule>`
const ALL = '<Filter/>'
const DAYS = '<Expiration><Days>1</Days></Expiration>'
const abort = (days: number): string =>
  '<AbortIncompleteMultipartUpload>' +
  `<DaysAfterInitiation>${days}</DaysAfterInitiation></AbortIncompleteMultipartUpload>`
const bad = (inside: string): string => config(rule(inside))

inBoth('2.1 BucketLifecycleConfiguration: the smallest size of transitions is said again', async client => {
  const bucket = await makeBucket(client)
  const name = ':transition-default-minimum-object-size'
  const set = (size?: string) => {
    const { body, headers } = document(bad(ALL + DAYS), size === undefined ? [] : [[name, size]])
    return client.send({ method: 'PUT', bucket, path: '/?lifecycle', body, headers })
  }
  for (const [sent, told] of [
    [undefined, 'all_storage_classes_128K'],
    ['varies_by_storage_class', 'varies_by_storage_class'],
    ['all_storage_classes_128K', 'all_storage_classes_128K'],
  ] as const) {
    const stored = await set(sent)
    assert.equal(stored.status, 200)
    const got = await get(client, bucket, '/?lifecycle')
    for (const answer of [stored, got]) assert.equal(answer.own(name.slice(1)), told)
    assert(!got.body.includes('128K') && !got.body.includes('varies'))
  }
  assert.equal((await set('some')).status, 400)
  // The rules are in force all the same.
  assert.equal((await set('varies_by_storage_class')).status, 200)
  await put(client, bucket, '/k')
  assert.notEqual((await get(client, bucket, '/k')).own('expiration'), undefined)
})

inBoth('section 8 BucketLifecycleConfiguration: a thousand rules, and what no record holds', async client => {
  const at = documentsOf(client, await makeBucket(client), 'lifecycle')
  const rules = (count: number, prefix: (i: number) => string): string =>
    config(
      Array.from({ length: count }, (_, i) => {
        return rule(`<Filter><Prefix>${prefix(i)}</Prefix></Filter>${DAYS}`, `rule-${i}`)
      }).join(''),
    )
  const most = rules(1000, i => `logs/of/some/service/${i}/`)
  assert.equal((await at.put(most)).status, 200)
  assert.equal(shown(await at.get()), most)
  await put(client, at.bucket, '/logs/of/some/service/999/k')
  const told = (await get(client, at.bucket, '/logs/of/some/service/999/k')).own('expiration')
  assert.match(told ?? '', /rule-999/)
  const noise = rules(1000, () => randomBytes(300).toString('hex'))
  faultIs(await at.put(noise), 400, 'MaxMessageLengthExceeded')
  assert.equal(shown(await at.get()), most)
})

documentSuite('BucketLifecycleConfiguration (Get…, Put…, DeleteBucketLifecycle)', {
  query: 'lifecycle',
  good: config(
    rule(
      '<Filter><And><Prefix>logs/</Prefix><Tag><Key>a</Key><Value>b</Value></Tag></And></Filter>' +
        '<Expiration><Days>30</Days></Expiration>' +
        '<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>',
    ) +
      rule(
        '<Prefix></Prefix><NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays><NewerNoncurrentVersions>2' +
          '</NewerNoncurrentVersions></NoncurrentVersionExpiration><AbortIncompleteMultipartUpload>' +
          '<DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>',
        'two',
        'Disabled',
      ) +
      rule(`<Filter></Filter><Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>`, 'three'),
  ),
  absent: 'NoSuchLifecycleConfiguration',
  removable: true,
  bad: [
    ['no rules', config(''), 'MalformedXML'],
    ['1001 rules', config(Array.from({ length: 1001 }, (_, i) => rule(ALL + DAYS, `r${i}`)).join('')), 'MalformedXML'],
    ['a name twice', config(rule(ALL + DAYS) + rule(ALL + DAYS)), 'InvalidArgument'],
    ['a name too long', config(rule(ALL + DAYS, 'x'.repeat(256))), 'InvalidArgument'],
    ['a status that is none', config(rule(ALL + DAYS, 'one', 'enabled')), 'MalformedXML'],
    ['neither filter nor prefix', bad(DAYS), 'MalformedXML'],
    ['filter and prefix', bad(`<Prefix>a</Prefix>${ALL}${DAYS}`), 'InvalidRequest'],
    ['no action', bad(ALL), 'InvalidRequest'],
    [
      'two predicates without And',
      bad(`<Filter><Prefix>a</Prefix><ObjectSizeLessThan>5</ObjectSizeLessThan></Filter>${DAYS}`),
      'MalformedXML',
    ],
    ['no days', bad(`${ALL}<Expiration/>`), 'MalformedXML'],
    ['zero days', bad(`${ALL}<Expiration><Days>0</Days></Expiration>`), 'InvalidArgument'],
    ['days that are no number', bad(`${ALL}<Expiration><Days>1.5</Days></Expiration>`), 'MalformedXML'],
    ['days and date', bad(`${ALL}<Expiration><Days>1</Days><Date>2030-01-01</Date></Expiration>`), 'MalformedXML'],
    ['not midnight', bad(`${ALL}<Expiration><Date>2030-01-01T00:00:01Z</Date></Expiration>`), 'InvalidArgument'],
    ['not a date', bad(`${ALL}<Expiration><Date>soon</Date></Expiration>`), 'MalformedXML'],
    ['zero days of an upload', bad(ALL + abort(0)), 'InvalidArgument'],
    [
      'R67: tags of an upload',
      bad(`<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>${abort(1)}`),
      'InvalidRequest',
    ],
    [
      'a size range without sizes',
      bad(
        '<Filter><And><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>' +
          `<ObjectSizeLessThan>5</ObjectSizeLessThan></And></Filter>${DAYS}`,
      ),
      'InvalidRequest',
    ],
  ],
})

inBoth('R12 PutBucketLifecycleConfiguration: a rule without a name gets one and keeps it', async client => {
  const at = documentsOf(client, await makeBucket(client), 'lifecycle')
  const nameless = `<Rule><Status>Enabled</Status>${ALL}${DAYS}</Rule>`
  assert.equal((await at.put(config(nameless + nameless))).status, 200)
  const ids = async (): Promise<string[]> =>
    (await at.get()).xml().children.map(({ children }) => children.find(({ name }) => name === 'ID')?.text ?? '')
  const [first, second] = await ids()
  assert.match(first ?? '', /^[\w-]{32}$/)
  assert.notEqual(first, second)
  assert.deepEqual(await ids(), [first, second])
})

inBoth(
  'P11 R67 R89 lifecycle rules that are damaged refuse no object; the log tells',
  async (client, { parts, log }) => {
    const bucket = await makeBucket(client)
    const body = config(rule(ALL + DAYS))
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/?lifecycle', ...document(body) })).status, 200)
    await put(client, bucket, '/k', 'kept')
    const key = at.document(bucket, 'lifecycle')
    for (const value of [Buffer.from('no document'), documentFormat.encode('<no rules')]) {
      assert(await parts.store.engine.meta.commit({ checks: [], writes: [{ key, value }] }))
      const told = log.length
      assert.equal((await get(client, bucket, '/k')).body.toString(), 'kept')
      assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 200)
      assert.equal((await client.send({ method: 'PUT', bucket, path: '/other', body: 'x' })).status, 200)
      assert.equal((await client.send({ method: 'POST', bucket, path: '/k?uploads' })).status, 200)
      const lines = log.slice(told).filter(({ level }) => level === 'error')
      assert.equal(lines.length, 4)
      for (const { error } of lines) assert.match(String(error), new RegExp(`lifecycle rules of bucket ${bucket}`))
    }
  },
)
