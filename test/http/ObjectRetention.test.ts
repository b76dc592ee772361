import assert from 'node:assert/strict'
import { document, get, type Headers, lockBucket, outcome, put, text } from './actions.ts'
import { type Client, inBoth, makeBucket, OTHER, READER, type Received, type Who } from './server.ts'

const HOUR = 3_600_000
const BYPASS: Headers = [[':bypass-governance-retention', 'true']]

const retention = (mode: string, until: number): string =>
  `<Retention><Mode>${mode}</Mode><RetainUntilDate>${new Date(until).toISOString()}</RetainUntilDate></Retention>`

function retain(
  client: Client,
  bucket: string,
  body: string,
  headers: Headers = [],
  as?: Who | null,
): Promise<Received> {
  const sent = document(body, headers)
  return client.send({ method: 'PUT', bucket, path: '/k?retention', ...sent, ...(as === undefined ? {} : { as }) })
}

async function shown(client: Client, bucket: string): Promise<string> {
  const answer = await get(client, bucket, '/k?retention')
  if (answer.status !== 200) return outcome(answer)
  return `${text(answer.xml(), 'Mode')} ${text(answer.xml(), 'RetainUntilDate')}`
}

inBoth('G19 PutObjectRetention: is returned by GetObjectRetention, GET and HEAD', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  assert.equal(await shown(client, bucket), '404 NoSuchObjectLockConfiguration')
  const until = clock.now() + HOUR
  assert.equal((await retain(client, bucket, retention('GOVERNANCE', until))).status, 200)
  assert.equal(await shown(client, bucket), `GOVERNANCE ${new Date(until).toISOString()}`)
  for (const method of ['GET', 'HEAD']) {
    const answer = await client.send({ method, bucket, path: '/k' })
    assert.equal(answer.own('object-lock-mode'), 'GOVERNANCE')
    assert.equal(answer.own('object-lock-retain-until-date'), new Date(until).toISOString())
    assert.equal(answer.own('object-lock-legal-hold'), undefined)
  }
})

inBoth('R27 G20 PutObjectRetention PutObject: a hundred years at most', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const longest = clock.now() + 36_525 * 24 * HOUR
  const store = (until: number) => {
    const mode: Headers = [[':object-lock-mode', 'GOVERNANCE']]
    const date: Headers = [[':object-lock-retain-until-date', new Date(until).toISOString()]]
    return client.send({ method: 'PUT', bucket, path: '/new', ...document('x', [...mode, ...date]) })
  }
  assert.equal(outcome(await store(longest + 1)), '400 InvalidArgument')
  assert.equal(outcome(await retain(client, bucket, retention('COMPLIANCE', longest + 1))), '400 InvalidArgument')
  assert.equal(await shown(client, bucket), '404 NoSuchObjectLockConfiguration')
  assert.equal((await store(longest)).status, 200)
  assert.equal((await retain(client, bucket, retention('COMPLIANCE', longest))).status, 200)
})

inBoth('P12 P15 PutObjectRetention: permitted changes by mode and caller', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const until = clock.now() + HOUR
  const denied = '403 AccessDenied'
  const step = async (body: string, headers: Headers, wanted: string): Promise<void> =>
    assert.equal(outcome(await retain(client, bucket, body, headers)), wanted, body)
  await step(retention('GOVERNANCE', until), [], '200')
  await step(retention('GOVERNANCE', until + HOUR), [], '200')
  await step(retention('GOVERNANCE', until), [], denied)
  await step(retention('COMPLIANCE', until + HOUR), [], denied)
  await step('<Retention/>', [], denied)
  assert.equal(await shown(client, bucket), `GOVERNANCE ${new Date(until + HOUR).toISOString()}`)
  await step(retention('GOVERNANCE', until), BYPASS, '200')
  await step('<Retention/>', BYPASS, '200')
  assert.equal(await shown(client, bucket), '404 NoSuchObjectLockConfiguration')
  await step(retention('COMPLIANCE', until), [], '200')
  for (const headers of [[], BYPASS]) {
    await step(retention('COMPLIANCE', until - 1000), headers, denied)
    await step(retention('GOVERNANCE', until + HOUR), headers, denied)
    await step('<Retention/>', headers, denied)
  }
  await step(retention('COMPLIANCE', until + HOUR), [], '200')
  clock.move(2 * HOUR + 1)
  await step(retention('GOVERNANCE', clock.now() + HOUR), [], '200')
})

inBoth('P16 PutObjectRetention: legal hold and retention are independent', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  const id = await put(client, bucket, '/k')
  const until = clock.now() + HOUR
  await retain(client, bucket, retention('GOVERNANCE', until))
  const hold = (status: string) =>
    client.send({
      method: 'PUT',
      bucket,
      path: '/k?legal-hold',
      ...document(
        `<LegalHold><Status>${status}</Status></LegalHold>`,
        client.dialect === 'svc' ? [[':legal-hold', status]] : [],
      ),
    })
  const remove = () => client.send({ method: 'DELETE', bucket, path: `/k?versionId=${id}` })
  assert.equal((await hold('ON')).status, 200)
  assert.equal(await shown(client, bucket), `GOVERNANCE ${new Date(until).toISOString()}`)
  clock.move(HOUR + 1)
  assert.equal((await remove()).status, 403)
  assert.equal((await retain(client, bucket, retention('GOVERNANCE', clock.now() + HOUR))).status, 200)
  assert.equal((await hold('OFF')).status, 200)
  assert.equal((await remove()).status, 403)
  clock.move(HOUR + 1)
  assert.equal((await remove()).status, 204)
})

inBoth('P25 D7 PutObjectRetention: invalid documents and targets change nothing', async (client, { clock }) => {
  const plain = await makeBucket(client)
  await put(client, plain, '/k')
  const until = clock.now() + HOUR
  const without = client.dialect === 'svc' ? '404 ObjectLockConfigurationNotFoundError' : '400 InvalidRequest'
  assert.equal(outcome(await retain(client, plain, retention('GOVERNANCE', until))), without)
  assert.equal(outcome(await get(client, plain, '/k?retention')), without)
  const bucket = await lockBucket(client)
  assert.equal(outcome(await retain(client, bucket, retention('GOVERNANCE', until))), '404 NoSuchKey')
  await put(client, bucket, '/k')
  for (const [body, wanted] of [
    [retention('governance', until), '400 MalformedXML'],
    ['<Retention><Mode>GOVERNANCE</Mode></Retention>', '400 MalformedXML'],
    [retention('GOVERNANCE', until).replace('<Mode>GOVERNANCE</Mode>', ''), '400 MalformedXML'],
    ['<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>soon</RetainUntilDate></Retention>', '400 MalformedXML'],
    ['', '400 MalformedXML'],
    [retention('GOVERNANCE', clock.now()), '400 InvalidArgument'],
    [retention('GOVERNANCE', clock.now() - HOUR), '400 InvalidArgument'],
  ] as const) {
    assert.equal(outcome(await retain(client, bucket, body)), wanted, body)
  }
  const body = retention('GOVERNANCE', until)
  assert.equal(outcome(await client.send({ method: 'PUT', bucket, path: '/k?retention', body })), '400 InvalidRequest')
  assert.equal(await shown(client, bucket), '404 NoSuchObjectLockConfiguration')
  await client.send({ method: 'DELETE', bucket, path: '/k' })
  assert.equal(outcome(await retain(client, bucket, body)), '405 MethodNotAllowed')
})

inBoth('P17 P30 PutObjectRetention: reading and writing need separate permissions', async (client, { clock }) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const body = retention('GOVERNANCE', clock.now() + HOUR)
  for (const as of [OTHER, READER, null]) {
    assert.equal(outcome(await retain(client, bucket, body, [], as)), '403 AccessDenied')
  }
  assert.equal(await shown(client, bucket), '404 NoSuchObjectLockConfiguration')
  await retain(client, bucket, body)
  const seen = await client.send({ method: 'GET', bucket, path: '/k', as: READER })
  assert.equal(seen.status, 200)
  assert.equal(seen.own('object-lock-mode'), undefined)
  assert.equal(seen.own('object-lock-retain-until-date'), undefined)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k?retention', as: READER })).status, 403)
})
