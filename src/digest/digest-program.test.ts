import assert from 'node:assert/strict'
import crypto, { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import { type DigestAlgorithm, type DigestReply, digestProgram } from './digest-program.ts'
import { md5Lanes } from './md5-lanes.ts'
import { md5Module } from './md5-module.ts'
import { md5Queue, type Timers } from './md5-queue.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

const { WebAssembly: wasm } = globalThis as { WebAssembly?: WasmRuntime }
const turn = (): Promise<void> => new Promise(setImmediate)

/** The program on this thread, with the number of MD5s that each of its turns computed together. */
function program(runtime = wasm) {
  const port = new EventEmitter()
  const replies: DigestReply[] = []
  const groups: number[] = []
  const counted: typeof md5Lanes = (...args) => {
    const lanes = md5Lanes(...args)
    return lanes && { ...lanes, update: pieces => groups.push(pieces.length) && lanes.update(pieces) }
  }
  Object.assign(port, { postMessage: (reply: DigestReply) => replies.push(reply) })
  let waiting: { readonly expire: () => void; readonly ms: number } | undefined
  const clock = {
    setTimeout: (expire: () => void, ms: number) => {
      assert.equal(waiting, undefined, 'one timer at a time')
      waiting = { expire, ms }
      return waiting
    },
    clearTimeout: (timer: unknown) => {
      if (timer === waiting) waiting = undefined
    },
  } as unknown as Timers
  const threads = { parentPort: port as unknown as MessagePort, workerData: md5Module() }
  digestProgram({ threads, crypto, timers: clock, wasm: runtime, md5Lanes: counted, md5Queue })
  const send = (id: number, byte: number, isLast: boolean, algorithm: DigestAlgorithm = 'md5'): void => {
    const bytes = isLast ? 100 : 128
    const { buffer } = new Uint8Array(128).fill(byte)
    port.emit('message', { id, algorithm, buffer, bytes, isLast })
  }
  const drop = (id: number): boolean => port.emit('message', { drop: id })
  const digests = (): Record<number, string> =>
    Object.fromEntries(
      replies.flatMap(({ ended }) => (ended ? [[ended.id, Buffer.from(ended.digest).toString('hex')]] : [])),
    )
  const waitMs = (): number | undefined => waiting?.ms
  /** Lets the time pass for which MD5s wait for others. */
  const expire = async (): Promise<void> => {
    const timer = waiting!
    waiting = undefined
    timer.expire()
    await turn()
  }
  return { send, drop, digests, replies, groups, waitMs, expire }
}

/** A whole piece of one byte and a last piece of another. */
const expected = (first: number, last: number, algorithm: DigestAlgorithm = 'md5'): string =>
  createHash(algorithm).update(Buffer.alloc(128, first)).update(Buffer.alloc(100, last)).digest('hex')

test('MD5s whose bytes have arrived are computed eight at a time, each of its own bytes', async () => {
  const { send, digests, groups } = program()
  const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  for (const id of ids) send(id, id, false)
  for (const id of ids) send(id, 10 * id, true)
  for (let turns = 0; turns < 4; turns++) await turn()
  assert.deepEqual(groups, [8, 8, 4])
  assert.deepEqual(digests(), Object.fromEntries(ids.map(id => [id, expected(id, 10 * id)])))
})

test('MD5s wait for each other, for five milliseconds at most', async () => {
  const { send, groups, waitMs, expire } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  assert.deepEqual([groups, waitMs()], [[2], undefined])
  send(1, 3, false)
  await turn()
  assert.deepEqual([groups, waitMs()], [[2], 5])
  send(2, 4, false)
  await turn()
  assert.deepEqual([groups, waitMs()], [[2, 2], undefined])
  send(1, 5, false)
  await turn()
  await expire()
  assert.deepEqual([groups, waitMs()], [[2, 2, 1], undefined])
})

test('one that was waited for in vain is not waited for again before it delivers something', async () => {
  const { send, groups, waitMs, expire, digests } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  send(1, 1, false)
  await turn()
  await expire()
  for (const isLast of [false, false, true]) {
    send(1, 1, isLast)
    assert.equal(waitMs(), undefined)
    await turn()
  }
  assert.deepEqual([groups, Object.keys(digests())], [[2, 1, 1, 1, 1], ['1']])
  send(2, 2, false)
  send(3, 3, false)
  await turn()
  send(3, 3, false)
  await turn()
  assert.deepEqual([groups.at(-1), waitMs()], [2, 5])
})

test('no more than eight MD5s are waited for', async () => {
  const { send, groups, waitMs } = program()
  const ids = Array.from({ length: 12 }, (_, at) => at + 1)
  for (const id of ids) send(id, id, false)
  await turn()
  assert.deepEqual([groups, waitMs()], [[8], 5])
  for (const id of ids.slice(0, 4)) send(id, id, false)
  assert.equal(waitMs(), undefined)
  await turn()
  assert.deepEqual(groups, [8, 8])
})

test('MD5s that wait leave buffers to be filled', async () => {
  const { send, groups } = program()
  for (const id of [1, 2, 3]) send(id, 1, false)
  await turn()
  for (let count = 0; count < 27; count++) send(1 + (count % 2), 1, false)
  await turn()
  assert.deepEqual(groups, [3])
  send(1, 1, false)
  await turn()
  assert.deepEqual(groups, [3, 2])
})

test('an MD5 that no other one is beside waits for nothing', async () => {
  const { send, groups } = program()
  for (const isLast of [false, false, true]) {
    send(1, 1, isLast)
    await turn()
  }
  assert.deepEqual(groups, [1, 1, 1])
})

test('a dropped MD5 returns its buffers, and those that waited for it no longer do', async () => {
  const { send, drop, replies, digests, groups, waitMs } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  send(1, 3, true)
  assert.equal(waitMs(), 5)
  drop(2)
  assert.equal(waitMs(), undefined)
  await turn()
  assert.deepEqual([groups, digests()], [[2, 1], { 1: expected(1, 3) }])
  send(3, 1, false)
  send(4, 1, false)
  drop(3)
  await turn()
  drop(4)
  assert.deepEqual([groups, replies.length], [[2, 1, 1], 5])
})

test('other digests, and MD5s where WebAssembly is missing, are computed one by one', async () => {
  const { send, digests } = program()
  for (const [id, algorithm] of [[1, 'sha256'] as const, [2, 'sha1'] as const]) {
    send(id, id, false, algorithm)
    send(id, 7, true, algorithm)
  }
  assert.deepEqual(digests(), { 1: expected(1, 7, 'sha256'), 2: expected(2, 7, 'sha1') })
  const without = program({} as WasmRuntime)
  without.send(1, 1, false)
  without.send(1, 7, true)
  assert.deepEqual([without.digests(), without.groups], [{ 1: expected(1, 7) }, []])
})
