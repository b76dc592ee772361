/** Bodies between connection and disk: hashed, verified, sealed and written as they arrive. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkedBody, type PayloadRule } from '../../src/auth/parsed-signature.ts'
import { SCHEMES } from '../../src/auth/signing.ts'
import { ruleFor, wire } from '../../src/auth/suite-chunks.ts'
import { BUFFER_BYTES } from '../../src/digest/digest-thread.ts'
import { IncomingBytes } from '../../src/http/incoming-bytes.ts'
import type { RawRequest } from '../../src/http/raw-request.ts'
import { Timeouts } from '../../src/http/timeouts.ts'
import { ManualClock, systemClock } from '../../src/lib/clock.ts'
import { ingest } from '../../src/store/content/ingest.ts'
import { shortOrLong } from '../long.ts'
import { assertWhole, bytesOf, faultOf, freshStore, gate, makeBucket, OWNER, payload, put, settle } from './fixture.ts'

/** Bytes as they arrive from a client, cut into these sizes in turn. */
function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    // As from a socket: each in a buffer of its own.
    yield Buffer.from(bytes.subarray(at, at + size))
    at += size
  }
}

const announcing = (length: number): RawRequest => ({
  method: 'PUT',
  target: '/bucket/k',
  headers: [['Content-Length', String(length)]],
})

function incoming(pieces: Iterable<Buffer>, length: number, timeouts = new Timeouts(systemClock)): IncomingBytes {
  const message = Readable.from(pieces, { objectMode: false })
  message.on('error', () => {})
  return new IncomingBytes(message as unknown as IncomingMessage, timeouts, announcing(length))
}

/** Counts the waits for clients that go on. */
class CountedTimeouts extends Timeouts {
  readonly waits = new Set<unknown>()

  override begin(wait: Parameters<Timeouts['begin']>[0]): void {
    this.waits.add(wait)
    super.begin(wait)
  }

  override end(wait: Parameters<Timeouts['end']>[0]): void {
    this.waits.delete(wait)
    super.end(wait)
  }
}

test('a body that is given up while its client pauses is no longer waited for', async () => {
  const timeouts = new CountedTimeouts(new ManualClock(0))
  const message = new Readable({ read() {} })
  const body = new IncomingBytes(message as unknown as IncomingMessage, timeouts, announcing(1_000))[
    Symbol.asyncIterator
  ]()
  message.push(Buffer.alloc(10))
  assert.equal((await body.next()).value?.length, 10)
  const pending = body.next()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(timeouts.waits.size, 1)
  await body.return?.()
  assert.equal(timeouts.waits.size, 0)
  assert.deepEqual(await Promise.race([pending, Promise.resolve('still pending')]), 'still pending')
})

const SIGNED_HOW = ['nothing', 'hash', 'chunks'] as const
type SignedHow = (typeof SIGNED_HOW)[number]

/** The bytes sent for this body, and how they are verified. */
function sentAs(how: SignedHow, body: Buffer, chunkBytes: number): { bytes: Buffer; rule: PayloadRule } {
  if (how === 'nothing') return { bytes: body, rule: { kind: 'unsigned' } }
  if (how === 'hash') {
    return { bytes: body, rule: { kind: 'sha256', hex: createHash('sha256').update(body).digest('hex') } }
  }
  const sent = { scheme: SCHEMES.s3, signed: true, data: [...cut(body, [chunkBytes])] }
  return { bytes: wire(sent), rule: ruleFor(sent) }
}

const bodyLength = fc.constantFrom(BUFFER_BYTES + 1, 2 * BUFFER_BYTES, 700_001, 3 * BUFFER_BYTES + 17, 1_500_000)
const sizes = fc.array(fc.oneof(fc.integer({ min: 500, max: 9_000 }), fc.integer({ min: 60_000, max: 600_000 })), {
  minLength: 1,
  maxLength: 4,
})

test('a body has the right digest and comes back as it was, however it is cut, signed and sealed', async () => {
  const { store, disk } = await freshStore()
  disk.pause = () => new Promise(setImmediate)
  await makeBucket(store, 'bucket')
  const one = fc.record({
    length: bodyLength,
    sizes,
    how: fc.constantFrom(...SIGNED_HOW),
    chunkBytes: fc.constantFrom(8_192, 65_536, 300_000),
    isSealed: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 6 }), async bodies => {
      const tags = bodies.map(async ({ length, sizes, how, chunkBytes, isSealed }, n) => {
        const body = payload(length, n)
        const { bytes, rule } = sentAs(how, body, chunkBytes)
        const { etag } = await store.objects.put({
          bucket: 'bucket',
          key: `${n}`,
          owner: OWNER,
          body: checkedBody(incoming(cut(bytes, sizes), bytes.length), rule),
          bytesExpected: length,
          encryption: isSealed ? { by: 'service' } : undefined,
        })
        assert.equal(etag, createHash('md5').update(body).digest('hex'))
        assert.ok((await bytesOf(store, { bucket: 'bucket', key: `${n}` })).equals(body), 'other bytes were stored')
      })
      await Promise.all(tags)
    }),
    { numRuns: shortOrLong(10, 60) },
  )
})

for (const [what, isWritten] of [
  ['breaks off', true],
  ['cannot be written', false],
] as const) {
  test(`a body that ${what} leaves no bytes behind`, async () => {
    const { store, disk } = await freshStore()
    await makeBucket(store, 'bucket')
    const body = payload(3_000_000)
    for (const isSealed of [false, true]) {
      disk.pause = undefined
      function* pieces(): Generator<Buffer> {
        yield* cut(body.subarray(0, 2_000_000), [65_536])
        if (isWritten) throw new Error('the connection broke')
        disk.pause = async what => {
          if (what === 'write') throw new Error('the disk is broken')
        }
        yield* cut(body.subarray(2_000_000), [65_536])
      }
      const put = store.objects.put({
        bucket: 'bucket',
        key: 'k',
        owner: OWNER,
        body: incoming(pieces(), body.length),
        encryption: isSealed ? { by: 'service' } : undefined,
      })
      await assert.rejects(put)
    }
    await assertWhole(store)
  })
}

for (const chunkBytes of [65_536, 300_000]) {
  test(`G4: one flipped bit in a signed chunk of ${chunkBytes} bytes refuses the body`, async () => {
    const { store } = await freshStore()
    await makeBucket(store, 'bucket')
    const body = payload(900_000)
    const { bytes, rule } = sentAs('chunks', body, chunkBytes)
    for (const at of [200, bytes.length >> 1, bytes.length - 500]) {
      for (const end of [bytes.length, bytes.length - 1]) {
        const altered = Buffer.from(bytes)
        altered[at]! ^= 1
        // Of two errors, the first in the stream is reported.
        const pieces = cut(altered.subarray(0, end), [65_536])
        const checked = checkedBody(incoming(pieces, bytes.length), rule)
        const put = store.objects.put({ bucket: 'bucket', key: 'k', owner: OWNER, body: checked })
        assert.equal(await faultOf(put), 'SignatureDoesNotMatch')
      }
    }
    const [first, second] = [bytes.indexOf(';chunk'), bytes.lastIndexOf('\r\n', bytes.lastIndexOf(';chunk'))]
    for (const [sent, code] of [
      [bytes.subarray(0, -1), 'IncompleteBody'],
      // Without its data the last chunk has a wrong previous signature, besides being too early.
      [Buffer.concat([bytes.subarray(0, first - 5), bytes.subarray(second + 2)]), 'SignatureDoesNotMatch'],
    ] as const) {
      const checked = checkedBody(incoming(cut(sent, [65_536]), bytes.length), rule)
      const put = store.objects.put({ bucket: 'bucket', key: 'k', owner: OWNER, body: checked })
      assert.equal(await faultOf(put), code)
    }
    await assertWhole(store)
  })
}

test('G4: a chunk with a wrong signature is refused before the client sends more', async () => {
  const clock = new ManualClock()
  const source = new Readable({ read() {} })
  const message = source as unknown as IncomingMessage
  const { bytes, rule } = sentAs('chunks', payload(900_000), 65_536)
  const body = checkedBody(new IncomingBytes(message, new Timeouts(clock), announcing(1_000_000)), rule)
  const reading = (async () => {
    for await (const _ of body);
  })()
  bytes[200]! ^= 1
  source.push(bytes.subarray(0, 70_000))
  assert.equal(await faultOf(reading), 'SignatureDoesNotMatch')
})

test('a short body in very many chunks is stored as it was', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const body = payload(3_500)
  const { bytes, rule } = sentAs('chunks', body, 1)
  const checked = checkedBody(incoming(cut(bytes, [65_536]), bytes.length), rule)
  await store.objects.put({ bucket: 'bucket', key: 'k', owner: OWNER, body: checked })
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'k' })).equals(body))
})

test('bytes are passed on as they arrive, also when the client then pauses', async () => {
  const source = new Readable({ read() {} })
  const message = source as unknown as IncomingMessage
  const bytes = new IncomingBytes(message, new Timeouts(new ManualClock()), announcing(1_000_000))
  const chunks = bytes[Symbol.asyncIterator]()
  const first = chunks.next()
  source.push(Buffer.from('first'))
  assert.equal((await first).value?.toString(), 'first')
})

for (const length of [3_000, 300_000]) {
  test(`every digest gets all of a body of ${length} bytes, also after one that waits`, async () => {
    const { store } = await freshStore()
    const body = payload(length)
    const seen: Buffer[][] = [[], [], []]
    const digests = seen.map((chunks, index) => ({
      update(chunk: Buffer) {
        chunks.push(chunk)
        return index === 1 ? new Promise<void>(setImmediate) : undefined
      },
      abandon() {},
    }))
    const options = { contentKey: undefined, digests, bytesMax: length, mayInline: true }
    await (await ingest(store.context, cut(body, [1_000, 70_000]), options)).discard()
    for (const chunks of seen) assert.equal(Buffer.concat(chunks).equals(body), true)
  })

  test(`a body that is refused after ${length} bytes is read no further, and closed`, async () => {
    const { store } = await freshStore()
    let closed = 0
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield payload(1_000)
      } finally {
        closed++
      }
    }
    const options = { contentKey: undefined, digests: [], bytesMax: length, mayInline: true }
    await assert.rejects(ingest(store.context, endless(), options), { code: 'EntityTooLarge' })
    assert.equal(closed, 1)
  })
}

test('a refusal does not wait until the bytes of its upload are freed', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'k', 'first')
  const { blobs, drafts } = store.context
  const remove = blobs.remove.bind(blobs)
  const mayFree = gate()
  blobs.remove = (...where) => mayFree.opened.then(() => remove(...where))
  const upload = { bucket: 'bucket', key: 'k', owner: OWNER, body: [payload(2 ** 21)] }
  const precondition = { ifMatch: undefined, ifNoneMatch: ['*'] }
  assert.equal(await faultOf(store.objects.put({ ...upload, precondition })), 'PreconditionFailed')
  assert.equal(drafts.count, 1)
  const isFreed = drafts.drained()
  mayFree.open()
  await isFreed
  await settle(store)
  await assertWhole(store)
})
