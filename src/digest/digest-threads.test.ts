import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { BodyDigest } from './body-digest.ts'
import { startThread, type ThreadPort } from './digest-thread.ts'
import { DigestThreads } from './digest-threads.ts'
import type { DigestAlgorithm, DigestCommand } from './digest-work.ts'
import { BLOCK_BYTES } from './shared-blocks.ts'

const direct = (algorithm: DigestAlgorithm, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

/** Bytes of which no two blocks are alike. */
function bytesOf(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeInt32LE(Math.imul(at + seed, 0x9e3779b1), at)
  return bytes
}

async function digested(digest: BodyDigest, bytes: Buffer, cut: number): Promise<string> {
  for (let at = 0; at < bytes.length; at += cut) await digest.update(bytes.subarray(at, at + cut))
  return (await digest.digest()).toString('hex')
}

/** A thread that does only what a test makes it do. */
class Puppet extends EventEmitter implements ThreadPort {
  readonly orders: DigestCommand[] = []
  isHeld = true
  postMessage(order: DigestCommand): void {
    this.orders.push(order)
  }
  ref(): void {
    this.isHeld = true
  }
  unref(): void {
    this.isHeld = false
  }
  /** Where the bytes lie that it was to hash. */
  get places(): number[] {
    return this.orders.flatMap(order => ('order' in order ? [order.at] : []))
  }
  /** Hashes the next so many that it was given, as far as anybody can tell. */
  hash(count = 1): void {
    for (; count > 0; count--) this.emit('message', { order: ++this.#hashed })
  }
  #hashed = 0
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
      fc.constantFrom(0, 1, 1000, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 9 * BLOCK_BYTES + 17),
      fc.constantFrom(65_536, 100_003, BLOCK_BYTES, 10 * BLOCK_BYTES),
      async (algorithm: DigestAlgorithm, length, cut) => {
        const bytes = bytesOf(length)
        assert.equal(await digested(new BodyDigest(algorithm), bytes, cut), direct(algorithm, bytes))
      },
    ),
    { numRuns: 40 },
  ))

test('bodies that come in at once do not get into each other, and abandoned ones disturb none', async () => {
  const bodies = Array.from({ length: 24 }, (_, n) => bytesOf(3 * BLOCK_BYTES + n, n))
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

test('where modules can have no memory, a thread computes MD5s all the same', async () => {
  const threads = new DigestThreads(({ buffer }) => startThread({ buffer, wasm: undefined }))
  const bodies = Array.from({ length: 5 }, (_, n) => bytesOf(2 * BLOCK_BYTES + n, n))
  const digests = await Promise.all(bodies.map(bytes => digested(new BodyDigest('md5', threads), bytes, 70_000)))
  assert.deepEqual(
    digests,
    bodies.map(bytes => direct('md5', bytes)),
  )
})

test('a body of up to a block needs no thread', async () => {
  const { threads, started } = puppets()
  const bytes = bytesOf(BLOCK_BYTES - 1)
  assert.equal(await digested(new BodyDigest('md5', threads), bytes, 1000), direct('md5', bytes))
  assert.equal(started.length, 0)
})

test('two digests of one body run on two threads, a third has to share', () => {
  const { threads, started } = puppets()
  for (const algorithm of ['sha256', 'md5', 'sha256'] as const) threads.open(algorithm)
  assert.deepEqual(
    started.map(({ orders }) => orders.map(order => ('start' in order ? order.start : ''))),
    [['sha256', 'sha256'], ['md5']],
  )
})

test('MD5s stay together up to four, and others go where there is less to do', () => {
  const { threads, started } = puppets()
  const signed = Array.from({ length: 6 }, () => ['md5', 'sha256'] as const).flat()
  const lanes = signed.map(algorithm => threads.open(algorithm)!)
  const had = (): string[] =>
    started.map(({ orders }) => orders.map(order => ('start' in order ? order.start : '')).join(' '))
  // Four of them count as two others do.
  assert.deepEqual(had(), ['md5 md5 md5 sha256 md5 md5 md5', 'sha256 sha256 sha256 sha256 sha256'])
  for (const lane of lanes) lane.abandon()
  for (const { orders } of started) orders.length = 0
  for (let n = 0; n < 5; n++) threads.open('md5')
  assert.deepEqual(had(), ['md5 md5 md5 md5', 'md5'])
})

test('bytes that come faster than they are hashed wait for a block, first come, first served', async () => {
  const { threads, started } = puppets()
  const [first, second] = [new BodyDigest('md5', threads), new BodyDigest('md5', threads)]
  await first.update(bytesOf(BLOCK_BYTES))
  await second.update(bytesOf(BLOCK_BYTES))
  const [thread] = started
  const shared = thread!.places.length
  let through = 0
  const large = first.update(bytesOf(8 * BLOCK_BYTES))!.then(() => through++)
  await new Promise(setImmediate)
  assert.equal(thread!.places.length, 8, 'no more than this lies ahead of a thread')
  assert.equal(new Set(thread!.places).size, 8, 'no block is filled again before it was given back')
  assert.equal(through, 0)
  thread!.hash(shared)
  await large
  assert.equal(through, 1)
})

test('a digest that is abandoned while it waits for a block leaves the block to others', async () => {
  const { threads, started } = puppets()
  const [left, other] = [new BodyDigest('md5', threads), new BodyDigest('md5', threads)]
  const waiting = left.update(bytesOf(9 * BLOCK_BYTES))
  const [thread] = started
  left.abandon()
  thread!.hash()
  await waiting
  assert.equal(thread!.places.length, 8, 'nothing more is sent for it')
  await other.update(bytesOf(BLOCK_BYTES))
  assert.equal(thread!.places.length, 9)
})

for (const [how, event, told] of [
  ['ends', 'exit', 1],
  ['throws', 'error', new Error('out of memory')],
] as const) {
  test(`a thread that ${how} fails what it had, whoever waits for it, and the next one is another`, async () => {
    const { threads, started } = puppets()
    const digests = [new BodyDigest('md5', threads), new BodyDigest('md5', threads), new BodyDigest('md5', threads)]
    await digests[0]!.update(bytesOf(BLOCK_BYTES))
    await digests[1]!.update(bytesOf(BLOCK_BYTES))
    const [thread] = started
    thread!.hash()
    const asked = digests[0]!.digest()
    const waiting = digests[1]!.update(bytesOf(20 * BLOCK_BYTES))!
    thread!.emit(event, told)
    await assert.rejects(asked, /a thread that computes digests failed/)
    await assert.rejects(waiting, /a thread that computes digests failed/)
    await assert.rejects(async () => digests[1]!.digest(), /a thread that computes digests failed/)
    await digests[2]!.update(bytesOf(BLOCK_BYTES))
    assert.equal(started.length, 2)
    assert.equal(started[1]!.places.length, 1)
  })
}

test('where no thread can be started, digests are computed without', async () => {
  const bytes = bytesOf(3 * BLOCK_BYTES)
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
  const threads = new DigestThreads(memory => {
    const thread = startThread(memory)
    started.push(thread)
    return thread
  })
  const digest = new BodyDigest('md5', threads)
  await digest.update(bytesOf(BLOCK_BYTES))
  await (started[0] as unknown as { terminate(): Promise<unknown> }).terminate()
  await assert.rejects(async () => {
    await digest.update(bytesOf(100 * BLOCK_BYTES))
    await digest.digest()
  }, /a thread that computes digests failed/)
})

test('only work that somebody waits for keeps the process running', async () => {
  const { threads, started } = puppets()
  const digest = new BodyDigest('md5', threads)
  await digest.update(bytesOf(BLOCK_BYTES))
  assert.equal(started[0]!.isHeld, true)
  const asked = digest.digest()
  await new Promise(setImmediate)
  assert.equal(started[0]!.isHeld, true)
  started[0]!.emit('message', { lane: 1, digest: new Uint8Array(16) })
  assert.equal((await asked).length, 16)
  assert.equal(started[0]!.isHeld, false)
})
