/** A request that was recognized in its bytes no longer depends on them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCHEMES } from '../auth/signing.ts'
import { signed } from '../auth/suite-signer.ts'
import { SignedHeads } from './signed-head.ts'

test('the headers are those that arrived, after further bytes were read into the same memory', () => {
  const { method, target, headers } = signed(SCHEMES.s3, {})
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const memory = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1')
  const { request } = new SignedHeads().parse(memory)!
  memory.fill('x')
  assert.deepEqual([request.method, request.target, request.headers], [method, target, headers])
})

test('a client may ask for its connection to be closed', () => {
  for (const [wish, isLast] of [
    ['close', true],
    ['keep-alive', false],
  ] as const) {
    const { method, target, headers } = signed(SCHEMES.s3, {
      headers: [['Connection', wish]],
      unsigned: ['connection'],
    })
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const head = new SignedHeads().parse(Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1'))
    assert.equal(head?.isLast, isLast)
  }
})
