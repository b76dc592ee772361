/** Signatures of the scheme before: refused, and told what to use in the words of the dialect that had them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAIN, makeBucket, withServer } from './server.ts'

const WAYS = {
  'in the query': { path: `/k?AWSAccessKeyId=${MAIN.accessKey}&Signature=abc%3D&Expires=4000000000`, headers: [] },
  'in the header': { path: '/k', headers: [['Authorization', `AWS ${MAIN.accessKey}:abc=`]] },
} as const

for (const [where, { path, headers }] of Object.entries(WAYS)) {
  test(`s3: a signature of the scheme before, ${where}, is refused by naming the one to use`, () =>
    withServer(async ({ s3 }) => {
      const bucket = await makeBucket(s3)
      const answer = await s3.send({ method: 'GET', bucket, path, headers, as: null })
      assert.deepEqual([answer.status, answer.code()], [400, 'InvalidRequest'])
      assert.match(answer.body.toString(), /Please use AWS4-HMAC-SHA256\./)
      assert(answer.own('request-id') !== undefined, 'the answer speaks the dialect')
    }))
}
