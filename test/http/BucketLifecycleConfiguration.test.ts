import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { maintenanceTasks } from '../../src/server/maintenance.ts'
import { documentFormat } from '../../src/store/buckets/documents.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
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

inBoth('G15 BucketLifecycleConfiguration: the minimum transition size is echoed', async client => {
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
  // The rules apply regardless.
  assert.equal((await set('varies_by_storage_class')).status, 200)
  await put(client, bucket, '/k')
  assert.notEqual((await get(client, bucket, '/k')).own('expiration'), undefined)
})

inBoth(
  'G20 BucketLifecycleConfiguration: a thousand rules are stored, an oversized document is refused',
  async client => {
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
  },
)

inBoth('A65 PutBucketLifecycleConfiguration: what cannot be read again is refused', async client => {
  const at = documentsOf(client, await makeBucket(client), 'lifecycle')
  const quotes = (count: number): string => bad(`<Filter><Prefix>${'"'.repeat(count)}</Prefix></Filter>${DAYS}`)
  assert.equal((await at.put(quotes(99_000))).status, 200)
  assert.equal((await at.get()).status, 200)
  faultIs(await at.put(quotes(101_000)), 400, 'MalformedXML')
  assert.equal((await at.get()).status, 200)
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

inBoth('R12 PutBucketLifecycleConfiguration: a rule without an ID gets one and keeps it', async client => {
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

inBoth('P11 R67 R89 damaged lifecycle rules fail no request, and are logged', async (client, { parts, log }) => {
  const bucket = await makeBucket(client)
  const body = config(rule(ALL + DAYS))
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?lifecycle', ...document(body) })).status, 200)
  await put(client, bucket, '/k', 'kept')
  const key = recordKey.document(bucket, 'lifecycle')
  for (const value of [Buffer.from('no document'), documentFormat.encode('<no rules')]) {
    assert(await parts.store.context.meta.commit({ checks: [], writes: [{ key, value }] }))
    const told = log.length
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'kept')
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 200)
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/other', body: 'x' })).status, 200)
    assert.equal((await client.send({ method: 'POST', bucket, path: '/k?uploads' })).status, 200)
    const lines = log.slice(told).filter(({ level }) => level === 'error')
    assert.equal(lines.length, 4)
    for (const { error } of lines) assert.match(String(error), new RegExp(`lifecycle rules of bucket ${bucket}`))
  }
})

const to = (time: string, storageClass: string): string =>
  `<Transition>${time}<StorageClass>${storageClass}</StorageClass></Transition>`
const after = (days: number | string): string => `<Days>${days}</Days>`
const on = (date: string): string => `<Date>${date}</Date>`
const older = (days: number, storageClass: string, more = ''): string =>
  `<NoncurrentVersionTransition><NoncurrentDays>${days}</NoncurrentDays>${more}` +
  `<StorageClass>${storageClass}</StorageClass></NoncurrentVersionTransition>`
const expires = (time: string): string => `<Expiration>${time}</Expiration>`
const gone = (days: number): string =>
  `<NoncurrentVersionExpiration><NoncurrentDays>${days}</NoncurrentDays></NoncurrentVersionExpiration>`
const newer = (count: number): string => `<NewerNoncurrentVersions>${count}</NewerNoncurrentVersions>`

inBoth(
  'G15 PutBucketLifecycleConfiguration: transitions are stored and returned as S3 documents them',
  async client => {
    const documents = documentsOf(client, await makeBucket(client), 'lifecycle')
    for (const actions of [
      to(after(0), 'GLACIER'),
      to(after(30), 'STANDARD_IA') + to(after(60), 'GLACIER') + to(after(61), 'DEEP_ARCHIVE') + expires(after(62)),
      to(after(61), 'DEEP_ARCHIVE') + to(after(0), 'INTELLIGENT_TIERING') + to(after(1), 'GLACIER_IR'),
      to(on('2030-01-01T00:00:00Z'), 'ONEZONE_IA') + expires(on('2030-01-02')),
      to(after(1), 'GLACIER') + gone(1),
      older(30, 'STANDARD_IA', newer(100)) + older(90, 'GLACIER') + gone(91),
    ]) {
      const document = bad(`<Filter></Filter>${actions}`)
      assert.equal((await documents.put(document)).status, 200, actions)
      assert.equal(shown(await documents.get()), document)
    }
  },
)

inBoth('G15 PutBucketLifecycleConfiguration: transitions that S3 rejects are rejected', async client => {
  const documents = documentsOf(client, await makeBucket(client), 'lifecycle')
  for (const [actions, code] of [
    ['<Transition/>', 'MalformedXML'],
    ['<Transition><Days>30</Days></Transition>', 'MalformedXML'],
    [to('', 'GLACIER'), 'MalformedXML'],
    [to(after(1) + on('2030-01-01'), 'GLACIER'), 'MalformedXML'],
    [to(after(30), 'FROZEN'), 'MalformedXML'],
    [to(after(30), 'STANDARD'), 'MalformedXML'],
    [to(after('x'), 'GLACIER'), 'MalformedXML'],
    [to(on('soon'), 'GLACIER'), 'MalformedXML'],
    [to(`${after(1)}<Hours>1</Hours>`, 'GLACIER'), 'MalformedXML'],
    [to(after(-1), 'GLACIER'), 'InvalidArgument'],
    [to(after(29), 'STANDARD_IA'), 'InvalidArgument'],
    [to(after(29), 'ONEZONE_IA'), 'InvalidArgument'],
    [to(on('2030-01-01T01:00:00Z'), 'GLACIER'), 'InvalidArgument'],
    [to(after(1), 'GLACIER') + expires(after(1)), 'InvalidArgument'],
    [to(on('2030-01-02'), 'GLACIER') + expires(on('2030-01-01')), 'InvalidArgument'],
    [to(after(30), 'STANDARD_IA') + to(after(59), 'GLACIER'), 'InvalidArgument'],
    [to(after(90), 'GLACIER') + to(after(90), 'DEEP_ARCHIVE'), 'InvalidArgument'],
    [to(after(1), 'GLACIER') + to(after(2), 'GLACIER'), 'InvalidRequest'],
    [to(after(1), 'GLACIER') + expires(on('2030-01-01')), 'InvalidRequest'],
    [to(after(1), 'GLACIER') + to(on('2030-01-01'), 'DEEP_ARCHIVE'), 'InvalidRequest'],
    ['<NoncurrentVersionTransition><StorageClass>GLACIER</StorageClass></NoncurrentVersionTransition>', 'MalformedXML'],
    [older(1, 'FROZEN'), 'MalformedXML'],
    [older(-1, 'GLACIER'), 'InvalidArgument'],
    [older(29, 'STANDARD_IA'), 'InvalidArgument'],
    [older(1, 'GLACIER', newer(0)), 'InvalidArgument'],
    [older(1, 'GLACIER', newer(101)), 'InvalidArgument'],
    [older(2, 'GLACIER') + gone(2), 'InvalidArgument'],
    [older(2, 'GLACIER') + older(3, 'GLACIER'), 'InvalidRequest'],
  ] as const) {
    faultIs(await documents.put(bad(`${ALL}${actions}`)), 400, code)
  }
  assert.equal((await documents.get()).status, 404)
})

inBoth(
  'G15 lifecycle rules stored before transitions were validated stay in force, and the log says so',
  async (client, served) => {
    const bucket = await makeBucket(client)
    const { store } = served.parts
    await documentsOf(client, bucket, 'lifecycle').put(bad(ALL + DAYS))
    const value = documentFormat.encode(bad(`${ALL}${DAYS}<Transition/>`))
    assert(
      await store.context.meta.commit({
        checks: [],
        writes: [{ key: recordKey.document(bucket, 'lifecycle'), value }],
      }),
    )
    await put(client, bucket, '/k')
    assert.notEqual((await get(client, bucket, '/k')).own('expiration'), undefined)
    const lines: Readonly<Record<string, unknown>>[] = []
    const chores = maintenanceTasks(store, { log: line => void lines.push(line), notice() {}, abort() {} })
    const { worker } = chores.find(({ name }) => name === 'lifecycle')!
    for (let round = 0; round < 2; round++) while ((await worker.step()) === 'busy');
    assert.deepEqual(
      lines.map(line => [line.level, line.bucket]),
      [['warn', bucket]],
    )
    assert.match(String(lines[0]?.lifecycle), /only one storage tier/)
  },
)

inBoth(
  'G15 PutBucketLifecycleConfiguration: filters with And, sizes and newer noncurrent versions are accepted',
  async client => {
    const bucket = await makeBucket(client)
    const documents = documentsOf(client, bucket, 'lifecycle')
    const tag = '<Tag><Key>a</Key><Value>b</Value></Tag>'
    const sizes = '<ObjectSizeGreaterThan>1</ObjectSizeGreaterThan><ObjectSizeLessThan>9</ObjectSizeLessThan>'
    await put(client, bucket, '/logs/k', 'some', [[':tagging', 'a=b&c=']])
    await put(client, bucket, '/logs/other', 'some')
    for (const predicates of [
      `<Prefix>logs/</Prefix>${tag}`,
      `${tag}<Prefix>logs/</Prefix>`,
      `<Prefix>logs/</Prefix>${tag}<Tag><Key>c</Key><Value></Value></Tag>${sizes}`,
      `${tag}${sizes}`,
    ]) {
      const document = bad(`<Filter><And>${predicates}</And></Filter>${DAYS}`)
      assert.equal((await documents.put(document)).status, 200, predicates)
      assert.equal(shown(await documents.get()), document)
      assert.notEqual((await get(client, bucket, '/logs/k')).own('expiration'), undefined)
      assert.equal((await get(client, bucket, '/logs/other')).own('expiration'), undefined)
    }
    const few = `<NoncurrentVersionExpiration>${newer(3)}</NoncurrentVersionExpiration>`
    assert.equal((await documents.put(bad(ALL + few))).status, 200)
    faultIs(await documents.put(bad(`${ALL}<NoncurrentVersionExpiration/>`)), 400, 'MalformedXML')
  },
)
