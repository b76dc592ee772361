/** A27–A31: ways around authorization that worked on other servers. */
import assert from 'node:assert/strict'
import { SCHEMES } from '../../src/auth/signing.ts'
import { ADMISSION_LIMITS } from '../../src/http/admission.ts'
import { FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import { makePlace } from '../specimens/place.ts'
import { cases } from '../specimens/specimens.ts'
import { document, get, outcome, put } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, READER, type Who } from './server.ts'
import { exchange, Wire } from './wire.ts'

inBoth('A27: internal headers from clients are ignored', async client => {
  const bucket = await makeBucket(client)
  const headers: [string, string][] = [
    ['x-holdfast-owner', OTHER.canonicalId],
    ['x-holdfast-internal-encryption', 'AES256'],
    ['x-minio-source-replication-request', 'true'],
    ['x-minio-internal-server-side-encryption-sealed-key', 'AAAA'],
    [':replication-status', 'REPLICA'],
    [':meta-internal-server-side-encryption-iv', 'AAAA'],
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-proto', 'https'],
  ]
  await put(client, bucket, '/k', 'readable', headers)
  const read = await get(client, bucket, '/k', headers)
  assert.deepEqual([read.status, read.body.toString()], [200, 'readable'])
  for (const as of [OTHER, null]) {
    assert.equal(
      (await client.send({ method: 'GET', bucket, path: '/k', as, headers: headers.slice(0, 4) })).status,
      403,
    )
  }
})

const signerFor = (client: Client, { accessKey, secretKey }: Who) => ({
  scheme: SCHEMES[client.dialect],
  accessKey,
  secretKey,
  region: 'us-east-1',
  now: client.clock.now(),
})

inBoth('A30: a form is limited to its bucket and its signer’s permissions', async client => {
  const bucket = await makeBucket(client)
  const beside = await makeBucket(client, 'beside')
  const until = client.clock.now() + 60_000
  const post = (by: Who, to: string, fields: [string, string][]) =>
    client.send({
      method: 'POST',
      bucket,
      path: '/',
      headers: [FORM_TYPE],
      body: formBody(signedFields(signerFor(client, by), { bucket: to, fields, until }), Buffer.from('posted')),
      as: null,
    })
  assert.equal(outcome(await post(READER, bucket, [['key', 'k']])), '403 AccessDenied', 'may only read')
  assert.equal(outcome(await post(OTHER, bucket, [['key', 'k']])), '403 AccessDenied', 'another account')
  assert.equal(outcome(await post(MAIN, 'beside', [['key', 'k']])), '403 AccessDenied', 'signed for another bucket')
  const named = await post(MAIN, bucket, [
    ['key', 'k'],
    ['bucket', 'beside'],
  ])
  assert.equal(outcome(named), '403 AccessDenied', 'a field that names another bucket')
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  // A key that looks like a path inside the server is a plain key.
  for (const key of ['../beside/k', '.holdfast/keyring', '/meta/data.mdb']) {
    assert.equal((await post(MAIN, bucket, [['key', key]])).status, 204)
    assert.equal((await get(client, bucket, `/${encodeURIComponent(key)}`)).body.toString(), 'posted')
  }
  assert.equal((await client.send({ method: 'HEAD', bucket: beside, path: '/k' })).status, 404)
})

inBoth('A31: a bucket for authenticated users is not listed anonymously', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'authenticated-read']])
  await put(client, bucket, '/k')
  for (const query of ['', '?list-type=2', '?versions', '?uploads']) {
    const list = (as: Who | null) => client.send({ method: 'GET', bucket, path: `/${query}`, as })
    assert.equal(outcome(await list(null)), '403 AccessDenied', query)
    assert.equal((await list(OTHER)).status, 200, query)
  }
  assert.equal(outcome(await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })), '403 AccessDenied')
})

const NAMES = { bucket: 'plain', locked: 'locked', empty: 'nothing-in-it', fresh: 'not-there-yet', key: 'k' }

inBoth('a body is read only after authorization', async client => {
  const until = '2030-01-01T00:00:00Z'
  const place = await makePlace(what => client.send(what), { ...NAMES, owner: MAIN.canonicalId, until })
  let refused = 0
  for (const { operation, route, specimen } of cases()) {
    const { method } = operation.match
    // The body of a batch names its keys: how much of it anonymous callers can have buffered is bounded.
    if (route === 'POST bucket ?delete' || (method !== 'PUT' && method !== 'POST')) continue
    const asked = specimen.ask(place, client.dialect)
    const dialect: [string, string] = [':request-payer', 'requester']
    const head = { ...asked, method, headers: [...(asked.headers ?? []), dialect], announced: 1_000, as: null }
    // The body is never sent.
    const answer = await exchange(client.port, client.head({ ...head, body: 'x' }))
    assert(answer !== undefined && answer.status >= 400, `${route}: ${answer?.status}`)
    refused++
  }
  assert(refused > 20)
})

const BATCH_BYTES = 2 * 2 ** 20

inBoth('anonymous requests are limited to their own share of memory', async client => {
  const bucket = await makeBucket(client)
  const batch = { method: 'POST', bucket, path: '/?delete', announced: BATCH_BYTES, body: 'x', as: null } as const
  const headers: [string, string][] = [
    ['Expect', '100-continue'],
    [':request-payer', 'requester'],
  ]
  const wires: Wire[] = []
  for (let held = BATCH_BYTES; held <= ADMISSION_LIMITS.anonymousBytesMax; held += BATCH_BYTES) {
    const wire = (await Wire.open(client.port)).write(client.head({ ...batch, headers }))
    assert.equal((await wire.answer())?.status, 100)
    wires.push(wire)
  }
  const last = await exchange(client.port, client.head({ ...batch, headers: headers.slice(1) }))
  assert.deepEqual([last?.status, last?.code], [503, 'SlowDown'])
  const ours = document('<Delete><Object><Key>k</Key></Object></Delete>')
  assert.equal((await client.send({ method: 'POST', bucket, path: '/?delete', ...ours })).status, 200)
  for (const wire of wires) wire.socket.resetAndDestroy()
  const small = document('<Delete><Object><Key>k</Key></Object></Delete>', [[':request-payer', 'requester']])
  const again = () => client.send({ method: 'POST', bucket, path: '/?delete', ...small, as: null })
  // Memory is released once the server notices that the connections are closed.
  let status = (await again()).status
  for (let tries = 0; status === 503 && tries < 100; tries++) status = (await again()).status
  assert.equal(status, 200)
})
