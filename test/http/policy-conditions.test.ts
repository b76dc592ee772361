/**
 * Every condition key of G8, on real requests: a policy that denies under a condition refuses the owner exactly when
 * the request matches, and one that allows under it admits another account exactly then. Refusals have no effect.
 */
import assert from 'node:assert/strict'
import { document, type Headers, md5Header, outcome, put } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, type Sending } from './server.ts'

type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
type Request = Omit<Sending, 'bucket'>

interface Case {
  readonly action: string
  /** In svc spelling; tests of the other dialect translate it. */
  readonly condition: Condition
  readonly hit: Request
  readonly miss: Request
}

const DAY_MS = 86_400_000
const request = (method: string, path: string, headers: Headers = [], body?: string): Request => ({
  method,
  path,
  headers,
  ...(body === undefined ? {} : { body }),
})
const write = (...headers: Headers): Request => request('PUT', '/new', [md5Header('x'), ...headers], 'x')
const proven = (path: string, body: string, headers: Headers = []): Request => ({
  method: 'PUT',
  path,
  ...document(body, headers),
})
const tagging = (key: string, value: string): string =>
  `<Tagging><TagSet><Tag><Key>${key}</Key><Value>${value}</Value></Tag></TagSet></Tagging>`
const hold = (client: Client, status: string): Request =>
  proven(
    '/locked?legal-hold',
    `<LegalHold><Status>${status}</Status></LegalHold>`,
    client.dialect === 'svc' ? [[':legal-hold', status]] : [],
  )

const CUSTOMER_KEY: Headers = [
  [':server-side-encryption-customer-algorithm', 'AES256'],
  [':server-side-encryption-customer-key', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
  [':server-side-encryption-customer-key-MD5', 'tP/LI3N87DFaSk0aoqYgzg=='],
]

/** Values from the query and plain headers. */
function plainCases(client: Client, version: string): Case[] {
  const own = client.dialect === 'svc' ? 'svc' : 'aws'
  const kms = client.dialect === 'svc' ? 'verenc' : 'aws:kms'
  const named: Headers = [
    [':server-side-encryption', kms],
    [`:server-side-encryption-${own}-kms-key-id`, 'k1'],
  ]
  const from = (source: string, ...more: Headers): Request =>
    request('PUT', '/new', [[':copy-source', source], ...more])
  const list = (query: string): Request => request('GET', `/?${query}`)
  const is = (key: string, value: string): Condition => ({ StringEquals: { [key]: value } })
  const encrypted: Headers = [[':server-side-encryption', 'AES256']]
  return [
    { action: 'ListBucket', condition: is('svc:prefix', 'a'), hit: list('prefix=a'), miss: list('prefix=b') },
    {
      action: 'ListBucket',
      condition: is('svc:delimiter', '/'),
      hit: list('delimiter=%2F'),
      miss: list('delimiter=-'),
    },
    {
      action: 'ListBucket',
      condition: { NumericGreaterThan: { 'svc:max-keys': '10' } },
      hit: list('max-keys=11'),
      miss: list('max-keys=10'),
    },
    {
      action: 'ListBucket',
      condition: { Null: { 'svc:max-keys': 'true' } },
      hit: list('max-keys='),
      miss: list('max-keys=10'),
    },
    {
      action: 'GetObjectVersion',
      condition: is('svc:VersionId', version),
      hit: request('GET', `/k?versionId=${version}`),
      miss: request('GET', '/k?versionId=null'),
    },
    {
      action: 'GetObject',
      condition: is('svc:ExistingObjectTag/colour', 'red'),
      hit: request('GET', '/red'),
      miss: request('GET', '/k'),
    },
    {
      action: 'PutObject',
      condition: is('svc:x-svc-acl', 'public-read'),
      hit: write([':acl', 'public-read']),
      miss: write([':acl', 'private']),
    },
    {
      action: 'PutObject',
      condition: { StringLike: { 'svc:x-svc-grant-read': '*AllUsers*' } },
      hit: write([':grant-read', 'uri="http://acs.svc/groups/global/AllUsers"']),
      miss: write([':grant-read', `id="${MAIN.canonicalId}"`]),
    },
    {
      action: 'PutObject',
      condition: { StringLike: { 'svc:x-svc-copy-source': 'cond-bucket/re*' } },
      hit: from('/cond-bucket/%72ed'),
      miss: from('cond-bucket/k'),
    },
    {
      action: 'PutObject',
      condition: is('svc:x-svc-metadata-directive', 'REPLACE'),
      hit: from('cond-bucket/k', [':metadata-directive', 'REPLACE']),
      miss: from('cond-bucket/k', [':metadata-directive', 'COPY']),
    },
    {
      action: 'PutObject',
      condition: { Null: { 'svc:x-svc-server-side-encryption': 'true' } },
      hit: write(),
      miss: write(...encrypted),
    },
    {
      action: 'PutObject',
      condition: is('svc:x-svc-server-side-encryption', 'verenc'),
      hit: write(...named),
      miss: write(...encrypted),
    },
    {
      action: 'PutObject',
      condition: is('svc:x-svc-server-side-encryption-svc-kms-key-id', 'k1'),
      hit: write(...named),
      miss: write([':server-side-encryption', kms]),
    },
    {
      action: 'PutObject',
      condition: is('svc:x-svc-server-side-encryption-customer-algorithm', 'AES256'),
      hit: write(...CUSTOMER_KEY),
      miss: write(),
    },
    {
      action: 'GetObject',
      condition: { StringLike: { 'svc:Referer': 'https://ours.example/*' } },
      hit: request('GET', '/k', [['Referer', 'https://ours.example/page']]),
      miss: request('GET', '/k', [['Referer', 'https://theirs.example/page']]),
    },
    {
      action: 'GetObject',
      condition: is('svc:UserAgent', 'robot'),
      hit: request('GET', '/k', [['User-Agent', 'robot']]),
      miss: request('GET', '/k', [['User-Agent', 'person']]),
    },
  ]
}

/** Values of tags and locks, from headers and documents. */
function toldCases(client: Client): Case[] {
  const now = client.clock.now()
  const date = (days: number): string => new Date(now + days * DAY_MS).toISOString()
  const retain = (days: number, mode = 'GOVERNANCE'): Request =>
    proven(
      '/locked?retention',
      `<Retention><Mode>${mode}</Mode><RetainUntilDate>${date(days)}</RetainUntilDate></Retention>`,
      [[':bypass-governance-retention', 'true']],
    )
  const retained = (days: number, mode = 'GOVERNANCE'): Request =>
    write([':object-lock-mode', mode], [':object-lock-retain-until-date', date(days)])
  const create = (...headers: Headers): Request => request('POST', '/new?uploads', headers)
  const copy = (...headers: Headers): Request =>
    request('PUT', '/new', [[':copy-source', 'cond-bucket/red'], ...headers])
  const project = { StringEquals: { 'svc:RequestObjectTag/project': 'x' } }
  const onlyKnown = { 'ForAnyValue:StringNotEquals': { 'svc:RequestObjectTagKeys': ['project', 'colour'] } }
  const tooLong = { NumericGreaterThan: { 'svc:object-lock-remaining-retention-days': '10' } }
  const tooLate = { DateGreaterThan: { 'svc:object-lock-retain-until-date': date(10) } }
  const mode = { StringEquals: { 'svc:object-lock-mode': 'GOVERNANCE' } }
  const on = { StringEquals: { 'svc:object-lock-legal-hold': 'ON' } }
  const replace = ['REPLACE', 'project=x'] as const
  const tagged = (directive: string, tags: string): Request =>
    copy([':tagging-directive', directive], [':tagging', tags])
  return [
    {
      action: 'PutObject',
      condition: project,
      hit: write([':tagging', 'project=x']),
      miss: write([':tagging', 'project=y']),
    },
    {
      action: 'PutObjectTagging',
      condition: project,
      hit: write([':tagging', '%70roject=x']),
      miss: write([':tagging', 'Project=x']),
    },
    { action: 'PutObject', condition: project, hit: create([':tagging', 'project=x']), miss: create() },
    // A copy that keeps its source's tags does not get those in the request.
    { action: 'PutObject', condition: project, hit: tagged(...replace), miss: tagged('COPY', 'project=x') },
    {
      action: 'PutObject',
      condition: onlyKnown,
      hit: write([':tagging', 'project=x&other=y']),
      miss: write([':tagging', 'project=x']),
    },
    {
      action: 'PutObjectTagging',
      condition: project,
      hit: proven('/k?tagging', tagging('project', 'x')),
      miss: proven('/k?tagging', tagging('project', 'y')),
    },
    {
      action: 'PutObjectTagging',
      condition: onlyKnown,
      hit: proven('/k?tagging', tagging('other', 'x')),
      miss: proven('/k?tagging', tagging('colour', 'y')),
    },
    { action: 'PutObject', condition: mode, hit: retained(5), miss: write() },
    { action: 'PutObjectRetention', condition: tooLong, hit: retained(11), miss: retained(10) },
    { action: 'PutObject', condition: tooLate, hit: retained(11), miss: retained(9) },
    {
      action: 'PutObject',
      condition: on,
      hit: write([':object-lock-legal-hold', 'ON']),
      miss: write([':object-lock-legal-hold', 'OFF']),
    },
    { action: 'PutObject', condition: on, hit: create([':object-lock-legal-hold', 'ON']), miss: create() },
    { action: 'PutObjectRetention', condition: tooLong, hit: retain(10.5), miss: retain(10) },
    { action: 'PutObjectRetention', condition: tooLate, hit: retain(12), miss: retain(9) },
    {
      action: 'PutObjectRetention',
      condition: { StringNotEquals: { 'svc:object-lock-mode': 'GOVERNANCE' } },
      hit: retain(10, 'COMPLIANCE'),
      miss: retain(10),
    },
    { action: 'PutObjectLegalHold', condition: on, hit: hold(client, 'ON'), miss: hold(client, 'OFF') },
  ]
}

const inWords = (client: Client, condition: unknown): unknown =>
  client.dialect === 'svc'
    ? condition
    : JSON.parse(
        JSON.stringify(condition)
          .replaceAll('arn:svc:svc:', 'arn:aws:s3:')
          .replaceAll('arn:svc:', 'arn:aws:')
          .replaceAll(/svc:(?=Referer|UserAgent|SourceIp|SecureTransport|CurrentTime|userid|PrincipalArn)/g, 'aws:')
          .replaceAll('svc:x-svc-server-side-encryption-svc-', 's3:x-amz-server-side-encryption-aws-')
          .replaceAll('svc:x-svc-', 's3:x-amz-')
          .replaceAll('svc:', 's3:')
          .replaceAll('"verenc"', '"aws:kms"'),
      )

const everything = ['arn:svc:svc:::cond-bucket', 'arn:svc:svc:::cond-bucket/*']

async function setPolicy(client: Client, ...statements: readonly object[]): Promise<void> {
  const body = JSON.stringify({ Version: '2012-10-17', Statement: inWords(client, statements) })
  const set = await client.send({ method: 'PUT', bucket: 'cond-bucket', path: '/?policy', body })
  assert.equal(set.status, 204, `${body} ${set.body}`)
}

const deny = ({ action, condition }: Case): object => ({
  Effect: 'Deny',
  Principal: '*',
  Action: `svc:${action}`,
  Resource: everything,
  Condition: condition,
})
const stranger = { Effect: 'Allow', Principal: { SVC: OTHER.accountId }, Resource: everything }
const allow = ({ action, condition }: Case): readonly object[] => [
  { ...stranger, NotAction: `svc:${action}` },
  { ...stranger, Action: `svc:${action}`, Condition: condition },
]

async function prepare(client: Client): Promise<string> {
  const bucket = await makeBucket(client, 'cond-bucket')
  await put(client, bucket, '/k')
  const versioning = document('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')
  await client.send({ method: 'PUT', bucket, path: '/?versioning', ...versioning })
  const lock = document(
    '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>',
  )
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?object-lock', ...lock })).status, 200)
  const version = await put(client, bucket, '/k')
  await put(client, bucket, '/red', 'x', [[':tagging', 'colour=red']])
  await put(client, bucket, '/locked')
  return version!
}

/** Everything that a refused request could have changed. */
async function state(client: Client): Promise<string> {
  const answers: string[] = []
  for (const path of ['/?versions', '/?uploads', '/k?tagging', '/locked?legal-hold', '/locked?retention']) {
    const { status, body } = await client.send({ method: 'GET', bucket: 'cond-bucket', path })
    answers.push(status === 200 ? body.toString() : String(status))
  }
  return answers.join('\n')
}

async function checkCase(client: Client, one: Case): Promise<void> {
  const bucket = 'cond-bucket'
  const label = JSON.stringify([one.action, one.condition])
  const send = (what: Request, as = MAIN): Promise<Received> => client.send({ ...what, bucket, as })
  await setPolicy(client, deny(one))
  const before = one.hit.method === 'GET' ? '' : await state(client)
  assert.equal(outcome(await send(one.hit)), '403 AccessDenied', `denied: ${label}`)
  if (before !== '') assert.equal(await state(client), before, `no effect: ${label}`)
  assert((await send(one.miss)).status < 300, `not denied: ${label}`)
  await setPolicy(client, ...allow(one))
  assert.equal(outcome(await send(one.miss, OTHER)), '403 AccessDenied', `not allowed: ${label}`)
  const allowed = await send(one.hit, OTHER)
  assert(allowed.status < 300, `allowed: ${label} ${allowed.body}`)
}

inBoth('G8 policies: condition keys from query and headers', async client => {
  const version = await prepare(client)
  for (const one of plainCases(client, version)) await checkCase(client, one)
})

inBoth('G8 policies: condition keys from tags, holds and retention, by header and by document', async client => {
  await prepare(client)
  for (const one of toldCases(client)) await checkCase(client, one)
})

inBoth('G8 policies: condition keys about caller, connection and time', async client => {
  await prepare(client)
  const bucket = 'cond-bucket'
  const year = (more: number): string => new Date(client.clock.now() + more * 365 * DAY_MS).toISOString()
  for (const [operator, key, hit, miss] of [
    ['IpAddress', 'svc:SourceIp', '127.0.0.0/8', '10.0.0.0/8'],
    ['Bool', 'svc:SecureTransport', 'false', 'true'],
    ['DateLessThan', 'svc:CurrentTime', year(1), year(-1)],
    ['StringEquals', 'svc:userid', MAIN.accountId, OTHER.accountId],
    ['ArnLike', 'svc:PrincipalArn', `arn:aws:iam::${MAIN.accountId}:*`, `arn:svc:iam::${OTHER.accountId}:*`],
    ['StringEquals', 'svc:authType', 'REST-HEADER', 'REST-QUERY-STRING'],
    ['StringEquals', 'svc:signatureversion', 'AWS4-HMAC-SHA256', 'AWS'],
  ] as const) {
    const refuses = async (value: string): Promise<boolean> => {
      const condition = { [operator]: { [key]: value } }
      const none = { hit: request('GET', '/k'), miss: request('GET', '/k') }
      await setPolicy(client, deny({ action: 'GetObject', condition, ...none }))
      return (await client.send({ method: 'GET', bucket, path: '/k' })).status === 403
    }
    assert.deepEqual([await refuses(hit), await refuses(miss)], [true, false], key)
  }
})

inBoth('G8 policies: an unknown condition key is refused when the policy is set', async client => {
  const bucket = await makeBucket(client, 'cond-bucket')
  const statement = { Effect: 'Deny', Principal: '*', Action: 'svc:GetObject', Resource: everything }
  const body = JSON.stringify({ Statement: { ...statement, Condition: { StringEquals: { 'svc:Mood': 'good' } } } })
  assert.equal(outcome(await client.send({ method: 'PUT', bucket, path: '/?policy', body })), '400 MalformedPolicy')
})
