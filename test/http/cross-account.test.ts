/** D29: what callers outside the owner's account cannot do to a bucket, whatever its policy allows. */
import assert from 'node:assert/strict'
import type { ServerParts } from '../../src/server/compose.ts'
import { makePlace, renewed, type Send, setBefore } from '../specimens/place.ts'
import { type Case, cases } from '../specimens/specimens.ts'
import { outcome } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, type Who } from './server.ts'

const NAMES = { bucket: 'plain', locked: 'with-locks', empty: 'nothing-in-it', fresh: 'not-yet', key: 'k' }

const ON_BUCKETS = cases().filter(({ operation: { match, withoutBucket } }) => match.on === 'bucket' && !withoutBucket)
const isOfPolicy = ({ route }: Case): boolean => / bucket \?policy$/.test(route)
const changes = ({ operation }: Case): boolean => ['PUT', 'DELETE'].includes(operation.match.method)

/** The most permissive policy. */
const open = (bucket: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: '*',
      Action: 's3:*',
      Resource: [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`],
    },
  })

async function records({ store }: ServerParts): Promise<string> {
  const entries = await store.context.meta.scan({ start: Buffer.from([0]), end: undefined }, 10_000)
  return entries.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`).join('\n')
}

inBoth('D29 R9: no policy lets an anonymous caller configure or remove a bucket', async (client, { parts }) => {
  const send: Send = what => client.send(what)
  let place = await makePlace(send, { ...NAMES, owner: MAIN.canonicalId, until: '2030-01-01T00:00:00Z' })
  const routes: string[] = []
  for (const one of ON_BUCKETS.filter(each => changes(each) || isOfPolicy(each))) {
    place = await renewed(send, place, 'empty')
    await setBefore(send, one, place, client.dialect)
    for (const name of [NAMES.bucket, NAMES.locked, NAMES.empty])
      await parts.store.documents.put(name, 'policy', open(name))
    const before = await records(parts)
    const asked = one.specimen.ask(place, client.dialect)
    // Without a signature, only a header shows the dialect.
    const headers = [...(asked.headers ?? []), [':expected-bucket-owner', MAIN.accountId] as const]
    const answer = await client.send({ method: one.operation.match.method, ...asked, headers, as: null })
    assert.equal(outcome(answer), isOfPolicy(one) ? '405 MethodNotAllowed' : '403 AccessDenied', one.route)
    assert.equal(await records(parts), before, one.route)
    routes.push(one.route)
  }
  // A route that is missing from the list would go untested.
  for (const query of ['acl', 'cors', 'lifecycle', 'website', 'encryption', 'versioning', 'object-lock', 'logging'])
    assert(routes.includes(`PUT bucket ?${query}`), query)
  for (const query of ['publicAccessBlock', 'ownershipControls', 'requestPayment', 'tagging', 'policy'])
    assert(routes.includes(`PUT bucket ?${query}`), query)
  assert(routes.includes('DELETE bucket') && routes.includes('DELETE bucket ?policy'), routes.join(', '))
})

inBoth('D29: other accounts cannot read or change the policy, whatever it allows', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'policy')
  // Without the permission it is AccessDenied, as everywhere.
  for (const as of [OTHER, null])
    for (const refused of [await at.get(as), await at.put(open(bucket), as), await at.remove(as)])
      assert.equal(outcome(refused), '403 AccessDenied')
  assert.equal((await at.put(open(bucket))).status, 204)
  const harmless = open(bucket).replace('"s3:*"', '"s3:GetObject"')
  for (const as of [OTHER, null]) {
    for (const refused of [await at.get(as), await at.put(harmless, as), await at.remove(as)]) {
      assert.equal(outcome(refused), '405 MethodNotAllowed')
      assert.equal(refused.headers.get('allow'), '')
    }
  }
  assert.equal((await at.get()).body.toString(), open(bucket))
  // Another account may do everything else that the policy allows, such as reading the policy status.
  assert.equal((await documentsOf(client, bucket, 'policyStatus').get(OTHER)).status, 200)
  assert.equal((await documentsOf(client, bucket, 'policyStatus').get(null)).status, 200)
  assert.equal((await documentsOf(client, bucket, 'versioning').get(null)).status, 200)
  assert.equal((await documentsOf(client, bucket, 'cors').remove(OTHER)).status, 204)
})

const setAcl = (client: Client, bucket: string, as: Who | null, acl: string): Promise<Received> =>
  client.send({ method: 'PUT', bucket, path: '/?acl', headers: [[':acl', acl]], as })

inBoth('D29 G7: an anonymous caller sets the ACL of a bucket by WRITE_ACP alone', async client => {
  const bucket = await makeBucket(client)
  assert.equal((await documentsOf(client, bucket, 'policy').put(open(bucket))).status, 204)
  assert.equal(outcome(await setAcl(client, bucket, null, 'private')), '403 AccessDenied')
  const everyone = 'uri="http://acs.svc/groups/global/AllUsers"'
  const headers = [
    [':grant-write-acp', everyone],
    [':grant-full-control', `id="${MAIN.canonicalId}"`],
  ] as const
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?acl', headers })).status, 200)
  assert.equal((await setAcl(client, bucket, null, 'public-read')).status, 200)
  // The ACL it set no longer grants that permission.
  assert.equal(outcome(await setAcl(client, bucket, null, 'private')), '403 AccessDenied')
})
