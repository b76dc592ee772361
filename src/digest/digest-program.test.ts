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
  let waiting: (() => void) | undefined
  const clock = {
    setTimeout: (expire: () => void) => {
      waiting = expire
    },
    clearTimeout: () => {
      waiting = undefined
    },
  } as unknown as Timers
  const threads = { parentPort: port as unknown as MessagePort, workerData: md5Module() }
  digestProgram({ threads, crypto, timers: clock, wasm: runtime, md5Lanes: counted, md5Queue })
  const send = (
    id: number,
    byte: number,
    isLast: boolean,
    { algorithm = 'md5' as DigestAlgorithm, open = 1 } = {},
  ): void => {
    const bytes = isLast ? 100 : 128
    const { buffer } = new Uint8Array(128).fill(byte)
    port.emit('message', { id, algorithm, buffer, bytes, isLast, open })
  }
  const drop = (id: number): boolean => port.emit('message', { drop: id })
  const digests = (): Record<number, string> =>
    Object.fromEntries(
      replies.flatMap(({ ended }) => (ended ? [[ended.id, Buffer.from(ended.digest).toString('hex')]] : [])),
    )
  /** Lets the time pass for which MD5s wait for others. */
  const expire = (): void => waiting!()
  return { send, drop, digests, replies, groups, expire }
}

/** A whole piece of one byte and a last piece of another. */
const expected = (first: number, last: number, algorithm: DigestAlgorithm = 'md5'): string =>
  createHash(algorithm).update(Buffer.alloc(128, first)).update(Buffer.alloc(100, last)).digest('hex')

test('MD5s whose bytes have arrived are computed eight at a time, each of its own bytes', async () => {
  const { send, digests, groups } = program()
  const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  for (const id of ids) send(id, id, false, { open: 1 })
  for (const id of ids) send(id, 10 * id, true, { open: 1 })
  for (let turns = 0; turns < 4; turns++) await turn()
  assert.deepEqual(groups, [8, 8, 4])
  assert.deepEqual(digests(), Object.fromEntries(ids.map(id => [id, expected(id, 10 * id)])))
})

test('an MD5 waits for the others that are open, but only for some time, and then not again', async () => {
  const { send, groups, digests, expire } = program()
  send(1, 1, false, { open: 2 })
  await turn()
  assert.deepEqual(groups, [])
  send(2, 2, false, { open: 2 })
  await turn()
  assert.deepEqual(groups, [2])
  send(1, 3, false, { open: 2 })
  await turn()
  assert.deepEqual(groups, [2])
  expire()
  assert.deepEqual(groups, [2, 1])
  send(1, 9, true, { open: 1 })
  await turn()
  assert.deepEqual(groups, [2, 1, 1])
  assert.deepEqual(Object.keys(digests()), ['1'])
})

test('no more than eight MD5s are waited for', async () => {
  const { send, groups } = program()
  for (let id = 1; id <= 8; id++) send(id, id, false, { open: 100 })
  await turn()
  assert.deepEqual(groups, [8])
})

test('MD5s that wait leave buffers to be filled', async () => {
  const { send, groups } = program()
  for (let count = 0; count < 27; count++) send(1 + (count % 2), 1, false, { open: 3 })
  await turn()
  assert.deepEqual(groups, [])
  send(1, 1, false, { open: 3 })
  await turn()
  assert.deepEqual(groups, [2])
})

test('an MD5 that no other one is beside waits for nothing', async () => {
  const { send, groups } = program()
  for (const isLast of [false, false, true]) {
    send(1, 1, isLast)
    await turn()
  }
  assert.deepEqual(groups, [1, 1, 1])
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
    send(id, id, false, { algorithm })
    send(id, 7, true, { algorithm })
  }
  assert.deepEqual(digests(), { 1: expected(1, 7, 'sha256'), 2: expected(2, 7, 'sha1') })
  const without = program({} as WasmRuntime)
  without.send(1, 1, false)
  without.send(1, 7, true)
  assert.deepEqual([without.digests(), without.groups], [{ 1: expected(1, 7) }, []])
})
