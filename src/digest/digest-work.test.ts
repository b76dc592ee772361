import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import fc from 'fast-check'
import { type DigestAlgorithm, type DigestCommand, type DigestReply, digestWork } from './digest-work.ts'
import { md5Batch } from './md5-batch.ts'
import { md5Lanes } from './md5-lanes.ts'
import { type Md5Exports, md5Module } from './md5-module.ts'
import { PAGE_BYTES, type WasmRuntime, wasm } from './wasm.ts'

const PAGES = 9
const DATA_BYTES = (PAGES - 1) * PAGE_BYTES
const whole = new wasm!.Memory({ initial: PAGES, maximum: PAGES, shared: true })
const module = new wasm!.Module(md5Module(PAGES, DATA_BYTES))
const bytes = Buffer.from(whole.buffer, 0, DATA_BYTES)
for (let at = 0; at < bytes.length; at++) bytes[at] = Math.imul(at + 1, 0x9e3779b1) >>> 24

const messages = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** The work of a thread, done in this one; it notes how many chunks of how many digests were computed at a time. */
class Inside extends EventEmitter {
  readonly replies: DigestReply[] = []
  readonly calls: string[] = []

  constructor(together: boolean) {
    super()
    const { calls } = this
    class Instance {
      readonly exports: Md5Exports
      constructor(...given: ConstructorParameters<WasmRuntime['Instance']>) {
        const { one, four } = new wasm!.Instance(...given).exports as Md5Exports
        this.exports = {
          one: (at, chunks) => calls.push(`1 × ${chunks}`) && one(at, chunks),
          four: (at0, at1, at2, at3, chunks) => calls.push(`4 × ${chunks}`) && four(at0, at1, at2, at3, chunks),
        }
      }
    }
    const md5 = together ? { module, memory: whole, area: DATA_BYTES } : undefined
    const parentPort = this as unknown as MessagePort
    const threads = { parentPort, workerData: { memory: whole.buffer, md5 } }
    digestWork({ threads, crypto, wasm: { ...wasm!, Instance }, md5Lanes, md5Company: md5Batch })
  }

  postMessage(reply: DigestReply): void {
    this.replies.push(reply)
  }

  tell(...orders: readonly DigestCommand[]): void {
    for (const order of orders) this.emit('message', order)
  }

  digestOf(lane: number): string | undefined {
    const reply = this.replies.find(reply => 'lane' in reply && reply.lane === lane)
    return reply && 'lane' in reply ? Buffer.from(reply.digest).toString('hex') : undefined
  }
}

const direct = (algorithm: string, ...pieces: readonly Buffer[]): string =>
  crypto.createHash(algorithm).update(Buffer.concat(pieces)).digest('hex')

test('MD5s that are ready at the same time are computed at the same time, up to four', async () => {
  const inside = new Inside(true)
  for (let lane = 1; lane <= 6; lane++) inside.tell({ lane, start: 'md5' })
  for (let lane = 1; lane <= 6; lane++) inside.tell({ lane, order: lane, at: 64 * lane, bytes: 6400 })
  await messages()
  assert.deepEqual(inside.calls, ['4 × 100'])
  assert.deepEqual(
    inside.replies,
    [1, 2, 3, 4].map(order => ({ order })),
  )
  // Who has waited longest is served first.
  for (let lane = 1; lane <= 3; lane++) inside.tell({ lane, order: 6 + lane, at: 0, bytes: 640 })
  await messages()
  assert.deepEqual(inside.calls.slice(1), ['4 × 10', '4 × 90'])
  assert.deepEqual(
    inside.replies.slice(4),
    [5, 6, 7, 8].map(order => ({ order })),
  )
})

test('a lone MD5 is computed at once, and alone', async () => {
  const inside = new Inside(true)
  inside.tell({ lane: 1, start: 'md5' }, { lane: 1, order: 1, at: 0, bytes: 6400 })
  await messages()
  assert.deepEqual(inside.calls, ['1 × 100'])
})

test('who has bytes waits for others only until it has more, or is at its end, or nobody is left', async () => {
  const inside = new Inside(true)
  inside.tell({ lane: 1, start: 'md5' }, { lane: 2, start: 'md5' }, { lane: 1, order: 1, at: 0, bytes: 640 })
  await messages()
  assert.deepEqual(inside.calls, [])
  inside.tell({ lane: 1, order: 2, at: 0, bytes: 1280 })
  await messages()
  assert.deepEqual(inside.calls, ['1 × 10'])
  inside.tell({ lane: 2, order: 3, at: 0, bytes: 1280 })
  await messages()
  assert.deepEqual(inside.calls.slice(1), ['4 × 20'])
  inside.tell({ lane: 1, order: 4, at: 0, bytes: 640 }, { lane: 1, end: 'digest' })
  await messages()
  assert.deepEqual(inside.calls.slice(2), ['1 × 10', '1 × 1'], 'the last chunk is that of the length')
  inside.tell({ lane: 3, start: 'md5' }, { lane: 2, order: 5, at: 0, bytes: 640 })
  await messages()
  assert.equal(inside.calls.length, 4)
  inside.tell({ lane: 3, end: 'nothing' })
  await messages()
  assert.deepEqual(inside.calls.slice(4), ['1 × 10'])
})

test('who ends while bytes lie ahead gets the digest of all of them; who gives up gets none', async () => {
  const inside = new Inside(true)
  const { replies } = inside
  inside.tell({ lane: 1, start: 'md5' }, { lane: 2, start: 'md5' })
  inside.tell({ lane: 1, order: 1, at: 0, bytes: 100 }, { lane: 1, order: 2, at: 500, bytes: 100 })
  inside.tell({ lane: 2, order: 3, at: 0, bytes: 100 }, { lane: 2, order: 4, at: 0, bytes: 100 })
  inside.tell({ lane: 1, end: 'digest' }, { lane: 2, end: 'nothing' })
  assert.deepEqual(replies.splice(0), [{ order: 3 }, { order: 4 }], 'what nobody wants is free at once')
  await messages()
  await messages()
  assert.deepEqual(replies.splice(0, 2), [{ order: 1 }, { order: 2 }])
  assert.equal(inside.digestOf(1), direct('md5', bytes.subarray(0, 100), bytes.subarray(500, 600)))
  assert.equal(replies.length, 1)
})

test('what travels as text has no named function inside, which a bundler might wrap in something of its own', () => {
  for (const travels of [digestWork, md5Batch, md5Lanes]) {
    const inside = travels.toString().replace(/^function \w+/, '')
    assert.doesNotMatch(inside, /\bfunction\b|\bclass\b/)
    assert.doesNotMatch(inside, /\b(const|let|var) \w+ = (async )?(\([^)]*\)|\w+) =>|\w+: (async )?(\([^)]*\)|\w+) =>/)
  }
})

const step = fc.record({
  lane: fc.nat(6),
  at: fc.nat(DATA_BYTES / 2),
  bytes: fc.oneof(fc.nat(300), fc.constantFrom(64, 4096, DATA_BYTES / 2)),
  next: fc.constantFrom('more', 'more', 'more', 'digest', 'nothing'),
  isPause: fc.boolean(),
  algorithm: fc.constantFrom<DigestAlgorithm[]>('md5', 'md5', 'md5', 'sha1', 'sha256'),
})

for (const together of [true, false]) {
  test(`every digest is right and every order answered once, MD5s ${together ? 'together' : 'one by one'}`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
        const inside = new Inside(together)
        const open = new Map<number, { lane: number; algorithm: DigestAlgorithm; pieces: Buffer[] }>()
        const expected = new Map<number, string>()
        let [lanes, orders] = [0, 0]
        for (const { lane: place, at, bytes: length, next, isPause, algorithm } of steps) {
          const digest = open.get(place) ?? { lane: ++lanes, algorithm, pieces: [] }
          const { lane, pieces } = digest
          if (!open.has(place)) inside.tell({ lane, start: algorithm })
          open.set(place, digest)
          pieces.push(bytes.subarray(at, at + length))
          inside.tell({ lane, order: ++orders, at, bytes: length })
          if (isPause) await messages()
          if (next === 'more') continue
          inside.tell({ lane, end: next })
          open.delete(place)
          if (next === 'digest') expected.set(lane, direct(digest.algorithm, ...pieces))
        }
        for (const { lane, algorithm, pieces } of open.values()) {
          inside.tell({ lane, end: 'digest' })
          expected.set(lane, direct(algorithm, ...pieces))
        }
        for (let turn = 0; turn < steps.length; turn++) await messages()
        for (const [lane, digest] of expected) assert.equal(inside.digestOf(lane), digest)
        const answered = inside.replies.flatMap(reply => ('order' in reply ? [reply.order] : []))
        assert.deepEqual(
          answered.sort((a, b) => a - b),
          Array.from({ length: orders }, (_, order) => order + 1),
        )
        assert.equal(inside.replies.length, orders + expected.size)
      }),
      { numRuns: 100 },
    ))
}
