/** The table of locks, row by row: the response to each request for each state of a version. */
import assert from 'node:assert/strict'
import { elements, get, type Headers, lockBucket, md5Header, put } from './actions.ts'
import { BYPASS, DAY, HOUR, hold, iso, ok, remove, retain } from './lock-requests.ts'
import { inBoth, type Received } from './server.ts'

/** G19: a state of the version, and the response to each request. */
const SECTION_6: readonly {
  readonly state: string
  readonly lock: Headers
  readonly after?: number
  readonly plain: { readonly svc: string; readonly s3: string }
  readonly version: string
  readonly bypassed: string
  readonly shorter: string
  readonly longer: string
}[] = [
  { state: 'no retention, no hold', lock: [], plain: both('204'), ...all('204', '204', '200', '200') },
  {
    state: 'hold OFF',
    lock: [[':object-lock-legal-hold', 'OFF']],
    plain: both('204'),
    ...all('204', '204', '200', '200'),
  },
  { state: 'governance', lock: mode('GOVERNANCE'), plain: both('204'), ...all('403', '204', '403', '200') },
  { state: 'compliance', lock: mode('COMPLIANCE'), plain: both('204'), ...all('403', '403', '403', '403') },
  {
    state: 'governance, over',
    lock: mode('GOVERNANCE'),
    after: DAY,
    plain: both('204'),
    ...all('204', '204', '200', '200'),
  },
  {
    state: 'compliance, over',
    lock: mode('COMPLIANCE'),
    after: DAY,
    plain: both('204'),
    ...all('204', '204', '200', '200'),
  },
  {
    state: 'hold ON',
    lock: [[':object-lock-legal-hold', 'ON']],
    plain: { svc: '403', s3: '204' },
    ...all('403', '403', '200', '200'),
  },
  {
    state: 'hold ON and governance',
    lock: [[':object-lock-legal-hold', 'ON'], ...mode('GOVERNANCE')],
    plain: { svc: '403', s3: '204' },
    ...all('403', '403', '403', '200'),
  },
]

function mode(word: string): Headers {
  return [
    [':object-lock-mode', word],
    [':object-lock-retain-until-date', iso(Date.UTC(2026, 0, 1) + 12 * HOUR)],
  ]
}

function both(status: string): { svc: string; s3: string } {
  return { svc: status, s3: status }
}

function all(version: string, bypassed: string, shorter: string, longer: string) {
  return { version, bypassed, shorter, longer }
}

for (const { state, lock, after = 0, plain, version, bypassed, shorter, longer } of SECTION_6) {
  inBoth(`P1 P2 P12–P16 D10 R39 G19: ${state}`, async (client, { clock }) => {
    const bucket = await lockBucket(client)
    const fresh = async (key: string): Promise<string> =>
      `/${key}?versionId=${await put(client, bucket, `/${key}`, 'x', [md5Header('x'), ...lock])}`
    const [one, two, three, four] = [await fresh('1'), await fresh('2'), await fresh('3'), await fresh('4')]
    clock.move(after)
    const status = async (answer: Promise<Received>): Promise<string> => String((await answer).status)
    assert.equal(await status(remove(client, bucket, '/1')), plain[client.dialect], 'DELETE')
    assert.equal(await status(remove(client, bucket, one)), version, 'DELETE versionId')
    assert.equal(await status(remove(client, bucket, two, BYPASS)), bypassed, 'DELETE versionId with a bypass')
    assert.equal(
      await status(retain(client, bucket, three, 'GOVERNANCE', clock.now() + HOUR)),
      shorter,
      'a shorter one',
    )
    assert.equal(await status(retain(client, bucket, four, 'GOVERNANCE', clock.now() + DAY)), longer, 'a longer one')
    for (const word of ['ON', 'OFF'] as const) assert.equal(await status(hold(client, bucket, four, word)), '200')
    const written = await put(client, bucket, '/4', 'over it', [md5Header('over it')])
    assert.notEqual(four, `/4?versionId=${written}`)
    assert.equal((await get(client, bucket, four)).body.toString(), 'x')
  })
}

inBoth('P2 D10 G19: the current version is a marker', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const first = (await ok(remove(client, bucket, '/k'))).own('version-id')
  const second = (await ok(remove(client, bucket, '/k'))).own('version-id')
  assert.notEqual(first, second)
  for (const path of ['/k', `/k?versionId=${second}`]) {
    assert.equal((await hold(client, bucket, path, 'ON')).status, 405)
    assert.equal((await retain(client, bucket, path, 'GOVERNANCE', clock.now() + HOUR)).status, 405)
  }
  await ok(remove(client, bucket, `/k?versionId=${second}`))
  await put(client, bucket, '/k')
  assert.equal(elements((await get(client, bucket, '/?versions')).xml(), 'Version').length, 2)
})
