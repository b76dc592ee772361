import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authenticate } from './authenticate.ts'
import { SCHEMES } from './signing.ts'
import { credential } from './suite-signer.ts'

/** From the specification of Signature Version 2; its key is the one that all examples use. */
test('D31: the published example of a query is accepted, at the host and in the path', async () => {
  const query = 'AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=1175139620'
  const by = {
    scheme: SCHEMES.s3,
    region: 'us-east-1',
    sigV2: true,
    now: 1_175_139_619_999,
    findCredential: () => credential,
  }
  const at = async (path: string, hostBucket: string) => {
    const request = { method: 'GET', target: `${path}?${query}`, headers: [] }
    return (await authenticate(request, { ...by, hostBucket })).caller.kind
  }
  assert.equal(await at('/photos/puppy.jpg', '/johnsmith'), 'account')
  assert.equal(await at('/johnsmith/photos/puppy.jpg', ''), 'account')
})
