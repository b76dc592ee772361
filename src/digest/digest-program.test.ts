import assert from 'node:assert/strict'
import crypto, { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import { type DigestAlgorithm, type DigestReply, digestProgram } from './digest-program.ts'
import { md5Lanes } from './md5-lanes.ts'
import { md5Module } from './md5-module.ts'
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
  const threads = { parentPort: port as unknown as MessagePort, workerData: md5Module(17) }
  digestProgram({ threads, crypto, wasm: runtime, md5Lanes: counted })
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
  return { send, drop, digests, replies, groups }
}

/** A whole piece of one byte and a last piece of another. */
const expected = (first: number, last: number, algorithm: DigestAlgorithm = 'md5'): string =>
  createHash(algorithm).update(Buffer.alloc(128, first)).update(Buffer.alloc(100, last)).digest('hex')

test('MD5s whose bytes have arrived are computed four at a time, each of its own bytes', async () => {
  const { send, digests, groups } = program()
  const ids = [1, 2, 3, 4, 5, 6]
  for (const id of ids) send(id, id, false)
  for (const id of ids) send(id, 10 * id, true)
  for (let turns = 0; turns < 4; turns++) await turn()
  assert.deepEqual(groups, [4, 4, 4])
  assert.deepEqual(digests(), Object.fromEntries(ids.map(id => [id, expected(id, 10 * id)])))
})

test('an MD5 with one buffer waits for the others, and not for longer than its next buffer', async () => {
  const { send, groups, replies } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  assert.deepEqual(groups, [2])
  send(1, 3, false)
  await turn()
  assert.deepEqual(groups, [2])
  send(1, 4, false)
  await turn()
  assert.deepEqual(groups, [2, 1])
  assert.equal(replies.length, 3)
})

test('the last buffer of an MD5 waits for nothing', async () => {
  const { send, digests } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  send(1, 9, true)
  await turn()
  assert.deepEqual(digests(), { 1: expected(1, 9) })
})

test('a dropped MD5 returns its buffers and keeps none waiting', async () => {
  const { send, drop, replies, digests } = program()
  send(1, 1, false)
  send(2, 2, false)
  await turn()
  send(1, 3, false)
  drop(2)
  await turn()
  send(1, 3, true)
  drop(1)
  await turn()
  assert.deepEqual([replies.length, digests()], [4, {}])
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
