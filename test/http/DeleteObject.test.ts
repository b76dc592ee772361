import assert from 'node:assert/strict'
import { document, get, lockBucket, outcome, put, text, versionedBucket } from './actions.ts'
import { type Client, inBoth, makeBucket, OTHER, READER } from './server.ts'

const remove = (client: Client, bucket: string, path: string, headers: [string, string][] = []) =>
  client.send({ method: 'DELETE', bucket, path, headers })

const BYPASS: [string, string] = [':bypass-governance-retention', 'true']

async function hold(client: Client, bucket: string, path: string, status: 'ON' | 'OFF'): Promise<void> {
  const body = `<LegalHold><Status>${status}</Status></LegalHold>`
  const sent = document(body, client.dialect === 'svc' ? [[':legal-hold', status]] : [])
  const answer = await client.send({ method: 'PUT', bucket, path: `${path}legal-hold`, ...sent })
  assert.equal(answer.status, 200, answer.body.toString())
}

async function retain(client: Client, bucket: string, path: string, mode: string, until: number): Promise<void> {
  const date = new Date(until).toISOString()
  const sent = document(`<Retention><Mode>${mode}</Mode><RetainUntilDate>${date}</RetainUntilDate></Retention>`)
  const answer = await client.send({ method: 'PUT', bucket, path: `${path}retention`, ...sent })
  assert.equal(answer.status, 200, answer.body.toString())
}

inBoth('G12 DeleteObject: an unversioned delete is idempotent', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  for (let again = 0; again < 2; again++) {
    const answer = await remove(client, bucket, '/k')
    assert.equal(answer.status, 204)
    assert.equal(answer.own('version-id'), undefined)
    assert.equal(answer.own('delete-marker'), undefined)
  }
  assert.equal(outcome(await get(client, bucket, '/k')), '404 NoSuchKey')
})

inBoth(
  'R18 DeleteObject: a delete marker hides, a version id deletes, a marker can be deleted',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const first = await put(client, bucket, '/k', 'one')
    const hidden = await remove(client, bucket, '/k')
    assert.equal(hidden.own('delete-marker'), 'true')
    const marker = hidden.own('version-id')
    const shown = await remove(client, bucket, `/k?versionId=${marker}`)
    assert.equal(shown.status, 204)
    assert.equal(shown.own('delete-marker'), 'true')
    assert.equal(shown.own('version-id'), marker)
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'one')
    const gone = await remove(client, bucket, `/k?versionId=${first}`)
    assert.equal(gone.own('delete-marker'), undefined)
    assert.equal(gone.own('version-id'), first)
    assert.equal((await get(client, bucket, '/k')).status, 404)
  },
)

inBoth('G12 DeleteObject: each delete marker is named as long as it is the newest', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  const markers: (string | undefined)[] = []
  for (const act of ['mark', 'put', 'mark', 'mark', 'put'] as const) {
    if (act === 'put') await put(client, bucket, '/k')
    else markers.unshift((await remove(client, bucket, '/k')).own('version-id'))
  }
  const object = (await get(client, bucket, '/k')).own('version-id')
  assert.equal((await remove(client, bucket, `/k?versionId=${object}`)).status, 204)
  for (const marker of markers.slice(0, 2)) {
    const missing = await get(client, bucket, '/k')
    assert.deepEqual([missing.status, missing.own('delete-marker'), missing.own('version-id')], [404, 'true', marker])
    assert.equal((await remove(client, bucket, `/k?versionId=${marker}`)).status, 204)
  }
  const under = await get(client, bucket, '/k')
  assert.equal(under.status, 200)
  assert.equal((await remove(client, bucket, `/k?versionId=${under.own('version-id')}`)).status, 204)
  assert.equal((await get(client, bucket, '/k')).own('version-id'), markers[2])
})

inBoth('D2 DeleteObject: honours If-Match', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello')
  assert.equal(outcome(await remove(client, bucket, '/k', [['If-Match', '"no"']])), '412 PreconditionFailed')
  const missing = client.dialect === 'svc' ? '412 PreconditionFailed' : '404 NoSuchKey'
  assert.equal(outcome(await remove(client, bucket, '/none', [['If-Match', '*']])), missing)
  const tag = '"5d41402abc4b2a76b9719d911017c592"'
  assert.equal((await remove(client, bucket, '/k', [['If-Match', tag]])).status, 204)
})

inBoth('R9 DeleteObject: needs permission, and a separate one for versions', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  const id = await put(client, bucket, '/k')
  for (const path of ['/k', `/k?versionId=${id}`]) {
    for (const as of [OTHER, READER, null]) {
      assert.equal((await client.send({ method: 'DELETE', bucket, path, as })).status, 403)
    }
  }
  assert.equal((await get(client, bucket, '/k')).status, 200)
})

inBoth(
  'P1 P2 P13 D10 DeleteObject: a version under legal hold cannot be deleted by any caller or path',
  async client => {
    const bucket = await lockBucket(client)
    const id = await put(client, bucket, '/k', 'held')
    await hold(client, bucket, '/k?', 'ON')
    const version = `/k?versionId=${id}`
    for (const headers of [[], [BYPASS]]) {
      const refused = await remove(client, bucket, version, headers)
      assert.equal(outcome(refused), '403 AccessDenied')
      assert(refused.body.includes('protected by object lock'))
    }
    const plain = await remove(client, bucket, '/k')
    if (client.dialect === 'svc') {
      assert.equal(outcome(plain), '403 AccessDenied')
    } else {
      assert.equal(plain.status, 204)
      const marker = await remove(client, bucket, `/k?versionId=${plain.own('version-id')}`)
      assert.equal(marker.status, 204)
    }
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'held')
    await put(client, bucket, '/k', 'newer')
    assert.equal((await get(client, bucket, version)).body.toString(), 'held')
    await hold(client, bucket, `${version}&`, 'OFF')
    assert.equal((await remove(client, bucket, version)).status, 204)
  },
)

inBoth(
  'P12 P14 DeleteObject: governance yields to header and right together, compliance to time',
  async (client, served) => {
    const bucket = await lockBucket(client)
    const until = served.clock.now() + 3_600_000
    const ids = [await put(client, bucket, '/k', '1'), await put(client, bucket, '/k', '2')]
    await retain(client, bucket, `/k?versionId=${ids[0]}&`, 'GOVERNANCE', until)
    await retain(client, bucket, `/k?versionId=${ids[1]}&`, 'COMPLIANCE', until)
    const [governed, complied] = ids.map(id => `/k?versionId=${id}`) as [string, string]
    assert.equal(outcome(await remove(client, bucket, governed)), '403 AccessDenied')
    for (const headers of [[], [BYPASS]]) {
      assert.equal(outcome(await remove(client, bucket, complied, headers)), '403 AccessDenied')
    }
    assert.equal((await remove(client, bucket, governed, [BYPASS])).status, 204)
    served.clock.move(3_600_001)
    assert.equal((await remove(client, bucket, complied)).status, 204)
  },
)

inBoth('G12 P29 DeleteObject: a bypass without object lock and invalid version ids change nothing', async client => {
  const plain = await makeBucket(client)
  await put(client, plain, '/k')
  assert.equal(outcome(await remove(client, plain, '/k', [BYPASS])), '400 InvalidArgument')
  assert.equal((await get(client, plain, '/k')).status, 200)
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  assert.equal(outcome(await remove(client, bucket, '/k', [[BYPASS[0], 'maybe']])), '400 InvalidArgument')
  for (const junk of ['junk', '', '..', 'NULL', '%00']) {
    assert.equal((await remove(client, bucket, `/k?versionId=${junk}`)).status, 400, junk)
  }
  for (const foreign of ['null', 'f'.repeat(32)]) {
    assert.equal((await remove(client, bucket, `/k?versionId=${foreign}`)).status, 204, foreign)
  }
  assert.equal((await get(client, bucket, '/k')).status, 200)
})

inBoth(
  'P12 DeleteObject DeleteObjects: the header alone is not enough, and neither is the right',
  async (client, served) => {
    const bucket = await lockBucket(client)
    const id = await put(client, bucket, '/k')
    await retain(client, bucket, '/k?', 'GOVERNANCE', served.clock.now() + 3_600_000)
    const allow = async (...actions: string[]): Promise<void> => {
      const Statement = [
        {
          Effect: 'Allow',
          Principal: { SVC: [OTHER.accountId] },
          Action: actions.map(action => `svc:${action}`),
          Resource: `arn:svc:svc:::${bucket}/*`,
        },
      ]
      const body = JSON.stringify({ Version: '2012-10-17', Statement })
      const set = await client.send({ method: 'PUT', bucket, path: '/?policy', ...document(body) })
      assert.equal(set.status, 204, set.body.toString())
    }
    const path = `/k?versionId=${id}`
    const removeAsOther = (headers: [string, string][]) =>
      client.send({ method: 'DELETE', bucket, path, headers, as: OTHER })
    const body = `<Delete><Object><Key>k</Key><VersionId>${id}</VersionId></Object></Delete>`
    const batch = document(body, [BYPASS])
    await allow('DeleteObjectVersion')
    assert.equal(outcome(await removeAsOther([])), '403 AccessDenied')
    assert.equal(outcome(await removeAsOther([BYPASS])), '403 AccessDenied')
    const many = await client.send({ method: 'POST', bucket, path: '/?delete', ...batch, as: OTHER })
    assert(many.body.includes('<Code>AccessDenied</Code>'))
    await allow('DeleteObjectVersion', 'BypassGovernanceRetention')
    assert.equal(outcome(await removeAsOther([])), '403 AccessDenied')
    assert.equal((await get(client, bucket, path)).status, 200)
    const all = await client.send({ method: 'POST', bucket, path: '/?delete', ...batch, as: OTHER })
    assert(!all.body.includes('<Error>'), all.body.toString())
    assert.equal((await get(client, bucket, path)).status, 404)
  },
)

inBoth('DeleteObject DeleteObjects: size and date conditions are checked in the deleting commit', async client => {
  const bucket = await makeBucket(client)
  const date = async (): Promise<string> => {
    await put(client, bucket, '/k', 'hello')
    return (await get(client, bucket, '/k')).headers.get('last-modified')!
  }
  const modified = await date()
  const removing = (...headers: [string, string][]) => client.send({ method: 'DELETE', bucket, path: '/k', headers })
  const old = 'Mon, 01 Jan 2018 00:00:00 GMT'
  const [size, time] = [':if-match-size', ':if-match-last-modified-time'] as const
  for (const headers of [
    [[size, '4']],
    [[time, old]],
    [
      [size, '5'],
      [time, old],
    ],
    [
      [size, '4'],
      ['If-Match', '*'],
    ],
    [
      [size, '5'],
      ['If-Match', '"other"'],
    ],
  ] as [string, string][][]) {
    assert.equal(outcome(await removing(...headers)), '412 PreconditionFailed', headers.join())
  }
  for (const header of [
    [size, '-1'],
    [size, 'five'],
    [time, 'lately'],
  ] as [string, string][]) {
    assert.equal(outcome(await removing(header)), '400 InvalidArgument', header.join())
  }
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'hello')
  assert.equal(outcome(await removing([size, '5'], [time, modified], ['If-Match', '*'])), '204')
  assert.equal((await get(client, bucket, '/k')).status, 404)
  // As S3 documents it: without an object the conditions do not apply.
  assert.equal(outcome(await removing([size, '5'], [time, modified])), '204')
  const iso = new Date(await date()).toISOString()
  assert.equal(outcome(await removing([time, iso])), '204')
})

inBoth('DeleteObjects: each key has its own conditions on size and date', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a', 'b', 'c', 'd']) await put(client, bucket, `/${key}`, 'hello')
  const modified = (await get(client, bucket, '/a')).headers.get('last-modified')!
  const object = (key: string, inside: string): string => `<Object><Key>${key}</Key>${inside}</Object>`
  const body = [
    object('a', `<Size>5</Size><LastModifiedTime>${modified}</LastModifiedTime>`),
    object('b', '<Size>4</Size>'),
    object('c', '<LastModifiedTime>Mon, 01 Jan 2018 00:00:00 GMT</LastModifiedTime>'),
    object('none', '<Size>4</Size>'),
  ].join('')
  const batch = (inside: string) =>
    client.send({ method: 'POST', bucket, path: '/?delete', ...document(`<Delete>${inside}</Delete>`) })
  const answer = await batch(body)
  assert.deepEqual(
    answer.xml().children.map(node => [node.name, text(node, 'Key'), text(node, 'Code')]),
    [
      ['Deleted', 'a', undefined],
      ['Error', 'b', 'PreconditionFailed'],
      ['Error', 'c', 'PreconditionFailed'],
      ['Deleted', 'none', undefined],
    ],
  )
  assert.equal(outcome(await batch(object('d', '<Size>many</Size>'))), '400 InvalidArgument')
  for (const [path, status] of [
    ['/a', 404],
    ['/b', 200],
    ['/c', 200],
    ['/d', 200],
  ] as const) {
    assert.equal((await get(client, bucket, path)).status, status, path)
  }
})
