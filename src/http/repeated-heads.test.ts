import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePlainHead } from './plain-head.ts'
import { RepeatedHeads } from './repeated-heads.ts'

const presigned = 'GET /b/k?X-Amz-Signature=0123456789 HTTP/1.1\r\nHost: h\r\n\r\n'
const signed = 'GET /b/k HTTP/1.1\r\nAuthorization: AWS4-HMAC-SHA256 Signature=0123456789\r\n\r\n'
const unsigned = 'GET /b/k HTTP/1.1\r\nHost: h\r\n\r\n'

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

for (const [title, text] of Object.entries({ presigned, signed })) {
  test(`equal heads share their request from the second on: ${title}`, () => {
    const heads = new RepeatedHeads(parsePlainHead)
    const get = (changed = text) => heads.get(bytesOf(changed))
    assert.deepEqual(get(), parsePlainHead(bytesOf(text)))
    assert.deepEqual(get(), parsePlainHead(bytesOf(text), true))
    assert.equal(get()!.request.isShared, true)
    assert.equal(get()!.request, get()!.request)
    for (const other of [text.replace('h\r', 'i\r'), text.replace('GET', 'HEAD'), text.replace('789', '788')]) {
      assert.deepEqual(get(other)?.request.target, parsePlainHead(bytesOf(other))?.request.target)
      if (other !== text) assert.notEqual(get()!.request, get(other)!.request)
    }
  })
}

test('a head does not depend on the memory that it was read from', () => {
  const heads = new RepeatedHeads(parsePlainHead)
  const memory = bytesOf(presigned)
  heads.get(memory)
  const kept = heads.get(memory)!.request
  memory.write('HEAD /c/')
  assert.equal(heads.get(bytesOf(presigned))!.request, kept)
})

test('clients that share a URL and send other headers each have a request of their own', () => {
  const heads = new RepeatedHeads(parsePlainHead)
  const sent = ['one', 'two'].map(agent => bytesOf(presigned.replace('\r\n\r\n', `\r\nUser-Agent: ${agent}\r\n\r\n`)))
  const requests = (): unknown[] => sent.map(bytes => heads.get(bytes)!.request)
  requests()
  const kept = requests()
  assert.notEqual(kept[0], kept[1])
  for (let times = 0; times < 3; times++) for (const [at, one] of requests().entries()) assert.equal(one, kept[at])
})

test('a head is read once for each request', () => {
  let reads = 0
  const heads = new RepeatedHeads((bytes, isShared) => {
    reads++
    return parsePlainHead(bytes, isShared)
  })
  for (let times = 0; times < 4; times++) heads.get(bytesOf(signed))
  assert.equal(reads, 2)
})

test('kept heads retain no memory beside their own', () => {
  const memories = new Set<number>()
  const heads = new RepeatedHeads((bytes, isShared) => {
    if (isShared) memories.add(bytes.buffer.byteLength)
    return parsePlainHead(bytes, isShared)
  })
  for (let times = 0; times < 2; times++) heads.get(Buffer.from(presigned))
  assert.deepEqual([...memories], [presigned.length])
})

test('other heads are read anew each time, and what is not plain is left to the runtime', () => {
  const heads = new RepeatedHeads(parsePlainHead)
  const twice = (text: string) => [heads.get(bytesOf(text)), heads.get(bytesOf(text))]
  const [first, second] = twice(unsigned)
  assert.deepEqual(first, second)
  assert.notEqual(first!.request, second!.request)
  const long = presigned.replace('Host: h', `Host: ${'h'.repeat(8_192)}`)
  for (const text of [presigned.replace('1.1', '1.0'), `${presigned}${presigned}`, long, 'Signature=0']) {
    assert.deepEqual(twice(text), [undefined, undefined])
  }
})
