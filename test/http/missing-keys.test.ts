/** A34: a caller who may not list a bucket does not learn which keys are missing, whatever its other permissions. */
import assert from 'node:assert/strict'
import { explain } from '../../src/server/explain.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { document, type Headers, md5Header, outcome, put, versionedBucket } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Sending, type Who } from './server.ts'

const ABSENT = 'f'.repeat(32)

/** Every request about an object, for a missing one. */
const requests = (client: Client, key = 'none'): readonly Sending[] => {
  const on = (method: string, path: string, headers: Headers = [], body?: string): Sending => ({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const hold = '<LegalHold><Status>ON</Status></LegalHold>'
  const retention =
    '<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>'
  const said: Headers = client.dialect === 'svc' ? [[':legal-hold', 'ON']] : []
  const tags = document('<Tagging><TagSet/></Tagging>')
  return ['', `versionId=${ABSENT}`].flatMap(version => {
    const at = (...parts: string[]): string => `/${key}?${[...parts, version].filter(part => part !== '').join('&')}`
    return [
      on('GET', at()),
      on('HEAD', at()),
      on('GET', at('acl')),
      on('PUT', at('acl'), [[':acl', 'private']]),
      on('GET', at('tagging')),
      { method: 'PUT', path: at('tagging'), ...tags },
      on('DELETE', at('tagging')),
      on('GET', at('attributes'), [[':object-attributes', 'ETag']]),
      on('GET', at('legal-hold')),
      on('PUT', at('legal-hold'), [md5Header(hold), ...said], hold),
      on('GET', at('retention')),
      on('PUT', at('retention'), [md5Header(retention)], retention),
      on('PUT', '/copy', [[':copy-source', `missing-bucket/${key}${version === '' ? '' : `?${version}`}`]]),
    ]
  })
}

async function setPolicy(client: Client, bucket: string, actions: readonly string[]): Promise<void> {
  const Resource = [`arn:svc:svc:::${bucket}`, `arn:svc:svc:::${bucket}/*`]
  const statement = { Effect: 'Allow', Principal: '*', Action: actions, Resource }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: statement })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
}

const EVERYTHING_ELSE = ['svc:*Object*', 'svc:GetBucketLocation', 'svc:ListBucketVersions']

inBoth('A34: only callers who may list learn that a key is missing', async client => {
  const bucket = await makeBucket(client, 'missing-bucket', [[':bucket-object-lock-enabled', 'true']])
  await put(client, bucket, '/there')
  for (const as of [OTHER, null] as readonly (Who | null)[]) {
    for (const [actions, isTold] of [
      [['svc:GetBucketLocation'], false],
      [EVERYTHING_ELSE, false],
      [[...EVERYTHING_ELSE, 'svc:ListBucket'], true],
      [['svc:ListBucket'], true],
    ] as const) {
      await setPolicy(client, bucket, actions)
      for (const request of requests(client)) {
        // Without a signature, only a header shows the dialect.
        const headers: Headers = [...(request.headers ?? []), [':expected-bucket-owner', MAIN.accountId]]
        const answer = await client.send({ ...request, headers, bucket, as })
        const isCopy = request.path === '/copy'
        // A copy also requires write permission, and a signature or a policy.
        const mayWrite = !isCopy || actions.some(action => action === 'svc:*Object*')
        const wanted = isTold && mayWrite ? 404 : 403
        assert.equal(answer.status, wanted, `${actions} ${request.method} ${request.path} ${answer.body}`)
      }
    }
  }
})

inBoth('A34 R105: the owner learns that a key is missing or deleted', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  await put(client, bucket, '/k')
  await client.send({ method: 'DELETE', bucket, path: '/k' })
  assert.equal(outcome(await client.send({ method: 'GET', bucket, path: '/none' })), '404 NoSuchKey')
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).own('delete-marker'), 'true')
  await setPolicy(client, bucket, ['svc:GetObject'])
  for (const as of [OTHER, null]) {
    const refused = await client.send({ method: 'HEAD', bucket, path: '/k', as })
    assert.equal(refused.status, 403)
    assert.equal(refused.own('delete-marker'), undefined)
  }
})

const READING = { Effect: 'Allow', Principal: '*', Action: 'svc:*Object*', Resource: 'arn:svc:svc:::missing-bucket/*' }
const listing = (effect: string, condition: object): object => ({
  Effect: effect,
  Principal: '*',
  Action: 'svc:ListBucket',
  Resource: 'arn:svc:svc:::missing-bucket',
  Condition: condition,
})

inBoth('A34 G7: permission to list with the key as prefix reveals that it is missing', async (client, { parts }) => {
  const bucket = await makeBucket(client, 'missing-bucket', [[':bucket-object-lock-enabled', 'true']])
  const directory = new IdentityCache(parts.store.context, undefined)
  const mayLearn = async (as: Who | null, key: string): Promise<boolean> => {
    const asked = { accessKey: as?.accessKey, action: 'GetObject', bucket, key }
    const { because, dependsOn } = await explain(parts.store, directory, asked)
    assert.deepEqual(dependsOn, [])
    return because === 'missing'
  }
  const told = { StringLike: { 'svc:prefix': 'open/*' } }
  const untold = { StringLike: { 'svc:prefix': 'closed/*' } }
  for (const statements of [
    [READING, listing('Allow', told)],
    [READING, listing('Allow', { StringNotLike: { 'svc:prefix': 'closed/*' } })],
    [READING, listing('Allow', {}), listing('Deny', untold)],
  ]) {
    const body = JSON.stringify({ Version: '2012-10-17', Statement: statements })
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
    for (const as of [OTHER, null] as readonly (Who | null)[]) {
      for (const [key, wanted] of [
        ['open/none', 404],
        ['closed/none', 403],
      ] as const) {
        assert.equal(await mayLearn(as, key), wanted === 404, key)
        for (const request of requests(client, key)) {
          // The prefix in the query is not the one that would be listed.
          const path = request.path.replace(/\?(?=(.?))/, (_, more) => `?prefix=open%2Fx&max-keys=1${more && '&'}`)
          const headers: Headers = [...(request.headers ?? []), [':expected-bucket-owner', MAIN.accountId]]
          const answer = await client.send({ ...request, path, headers, bucket, as })
          assert.equal(answer.status, wanted, `${request.method} ${path} ${JSON.stringify(statements)} ${answer.body}`)
        }
      }
    }
  }
})

inBoth('G7: an explanation of a missing key names the conditions of ListBucket', async (client, { parts }) => {
  const bucket = await makeBucket(client, 'missing-bucket')
  const directory = new IdentityCache(parts.store.context, undefined)
  const inside = { IpAddress: { 'svc:SourceIp': '10.0.0.0/8' } }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [READING, listing('Allow', inside)] })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
  const ask = (context?: ReadonlyMap<string, readonly string[]>) =>
    explain(parts.store, directory, { accessKey: OTHER.accessKey, action: 'GetObject', bucket, key: 'none', context })
  const open = await ask()
  assert.deepEqual([open.verdict, open.because, open.dependsOn], ['refused', 'missing', ['sourceip']])
  assert.equal((await ask(new Map([['sourceip', ['10.1.2.3']]]))).because, 'missing')
  assert.equal((await ask(new Map([['sourceip', ['192.168.0.1']]]))).because, 'access')
})
