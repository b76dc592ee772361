/** The ACL of objects that an anonymous caller creates: by PUT and by form, in a bucket with public write access. */
import assert from 'node:assert/strict'
import { FORM_TYPE, formBody } from '../specimens/forms.ts'
import { type Headers, outcome, put, text, texts } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, makeBucket, type Received } from './server.ts'

const BUCKET = 'test-bucket'
const ANONYMOUS_ID = '65a011a29cdf8ec533ec3d1ccaae921c'

type Writer = (acl: Headers) => Promise<Received>

/** Both ways of writing an object at `/k`; either succeeds with 200. */
const writers = (client: Client): readonly (readonly [way: string, write: Writer])[] => [
  [
    'PUT',
    acl => client.send({ method: 'PUT', bucket: BUCKET, path: '/k', body: 'x', headers: [...acl, metadata], as: null }),
  ],
  [
    'POST',
    acl => {
      const named = [...acl, metadata].map(([name, value]) => [client.name(name), value] as const)
      const fields = [['key', 'k'] as const, ['success_action_status', '200'] as const, ...named]
      const body = formBody(fields, Buffer.from('x'))
      return client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers: [FORM_TYPE], as: null })
    },
  ],
]

/** Without a signature, only a header or field shows the dialect. */
const metadata = [':meta-a', 'b'] as const
const PUBLIC_READ: Headers = [[':acl', 'public-read']]
const TO_OWNER: Headers = [[':acl', 'bucket-owner-full-control']]
const GRANTED: Headers = [[':grant-read', `id="${MAIN.canonicalId}"`]]
const ALL = [PUBLIC_READ, TO_OWNER, GRANTED]

async function writable(client: Client, canned = 'public-read-write'): Promise<void> {
  await makeBucket(client, BUCKET, [[':acl', canned]])
}

const statement = (effect: string, ...actions: readonly string[]): object => ({
  Effect: effect,
  Principal: '*',
  Action: actions,
  Resource: `arn:aws:s3:::${BUCKET}/*`,
})

async function setPolicy(client: Client, ...statements: readonly object[]): Promise<void> {
  const body = JSON.stringify({ Version: '2012-10-17', Statement: statements })
  assert.equal((await documentsOf(client, BUCKET, 'policy').put(body)).status, 204)
}

const setBlock = async (client: Client, name: string): Promise<void> => {
  const body = `<PublicAccessBlockConfiguration><${name}>true</${name}></PublicAccessBlockConfiguration>`
  assert.equal((await documentsOf(client, BUCKET, 'publicAccessBlock').put(body)).status, 200)
}

inBoth('R56 G7 PutObject, PostObject: a writer by ACL may set an ACL, also anonymously', async client => {
  await writable(client)
  const status = async (as: typeof MAIN | null): Promise<number> =>
    (await client.send({ method: 'GET', bucket: BUCKET, path: '/k', as })).status
  for (const [way, write] of writers(client)) {
    for (const [acl, ownerReads, anyoneReads] of [
      [[], 403, 403],
      [PUBLIC_READ, 200, 200],
      [TO_OWNER, 200, 403],
      [GRANTED, 200, 403],
    ] as const) {
      // The owner of the replaced object does not affect the new one.
      await put(client, BUCKET, '/k', 'before')
      assert.equal(outcome(await write(acl)), '200', `${way} ${JSON.stringify(acl)}`)
      assert.deepEqual([await status(MAIN), await status(null)], [ownerReads, anyoneReads], `${way} ${acl}`)
    }
    await write(TO_OWNER)
    const list = (await client.send({ method: 'GET', bucket: BUCKET, path: '/k?acl' })).xml()
    assert.equal(text(list, 'ID'), ANONYMOUS_ID)
    assert.deepEqual(texts(list, 'Permission'), ['FULL_CONTROL', 'FULL_CONTROL'])
    assert.equal(outcome(await write([[':acl', 'unheard-of']])), '400 InvalidArgument')
  }
})

inBoth('R9 G7 PutObject, PostObject: setting an ACL needs write permission and no denial', async client => {
  await writable(client, 'public-read')
  for (const [way, write] of writers(client))
    for (const acl of [[], ...ALL]) assert.equal(outcome(await write(acl)), '403 AccessDenied', way)
  // A policy that allows writing allows setting the ACL only if it names that action.
  await setPolicy(client, statement('Allow', 's3:PutObject'))
  for (const [way, write] of writers(client)) {
    assert.equal(outcome(await write([])), '200', way)
    for (const acl of ALL) assert.equal(outcome(await write(acl)), '403 AccessDenied', way)
  }
  await setPolicy(client, statement('Allow', 's3:PutObject', 's3:PutObjectAcl'))
  for (const [way, write] of writers(client)) for (const acl of ALL) assert.equal(outcome(await write(acl)), '200', way)
  assert.equal(
    (await client.send({ method: 'PUT', bucket: BUCKET, path: '/?acl', headers: [[':acl', 'public-read-write']] }))
      .status,
    200,
  )
  await setPolicy(client, statement('Deny', 's3:PutObjectAcl'))
  for (const [way, write] of writers(client)) {
    assert.equal(outcome(await write([])), '200', way)
    for (const acl of ALL) assert.equal(outcome(await write(acl)), '403 AccessDenied', way)
  }
})

inBoth('G6 G10 PutObject, PostObject: public access blocks and ownership apply to anonymous ACLs', async client => {
  await writable(client)
  await setBlock(client, 'BlockPublicAcls')
  for (const [way, write] of writers(client)) {
    assert.equal(outcome(await write(PUBLIC_READ)), '403 AccessDenied', way)
    assert.equal(outcome(await write(TO_OWNER)), '200', way)
  }
  await setBlock(client, 'IgnorePublicAcls')
  for (const [way, write] of writers(client))
    for (const acl of [[], ...ALL]) assert.equal(outcome(await write(acl)), '403 AccessDenied', way)
  await setBlock(client, 'BlockPublicPolicy')
  const mode = (name: string): string =>
    `<OwnershipControls><Rule><ObjectOwnership>${name}</ObjectOwnership></Rule></OwnershipControls>`
  const ownership = documentsOf(client, BUCKET, 'ownershipControls')
  assert.equal((await ownership.put(mode('BucketOwnerPreferred'))).status, 200)
  for (const [way, write] of writers(client)) {
    assert.equal(outcome(await write(TO_OWNER)), '200', way)
    const list = (await client.send({ method: 'GET', bucket: BUCKET, path: '/k?acl' })).xml()
    assert.equal(text(list, 'ID'), MAIN.canonicalId, way)
  }
  await client.send({ method: 'PUT', bucket: BUCKET, path: '/?acl', headers: [[':acl', 'private']] })
  await documentsOf(client, BUCKET, 'publicAccessBlock').remove()
  assert.equal((await ownership.put(mode('BucketOwnerEnforced'))).status, 200)
  await setPolicy(client, statement('Allow', 's3:PutObject', 's3:PutObjectAcl'))
  for (const [way, write] of writers(client)) {
    assert.equal(outcome(await write(PUBLIC_READ)), '400 AccessControlListNotSupported', way)
    assert.equal(outcome(await write(TO_OWNER)), '200', way)
  }
})

inBoth('R60 R70: an ACL does not permit anonymous uploads or copies', async client => {
  await writable(client)
  await put(client, BUCKET, '/source', 'x', PUBLIC_READ)
  for (const acl of [[metadata], PUBLIC_READ]) {
    const begun = { method: 'POST', path: '/k?uploads', headers: acl }
    const copied = { method: 'PUT', path: '/k', headers: [...acl, [':copy-source', `${BUCKET}/source`] as const] }
    for (const asked of [begun, copied])
      assert.equal(outcome(await client.send({ ...asked, bucket: BUCKET, as: null })), '403 AccessDenied')
  }
})
