import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StagedStream } from '../lib/piece-stream.ts'
import { redirectOnBucketHost } from './website.ts'

test('an object is given up when it cannot be found out whether its bucket is a website', async () => {
  let isGivenUp = false
  const body = new StagedStream(() => ({
    read: () => undefined,
    cancel: () => {
      isGivenUp = true
    },
  }))
  const response = { headers: [[':website-redirect-location', '/kept']] as const, body }
  const request = { method: 'GET', target: '/away', headers: [] }
  const facts = {
    bucket: () => {
      throw new Error('the engine cannot be reached')
    },
    document: async () => undefined,
    object: () => undefined,
    initiator: async () => undefined,
  }
  await assert.rejects(redirectOnBucketHost(response, { bucket: 'bucket', request, facts }), /cannot be reached/)
  assert.equal(isGivenUp, true)
})
