import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { BodyDigest } from './body-digest.ts'
import type { DigestAlgorithm, DigestCommand } from './digest-program.ts'
import { BUFFER_BYTES, startThread, type ThreadPort } from './digest-thread.ts'
import { DigestThreads } from './digest-threads.ts'

/** Of each thread. */
const BUFFERS = 32

const direct = (algorithm: DigestAlgorithm, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

/** Bytes in which no two blocks are equal. */
function bytesOf(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeInt32LE(Math.imul(at + seed, 0x9e3779b1), at)
  return bytes
}

async function digested(digest: BodyDigest, bytes: Buffer, cut: number): Promise<string> {
  for (let at = 0; at < bytes.length; at += cut) await digest.update(bytes.subarray(at, at + cut))
  return (await digest.digest()).toString('hex')
}

/** A thread that the test controls. */
class Puppet extends EventEmitter implements ThreadPort {
  readonly commands: DigestCommand[] = []
  readonly buffers: ArrayBuffer[] = []
  sent = 0
  isHeld = true
  postMessage(command: DigestCommand): void {
    this.commands.push(command)
    if (!('buffer' in command)) return
    this.buffers.push(command.buffer)
    this.sent++
  }
  ref(): void {
    this.isHeld = true
  }
  unref(): void {
    this.isHeld = false
  }
  get algorithms(): DigestAlgorithm[] {
    return this.commands.flatMap(command => ('buffer' in command ? [command.algorithm] : []))
  }
  /** Sends back the first buffers it holds, as if they were hashed. */
  hash(count = 1): void {
    for (const buffer of this.buffers.splice(0, count)) this.emit('message', { buffer })
  }
}

function puppets(): { readonly threads: DigestThreads; readonly started: Puppet[] } {
  const started: Puppet[] = []
  const threads = new DigestThreads(() => {
    const puppet = new Puppet()
    started.push(puppet)
    return puppet
  })
  return { threads, started }
}

test('a digest is the same whether a thread computes it or not, however the bytes are cut', () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom('md5', 'sha1', 'sha256'),
      fc.constantFrom(0, 1, 1000, BUFFER_BYTES - 1, BUFFER_BYTES, BUFFER_BYTES + 1, 9 * BUFFER_BYTES + 17),
      fc.constantFrom(65_536, 100_003, BUFFER_BYTES, 10 * BUFFER_BYTES),
      async (algorithm: DigestAlgorithm, length, cut) => {
        const bytes = bytesOf(length)
        assert.equal(await digested(new BodyDigest(algorithm), bytes, cut), direct(algorithm, bytes))
      },
    ),
    { numRuns: 40 },
  ))

test('bodies that come in at once do not get into each other, and abandoned ones disturb none', async () => {
  const bodies = Array.from({ length: 24 }, (_, n) => bytesOf(3 * BUFFER_BYTES + n, n))
  const given = bodies.map(async (bytes, n) => {
    const digest = new BodyDigest(n % 2 === 0 ? 'md5' : 'sha256')
    if (n % 5 !== 4) return digested(digest, bytes, 50_000)
    await digest.update(bytes)
    digest.abandon()
    return undefined
  })
  const digests = await Promise.all(given)
  const expected = bodies.map((bytes, n) => (n % 5 === 4 ? undefined : direct(n % 2 === 0 ? 'md5' : 'sha256', bytes)))
  assert.deepEqual(digests, expected)
})

test('a body of up to a buffer needs no thread', async () => {
  const { threads, started } = puppets()
  const bytes = bytesOf(BUFFER_BYTES)
  assert.equal(await digested(new BodyDigest('md5', threads), bytes, 1000), direct('md5', bytes))
  assert.equal(started.length, 0)
})

test('the two digests of one body run on two threads, and further ones go where there is less to do', () => {
  const { threads, started } = puppets()
  const algorithms = ['sha256', 'md5', 'sha256', 'sha256', 'sha256'] as const
  const streams = algorithms.map(algorithm => threads.open(algorithm)!)
  for (const stream of streams) void stream.write([bytesOf(BUFFER_BYTES)])
  assert.deepEqual(
    started.map(thread => thread.algorithms),
    [
      ['sha256', 'sha256', 'sha256'],
      ['md5', 'sha256'],
    ],
  )
})

test('all MD5s share a thread, and other digests leave it to them', () => {
  const { threads, started } = puppets()
  const algorithms = ['md5', 'sha256', 'md5', 'sha1', 'md5', 'md5', 'md5', 'sha256'] as const
  for (const algorithm of algorithms) void threads.open(algorithm)!.write([bytesOf(BUFFER_BYTES)])
  assert.deepEqual(
    started.map(thread => thread.algorithms),
    [
      ['md5', 'md5', 'md5', 'md5', 'md5'],
      ['sha256', 'sha1', 'sha256'],
    ],
  )
})

test('bytes that arrive faster than they are hashed wait for a buffer to come back', async () => {
  const { threads, started } = puppets()
  const digest = new BodyDigest('md5', threads)
  let isThrough = false
  const large = digest.update(bytesOf((BUFFERS + 2) * BUFFER_BYTES + 1))!.then(() => {
    isThrough = true
  })
  await new Promise(setImmediate)
  const [thread] = started
  assert.equal(thread!.sent, BUFFERS, 'no more than this is queued for a thread')
  assert.equal(new Set(thread!.buffers).size, BUFFERS, 'a buffer was filled again before it came back')
  thread!.hash()
  await new Promise(setImmediate)
  assert.deepEqual([thread!.sent, isThrough], [BUFFERS + 1, false])
  thread!.hash()
  await large
  assert.equal(thread!.sent, BUFFERS + 2)
})

test('buffers are granted in the order in which they were requested', async () => {
  const { threads, started } = puppets()
  const streams = [threads.open('md5')!, threads.open('md5')!]
  const [thread] = started
  const order: number[] = []
  const writes = streams.map((stream, n) => stream.write([bytesOf((n === 0 ? BUFFERS : 1) * BUFFER_BYTES)]))
  const last = writes[1]!.then(() => order.push(1))
  await writes[0]
  const again = streams[0]!.write([bytesOf(BUFFER_BYTES)]).then(() => order.push(0))
  await new Promise(setImmediate)
  assert.deepEqual(order, [])
  thread!.hash(2)
  await Promise.all([last, again])
  assert.deepEqual(order, [1, 0])
})

test('a digest that is abandoned while it waits for a buffer leaves the buffer to others', async () => {
  const { threads, started } = puppets()
  const digest = new BodyDigest('md5', threads)
  const waiting = digest.update(bytesOf((BUFFERS + 1) * BUFFER_BYTES + 1))
  const [thread] = started
  digest.abandon()
  thread!.hash()
  await waiting
  assert.equal(thread!.sent, BUFFERS, 'nothing more is sent for it')
  await new BodyDigest('md5', threads).update(bytesOf(BUFFER_BYTES + 1))
  assert.equal(thread!.sent, BUFFERS + 1)
})

test('a buffer that was handed to a thread can no longer be written here', async () => {
  const port = startThread()
  const buffer = new ArrayBuffer(16)
  const back = new Promise<unknown>(resolve => port.on('message', resolve))
  port.postMessage({ id: 1, algorithm: 'md5', buffer, bytes: 16, isLast: true }, [buffer])
  assert.equal(buffer.byteLength, 0)
  assert.equal(((await back) as { buffer: ArrayBuffer }).buffer.byteLength, 16)
  port.unref()
})

for (const [how, event, told] of [
  ['ends', 'exit', 1],
  ['throws', 'error', new Error('out of memory')],
] as const) {
  test(`a thread that ${how} fails what it had, whoever waits for it, and the next one is another`, async () => {
    const { threads, started } = puppets()
    const [first, second] = [threads.open('md5'), threads.open('md5')]
    await first!.write([bytesOf(BUFFER_BYTES)])
    const [thread] = started
    thread!.hash()
    const asked = first!.digest([bytesOf(1)])
    const waiting = second!.write([bytesOf((BUFFERS + 4) * BUFFER_BYTES)])
    thread!.emit(event, told)
    await assert.rejects(asked, /a digest thread failed/)
    await assert.rejects(waiting, /a digest thread failed/)
    await assert.rejects(second!.digest([bytesOf(1)]), /a digest thread failed/)
    await new BodyDigest('md5', threads).update(bytesOf(BUFFER_BYTES + 1))
    assert.equal(started.length, 2)
    assert.equal(started[1]!.sent, 1)
  })
}

test('where no thread can be started, digests are computed without', async () => {
  const bytes = bytesOf(3 * BUFFER_BYTES)
  const refused = new DigestThreads(() => {
    throw new Error('not permitted')
  })
  assert.equal(await digested(new BodyDigest('md5', refused), bytes, 70_000), direct('md5', bytes))
  const { threads, started } = puppets()
  await new BodyDigest('md5', threads).update(bytes)
  started[0]!.emit('exit', 1)
  assert.equal(await digested(new BodyDigest('md5', threads), bytes, 70_000), direct('md5', bytes))
  assert.equal(started.length, 1, 'one that never did anything is not tried again')
})

test('a thread that really dies is noticed', async () => {
  const started: ThreadPort[] = []
  const threads = new DigestThreads(() => {
    const thread = startThread()
    started.push(thread)
    return thread
  })
  const digest = new BodyDigest('md5', threads)
  await digest.update(bytesOf(BUFFER_BYTES + 1))
  await (started[0] as unknown as { terminate(): Promise<unknown> }).terminate()
  await assert.rejects(async () => {
    await digest.update(bytesOf(100 * BUFFER_BYTES))
    await digest.digest()
  }, /a digest thread failed/)
})

test('only work that somebody waits for keeps the process running', async () => {
  const { threads, started } = puppets()
  const digest = new BodyDigest('md5', threads)
  await digest.update(bytesOf(BUFFER_BYTES + 1))
  assert.equal(started[0]!.isHeld, true)
  const asked = digest.digest()
  await new Promise(setImmediate)
  assert.equal(started[0]!.isHeld, true)
  started[0]!.emit('message', { buffer: new ArrayBuffer(1), ended: { id: 1, digest: new Uint8Array(16) } })
  assert.equal((await asked).length, 16)
  assert.equal(started[0]!.isHeld, false)
})
