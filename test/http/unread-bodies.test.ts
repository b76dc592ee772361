/** Integrity claims about a body are verified even where the operation ignores the body. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { begin, beginning, expectFault } from './parts.ts'
import { type Client, inBoth, makeBucket, type Sending } from './server.ts'

const md5 = (body: string): string => createHash('md5').update(body).digest('base64')
const sha256 = (body: string): string => createHash('sha256').update(body).digest('hex')

/** A bucket with an object and an upload, and a check that both still exist. */
async function furnished(client: Client) {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const { id } = await begin(client, bucket, '/u')
  const upload = `/u?uploadId=${id}`
  const stands = async (): Promise<void> => {
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'x')
    assert.equal((await client.send({ method: 'GET', bucket, path: upload })).status, 200)
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/new' })).status, 404)
  }
  return { bucket, upload, stands }
}

inBoth('R104: Content-MD5 is verified by every operation that writes, with a body or without', async client => {
  const { bucket, upload, stands } = await furnished(client)
  const requests: (Pick<Sending, 'method' | 'path'> & { readonly headers?: [string, string][] })[] = [
    { method: 'PUT', path: '/new', headers: [[':copy-source', `${bucket}/k`]] },
    { method: 'PUT', path: `${upload}&partNumber=1`, headers: [[':copy-source', `${bucket}/k`]] },
    { method: 'POST', path: '/new?uploads' },
    { method: 'DELETE', path: '/k' },
    { method: 'DELETE', path: upload },
    { method: 'DELETE', path: '/?policy' },
  ]
  const send = ({ headers = [], ...rest }: (typeof requests)[number], digest: string): ReturnType<Client['send']> =>
    client.send({ ...rest, bucket, headers: [...headers, ['Content-MD5', digest]] })
  for (const request of requests) {
    expectFault(await send(request, 'abc'), 400, 'InvalidDigest')
    expectFault(await send(request, md5('something')), 400, 'BadDigest')
  }
  await stands()
  for (const request of requests) assert((await send(request, md5(''))).status < 300, request.path)
})

inBoth('A15: a hash that was signed for other bytes is refused where no body is read', async client => {
  const { bucket, upload, stands } = await furnished(client)
  const mismatch = client.dialect === 'svc' ? 'XSvcContentSHA256Mismatch' : 'XAmzContentSHA256Mismatch'
  for (const [method, path] of [
    ['GET', '/k'],
    ['GET', '/'],
    ['DELETE', '/k'],
    ['DELETE', upload],
    ['DELETE', '/?policy'],
  ] as const) {
    expectFault(await client.send({ method, bucket, path, hash: sha256('other') }), 400, mismatch)
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k', hash: sha256('other') })).status, 400)
  for (const hash of [sha256(''), sha256('other')]) {
    expectFault(await client.send({ method: 'DELETE', bucket, path: '/k', body: 'this', hash }), 400, mismatch)
  }
  await stands()
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', body: 'this' })).status, 200)
  assert.equal((await client.send({ method: 'DELETE', bucket, path: '/k', body: 'this' })).status, 204)
  assert.equal((await beginning(client, bucket, '/after')).status, 200)
})
