import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RawRequest } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import { authenticate as authenticateSoon } from './authenticate.ts'
import type { Authentication } from './authentication.ts'
import { checkedBody, type PayloadRule } from './parsed-signature.ts'
import { UNSIGNED_CHUNKS_TRAILER, UNSIGNED_PAYLOAD } from './signing.ts'
import { collect, streamOf, wire } from './suite-chunks.ts'
import { BOTH, type SampleRequest, server, sha, signatureOf, signed } from './suite-signer.ts'

const HELLO = [Buffer.from('hello '), Buffer.from('world')]

const authenticate = async (request: RawRequest, by: Authentication) => authenticateSoon(request, by)

async function faultOf(attempt: Promise<unknown>): Promise<Fault> {
  try {
    await attempt
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new assert.AssertionError({ message: 'it was accepted' })
}

test('A15: a body is what its hash says', async () => {
  const rule: PayloadRule = { kind: 'sha256', hex: sha('hello world') }
  assert.equal((await collect(checkedBody(streamOf(...HELLO), rule))).toString(), 'hello world')
  const { code, detail } = await faultOf(collect(checkedBody(streamOf(HELLO[0]!), rule)))
  assert.equal(code, 'XSvcContentSHA256Mismatch')
  assert.equal(detail.ClientComputedContentSHA256, sha('hello world'))
  assert.equal(detail.SvcComputedContentSHA256, sha('hello '))
})

test('a body without a hash passes as it is', async () => {
  const body = streamOf(...HELLO)
  assert.equal(checkedBody(body, { kind: 'unsigned' }), body)
})

test('the hash of a request may be written in either case', async () => {
  for (const scheme of BOTH) {
    const { payload } = await authenticate(signed(scheme, { contentHash: sha('x').toUpperCase() }), server(scheme))
    assert.deepEqual(payload, { kind: 'sha256', hex: sha('x') })
    const unsigned = await authenticate(signed(scheme, { contentHash: UNSIGNED_PAYLOAD }), server(scheme))
    assert.deepEqual(unsigned.payload, { kind: 'unsigned' })
  }
})

test('a signed request in signed chunks is read from its own signature on', async () => {
  for (const scheme of BOTH) {
    for (const trailers of [undefined, [`${scheme.headerPrefix}checksum-crc32:DUoRhQ==`]]) {
      const request = signed(scheme, {
        method: 'PUT',
        contentHash: trailers ? scheme.signedChunksTrailer : scheme.signedChunks,
        headers: [['~decoded-content-length', '11'], ...(trailers ? [['~trailer', '~checksum-crc32'] as const] : [])],
      })
      const sent = { scheme, signed: true, data: HELLO, ...(trailers && { trailers }) }
      const read = async (seed: string): Promise<string> => {
        const { payload } = await authenticate(request, server(scheme))
        return (await collect(checkedBody(streamOf(wire(sent, seed)), payload))).toString()
      }
      assert.equal(await read(signatureOf(request)), 'hello world')
      assert.equal((await faultOf(read('0'.repeat(64)))).code, 'SignatureDoesNotMatch')
    }
  }
})

const ANONYMOUS_CHUNKS = 'b\r\nhello world\r\n0\r\nx-svc-checksum-crc32:DUoRhQ==\r\n\r\n'

test('an unsigned trailer as clients send it, signed request or none', async () => {
  for (const scheme of BOTH) {
    const x = scheme.headerPrefix
    const headers: SampleRequest['headers'] = [
      ['~decoded-content-length', '11'],
      ['~trailer', '~checksum-crc32'],
      ['Content-Encoding', scheme.chunkEncoding],
    ]
    const named = headers.map(([name, value]) => [name.replace('~', x), value.replace('~', x)] as const)
    // Unsigned requests need no content hash; some clients send one anyway.
    const bare: RawRequest = { method: 'PUT', target: '/a', headers: named }
    const hashed = { ...bare, headers: [...named, [`${x}content-sha256`, UNSIGNED_CHUNKS_TRAILER] as const] }
    const full = signed(scheme, { method: 'PUT', contentHash: UNSIGNED_CHUNKS_TRAILER, headers })
    for (const request of [bare, hashed, full]) {
      const { payload } = await authenticate(request, server(scheme))
      assert(payload.kind === 'chunks')
      const text = ANONYMOUS_CHUNKS.replace('x-svc-', x)
      assert.equal((await collect(checkedBody(streamOf(Buffer.from(text)), payload))).toString(), 'hello world')
      assert.deepEqual([...payload.trailers], [[`${x}checksum-crc32`, 'DUoRhQ==']])
    }
  }
})

test('A14: signed chunks need a signed request', async () => {
  for (const scheme of BOTH) {
    for (const contentHash of [scheme.signedChunks, scheme.signedChunksTrailer]) {
      const headers = [
        [`${scheme.headerPrefix}content-sha256`, contentHash],
        [`${scheme.headerPrefix}decoded-content-length`, '1'],
      ] as const
      const fault = await faultOf(authenticate({ method: 'PUT', target: '/a', headers }, server(scheme)))
      assert.equal(fault.code, 'InvalidRequest')
      assert.equal(fault.detail.authentication, true)
    }
  }
})

test('chunks need their decoded length, and trailers a name that is known', async () => {
  for (const scheme of BOTH) {
    const fault = async (headers: SampleRequest['headers'], contentHash = UNSIGNED_CHUNKS_TRAILER): Promise<string> =>
      (await faultOf(authenticate(signed(scheme, { contentHash, headers: headers ?? [] }), server(scheme)))).code
    assert.equal(await fault([]), 'MissingContentLength')
    for (const length of ['-1', '1e3', '', '0x10', '9007199254740992', '5,5']) {
      assert.equal(await fault([['~decoded-content-length', length]]), 'InvalidArgument', length)
    }
    const length = ['~decoded-content-length', '11'] as const
    for (const name of ['~meta-a', '~checksum-md5', 'checksum-crc32', '~checksum-crc32,~acl', 'content-length']) {
      assert.equal(await fault([length, ['~trailer', name]]), 'InvalidRequest', name)
    }
    // Announced but impossible to send: refused instead of ignored.
    for (const contentHash of [scheme.signedChunks, sha('')]) {
      assert.equal(await fault([length, ['~trailer', '~checksum-crc32']], contentHash), 'InvalidRequest')
    }
  }
})
