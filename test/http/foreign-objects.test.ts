/** Objects with another owner than their bucket: who decides, and which permissions changing an ACL requires. */
import assert from 'node:assert/strict'
import { readAccountsFile } from '../../src/rules/accounts-file.ts'
import { ensureAccounts } from '../../src/server/accounts.ts'
import { document, type Headers, lockBucket, makeUser, md5Header, outcome, put } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Sending, type Served, type Who } from './server.ts'

const THIRD: Who = { ...OTHER, accountId: '333333333333', accessKey: 'AKTHIRD', secretKey: 'secret-of-third' }

const RETENTION =
  '<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>'
const TAGGING = '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>'
const HOLD = '<LegalHold><Status>OFF</Status></LegalHold>'

type Request = Omit<Sending, 'bucket'>
const said = (client: Client): Headers => (client.dialect === 'svc' ? [[':legal-hold', 'OFF']] : [])

/** Requests on one object, and who may send them: B bucket owner, O object owner, T a third, whom the policy allows. */
const rows = (client: Client): readonly (readonly [who: string, request: Request])[] => [
  ['O', { method: 'GET', path: '/k' }],
  ['O', { method: 'HEAD', path: '/k' }],
  ['O', { method: 'GET', path: '/k?acl' }],
  ['O', { method: 'PUT', path: '/k?acl', headers: [[':acl', 'private']] }],
  ['O', { method: 'GET', path: '/k?attributes', headers: [[':object-attributes', 'ETag']] }],
  ['O', { method: 'PUT', path: '/k?tagging', ...document(TAGGING) }],
  ['O', { method: 'GET', path: '/k?tagging' }],
  ['O', { method: 'DELETE', path: '/k?tagging' }],
  ['O', { method: 'PUT', path: '/k?legal-hold', ...document(HOLD, said(client)) }],
  ['O', { method: 'GET', path: '/k?legal-hold' }],
  ['O', { method: 'PUT', path: '/k?retention', ...document(RETENTION) }],
  ['O', { method: 'GET', path: '/k?retention' }],
  ['BT', { method: 'PUT', path: '/k', body: 'x', headers: [md5Header('x')] }],
  ['BT', { method: 'DELETE', path: '/k' }],
  ['BT', { method: 'DELETE', path: '/k?versionId=VERSION', headers: [[':bypass-governance-retention', 'true']] }],
]

async function third({ parts }: Served): Promise<void> {
  const { accountId, accessKey, secretKey } = THIRD
  const accounts = [{ accountId, accessKeys: [{ accessKey, secretKey }] }]
  await ensureAccounts(parts.store, readAccountsFile(JSON.stringify({ accounts })))
}

async function allowThird(client: Client, bucket: string): Promise<void> {
  const Resource = [`arn:svc:svc:::${bucket}`, `arn:svc:svc:::${bucket}/*`]
  const statement = { Effect: 'Allow', Principal: { SVC: THIRD.accountId }, Action: '*', Resource }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: statement })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
}

inBoth(
  'R115 G6 G7: an object belongs to its owner, and the bucket owner may delete or replace it',
  async (client, served) => {
    await third(served)
    const bucket = await lockBucket(client)
    await allowThird(client, bucket)
    const callers = { B: MAIN, O: OTHER, T: THIRD }
    for (const [who, request] of rows(client)) {
      for (const [letter, as] of Object.entries(callers)) {
        // Written anew each time, so that no request depends on another's effect.
        const written = await served.parts.store.objects.put({
          bucket,
          key: 'k',
          owner: OTHER.canonicalId,
          body: [Buffer.from('x')],
          lock: { hold: false, retention: { mode: 'governance', until: client.clock.now() + 86_400_000 } },
        })
        const path = request.path.replace('VERSION', written.id)
        const answer = await client.send({ ...request, path, bucket, as })
        const label = `${request.method} ${request.path} by ${letter}: ${answer.status} ${answer.body}`
        assert.equal(answer.status < 300, who.includes(letter), label)
        if (!who.includes(letter)) assert.equal(answer.status, 403, label)
      }
    }
  },
)

inBoth('G6 G7: under enforced ownership the bucket owner owns them, and its policy applies', async (client, served) => {
  await third(served)
  const bucket = await lockBucket(client)
  await allowThird(client, bucket)
  await served.parts.store.buckets.configure(bucket, () => ({ ownership: 'BucketOwnerEnforced' }))
  for (const [, request] of rows(client)) {
    if (request.path === '/k?acl' && request.method === 'PUT') continue
    for (const as of [MAIN, OTHER, THIRD]) {
      const written = await served.parts.store.objects.put({
        bucket,
        key: 'k',
        owner: OTHER.canonicalId,
        body: [Buffer.from('x')],
        lock: { hold: false, retention: { mode: 'governance', until: client.clock.now() + 86_400_000 } },
      })
      const path = request.path.replace('VERSION', written.id)
      const answer = await client.send({ ...request, path, bucket, as })
      assert.equal(
        answer.status < 300,
        as !== OTHER,
        `${request.method} ${request.path} ${as.accessKey}: ${answer.body}`,
      )
    }
  }
})

inBoth('P17 R60: another account locks its object afterwards, unless the bucket policy denies it', async client => {
  const bucket = await lockBucket(client)
  const apply = async (...more: object[]): Promise<void> => {
    const on = { Principal: { AWS: OTHER.accountId }, Resource: `arn:aws:s3:::${bucket}/*` }
    const Statement = [may('s3:PutObject'), ...more].map(one => ({ ...one, ...on }))
    const body = JSON.stringify({ Version: '2012-10-17', Statement })
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
  }
  const send = async (method: string, path: string, more: Partial<Sending> = {}): Promise<string> =>
    outcome(await client.send({ method, bucket, path, as: OTHER, ...more }))
  const setHold = { ...document(HOLD, said(client)) }
  await apply()
  assert.equal(await send('PUT', '/k', document('x', [[':object-lock-legal-hold', 'ON']])), '403 AccessDenied')
  assert.equal(await send('PUT', '/k', document('x')), '200')
  assert.equal(await send('PUT', '/k?legal-hold', setHold), '200')
  assert.equal(await send('GET', '/k?legal-hold', { as: MAIN }), '403 AccessDenied')
  assert.equal(await send('PUT', '/k?legal-hold', { ...setHold, as: MAIN }), '403 AccessDenied')
  await apply(not('s3:PutObjectRetention', 's3:PutObjectLegalHold'))
  assert.equal(await send('PUT', '/k?legal-hold', setHold), '403 AccessDenied')
  assert.equal(await send('PUT', '/k?retention', document(RETENTION)), '403 AccessDenied')
})

const may = (...actions: string[]): object => ({ Effect: 'Allow', Action: actions, Resource: '*' })
const not = (...actions: string[]): object => ({ ...may(...actions), Effect: 'Deny' })

/** Policies of a user, and whether it may set the ACL of: an own object, its version, one that grants WRITE_ACP. */
const USERS: readonly (readonly [
  name: string,
  statements: readonly object[],
  may: readonly [boolean, boolean, boolean],
])[] = [
  ['none', [], [false, false, false]],
  ['acl', [may('svc:PutObjectAcl')], [false, false, true]],
  ['write', [may('svc:PutObject')], [false, false, false]],
  ['both', [may('svc:PutObjectAcl', 'svc:PutObject')], [true, false, true]],
  ['version', [may('s3:PutObjectVersionAcl', 's3:PutObject')], [false, true, false]],
  ['all', [may('svc:*')], [true, true, true]],
  ['no-write', [may('svc:*'), not('svc:PutObject')], [false, false, true]],
  ['no-acl', [may('svc:*'), not('svc:PutObjectAcl')], [false, true, false]],
]

inBoth(
  'R106: setting an ACL requires PutObjectAcl, and PutObject on objects of the own account',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/own')
    await put(client, bucket, '/granted', 'x', [[':grant-write-acp', `id="${OTHER.canonicalId}"`]])
    await put(client, bucket, '/not-granted')
    const set = async (path: string, as: Who): Promise<boolean> => {
      const list: Headers = [[':grant-write-acp', `id="${OTHER.canonicalId}"`]]
      const headers: Headers = path.startsWith('/granted') ? list : [[':acl', 'private']]
      const answer = await client.send({ method: 'PUT', bucket, path, headers, as })
      assert(answer.status === 200 || answer.status === 403, `${path} ${answer.status} ${answer.body}`)
      return answer.status === 200
    }
    for (const [name, statements, wanted] of USERS) {
      const own = await makeUser(parts, MAIN, `own-${name}`, statements)
      const other = await makeUser(parts, OTHER, `other-${name}`, statements)
      const version = '/own?acl&versionId=null'
      const found = [await set('/own?acl', own), await set(version, own), await set('/granted?acl', other)]
      assert.deepEqual(found, wanted, name)
      assert.equal(await set('/not-granted?acl', other), false, name)
    }
    // The account's own keys have both; a grant helps only its grantee's keys, and no anonymous caller.
    assert.deepEqual([await set('/own?acl', MAIN), await set('/granted?acl', OTHER)], [true, true])
    assert.equal(await set('/not-granted?acl', OTHER), false)
  },
)

inBoth(
  'R106 G7: a user whose own policies deny PutObject sets no ACL, whatever the bucket policy allows',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/k')
    const both = may('s3:PutObjectAcl', 's3:PutObject')
    const allowed = await makeUser(parts, MAIN, 'allowed', [both])
    const denied = await makeUser(parts, MAIN, 'denied', [not('s3:PutObject')])
    const set = async (as: Who): Promise<string> => {
      const answer = await client.send({
        method: 'PUT',
        bucket,
        path: '/k?acl',
        headers: [[':acl', 'public-read']],
        as,
      })
      return outcome(answer)
    }
    const apply = async (statement: object): Promise<void> => {
      const of = { ...statement, Principal: '*', Resource: `arn:aws:s3:::${bucket}/*` }
      const body = JSON.stringify({ Version: '2012-10-17', Statement: of })
      assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
    }
    const refused = '403 AccessDenied'
    for (const [statement, ...wanted] of [
      [both, '200', refused, '200'],
      [not('s3:PutObject'), '200', refused, '200'],
    ] as const) {
      await apply(statement)
      assert.deepEqual([await set(allowed), await set(denied), await set(MAIN)], wanted)
    }
  },
)

inBoth('R106: a bucket policy permits it only for objects of the bucket owner', async (client, served) => {
  await third(served)
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  await put(client, bucket, '/ours')
  await client.send({ method: 'PUT', bucket, path: '/theirs', body: 'x', as: OTHER })
  await allowThird(client, bucket)
  const set = (path: string, as: Who) =>
    client.send({ method: 'PUT', bucket, path: `${path}?acl`, headers: [[':acl', 'private']], as })
  assert.equal((await set('/ours', THIRD)).status, 200)
  assert.equal((await set('/theirs', THIRD)).status, 403)
  assert.equal((await set('/theirs', MAIN)).status, 403)
  assert.equal((await set('/theirs', OTHER)).status, 200)
})
