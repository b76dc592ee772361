/** Headers that an operation ignores give no values to condition keys: callers would choose the outcome by them. */
import assert from 'node:assert/strict'
import { SCHEMES } from '../../src/auth/signing.ts'
import { FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import { document, get, type Headers, lockBucket, makeUser, outcome, put, text, texts } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, type Sending, type Who } from './server.ts'

const BUCKET = 'test-bucket'
const DAY_MS = 86_400_000

const allow = (action: string | readonly string[], condition?: object): object => ({
  Effect: 'Allow',
  Action: action,
  Resource: '*',
  ...(condition === undefined ? {} : { Condition: condition }),
})
const deny = (action: string | readonly string[], condition?: object): object => ({
  ...allow(action, condition),
  Effect: 'Deny',
})

const classified = (value: string): object => ({ StringEquals: { 's3:RequestObjectTag/classification': value } })
const labelled = (value: string, name = 'classification'): string =>
  `<Tagging><TagSet><Tag><Key>${name}</Key><Value>${value}</Value></Tag></TagSet></Tagging>`
const inHeader = (value: string): Headers => [[':tagging', `classification=${value}`]]

/** As a user: the outcome of one request to the bucket. */
const asked = (client: Client, as: Who) => async (method: string, path: string, more: Partial<Sending>) =>
  outcome(await client.send({ method, bucket: BUCKET, path, as, ...more }))

const tagsOf = async (client: Client, path: string): Promise<string> =>
  texts((await get(client, BUCKET, `${path}?tagging`)).xml(), 'Value').join()

async function posted(client: Client, { accessKey, secretKey }: Who, more: Headers): Promise<string> {
  const now = client.clock.now()
  const signer = { scheme: SCHEMES[client.dialect], accessKey, secretKey, region: 'us-east-1', now }
  const sent = [['key', 'k'], ...more].map(([name, value]) => [client.name(name!), value!] as const)
  const fields = signedFields(signer, { bucket: BUCKET, fields: sent, until: now + 60_000 })
  const body = formBody(fields, Buffer.from('x'))
  return outcome(await client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers: [FORM_TYPE], as: null }))
}

inBoth('G8 policies: a copy source that is ignored hides no tags', async (client, { parts }) => {
  await makeBucket(client, BUCKET)
  const tagging = ['s3:PutObject', 's3:PutObjectTagging']
  const user = await makeUser(parts, MAIN, 'tagger', [allow(['s3:*']), deny(tagging, classified('public'))])
  const send = asked(client, user)
  const ignored: Headers = [[':copy-source', 'a/b']]
  for (const more of [[], ignored]) {
    assert.equal(await send('POST', '/k?uploads', { headers: [...inHeader('public'), ...more] }), '403 AccessDenied')
    assert.equal(await send('POST', '/k?uploads', { headers: [...inHeader('internal'), ...more] }), '200')
    assert.equal(await posted(client, user, [...inHeader('public'), ...more]), '403 AccessDenied')
  }
  assert.equal((await get(client, BUCKET, '/k')).status, 404)
  assert.equal(await posted(client, user, [...inHeader('internal'), ...ignored]), '204')
  assert.equal(await tagsOf(client, '/k'), 'internal')
  // A copy does ignore its tags unless it replaces those of the source.
  const copied: Headers = [[':copy-source', `${BUCKET}/k`], ...inHeader('public')]
  assert.equal(await send('PUT', '/copy', { headers: copied }), '200')
  assert.equal(await tagsOf(client, '/copy'), 'internal')
  const replaced: Headers = [...copied, [':tagging-directive', 'REPLACE']]
  assert.equal(await send('PUT', '/copy', { headers: replaced }), '403 AccessDenied')
})

inBoth('G8 policies: only the document says which tags PutObjectTagging sets', async (client, { parts }) => {
  await makeBucket(client, BUCKET)
  await put(client, BUCKET, '/k', 'x', inHeader('secret'))
  const user = await makeUser(parts, MAIN, 'tagger', [allow('s3:*ObjectTagging', classified('internal'))])
  const send = asked(client, user)
  const headers = inHeader('internal')
  for (const body of [labelled('public'), labelled('public', 'classification2'), '<Tagging><TagSet/></Tagging>'])
    assert.equal(await send('PUT', '/k?tagging', document(body, headers)), '403 AccessDenied', body)
  assert.equal(await send('DELETE', '/k?tagging', { headers }), '403 AccessDenied')
  assert.equal(await send('GET', '/k?tagging', { headers }), '403 AccessDenied')
  assert.equal(await tagsOf(client, '/k'), 'secret')
  assert.equal(await send('PUT', '/k?tagging', document(labelled('internal'), inHeader('public'))), '200')
  assert.equal(await tagsOf(client, '/k'), 'internal')
})

inBoth('G8 P12 policies: only the document says which retention or hold is set', async (client, { parts }) => {
  await lockBucket(client, BUCKET)
  const until = (days: number): string => new Date(client.clock.now() + days * DAY_MS).toISOString()
  const inHeaders = (days: number): Headers => [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', until(days)],
  ]
  await put(client, BUCKET, '/k', 'x', document('x', inHeaders(20)).headers)
  const days = 's3:object-lock-remaining-retention-days'
  const user = await makeUser(parts, MAIN, 'keeper', [
    allow('s3:*'),
    deny('s3:PutObjectRetention', { Null: { [days]: 'true' } }),
    deny('s3:PutObjectRetention', { NumericLessThan: { [days]: '10' } }),
    deny('s3:PutObjectLegalHold', { Null: { 's3:object-lock-mode': 'false' } }),
  ])
  const send = asked(client, user)
  const retain = (body: string, more: Headers): Promise<string> =>
    send('PUT', '/k?retention', document(body, [[':bypass-governance-retention', 'true'], ...more]))
  const retention = (date: string): string =>
    `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>${date}</RetainUntilDate></Retention>`
  assert.equal(await retain('<Retention/>', inHeaders(20)), '403 AccessDenied')
  assert.equal(await retain(retention(until(5)), inHeaders(20)), '403 AccessDenied')
  assert.equal(text((await get(client, BUCKET, '/k?retention')).xml(), 'RetainUntilDate'), until(20))
  assert.equal(await retain(retention(until(15)), inHeaders(5)), '200')
  const off = document('<LegalHold><Status>OFF</Status></LegalHold>', [[':legal-hold', 'OFF'], ...inHeaders(20)])
  assert.equal(await send('PUT', '/k?legal-hold', off), '200')
})

inBoth('G8 policies: only copies have a copy source', async (client, { parts }) => {
  await makeBucket(client, BUCKET)
  await put(client, BUCKET, '/k', 'x')
  const fromHere = { StringLike: { 's3:x-amz-copy-source': `${BUCKET}/*` } }
  const user = await makeUser(parts, MAIN, 'copier', [allow('s3:GetObject'), allow('s3:PutObject', fromHere)])
  const send = asked(client, user)
  const headers: Headers = [[':copy-source', `${BUCKET}/k`]]
  assert.equal(await posted(client, user, headers), '403 AccessDenied')
  assert.equal(await send('POST', '/new?uploads', { headers }), '403 AccessDenied')
  assert.equal(await send('PUT', '/copy', { headers }), '200')
  const keeping = { StringEquals: { 's3:x-amz-metadata-directive': 'COPY' } }
  const keeper = await makeUser(parts, MAIN, 'copy-keeper', [allow('s3:GetObject'), allow('s3:PutObject', keeping)])
  const directive: Headers = [[':metadata-directive', 'COPY']]
  assert.equal(await posted(client, keeper, directive), '403 AccessDenied')
  assert.equal(await asked(client, keeper)('PUT', '/copy', { headers: [...headers, ...directive] }), '200')
})
