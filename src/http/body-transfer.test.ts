import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { CHUNK_BYTES, takeChunk } from '../lib/buffer-pool.ts'
import { ManualClock } from '../lib/clock.ts'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { ResponseWriter } from './body-transfer.ts'
import { Timeouts } from './timeouts.ts'

const KIB = 1024

class FakeSocket extends EventEmitter {
  destroyed = false
  /** The kernel has not taken everything. */
  writableLength = 1
  uncork(): void {}
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

/** A connection that drains writes when a test says so. */
class FakeResponse extends EventEmitter {
  readonly socket: FakeSocket
  readonly writes: number[] = []
  destroyed = false
  writableLength = 0
  isEnded = false
  /** The kernel takes every write at once. */
  takesAll = false

  constructor(socket: FakeSocket) {
    super()
    this.socket = socket
  }
  write(piece: Buffer): boolean {
    this.writes.push(piece.length / KIB)
    return this.takesAll
  }
  take(): void {
    this.emit('drain')
  }
  end(): void {
    this.isEnded = true
  }
  destroy(): void {
    this.destroyed = true
  }
}

function scene() {
  const clock = new ManualClock()
  const timeouts = new Timeouts(clock)
  const socket = new FakeSocket()
  const response = new FakeResponse(socket)
  const sending = new ResponseWriter(response as unknown as ServerResponse, socket as unknown as Socket, timeouts)
  return { clock, patience: timeouts, socket, response, sending }
}

async function* chunks(...pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

const turn = (): Promise<void> => new Promise(setImmediate)

test('a slow client is sent little at a time, a fast one much at once', async () => {
  const { clock, response, sending } = scene()
  const body = Buffer.alloc(512 * KIB)
  const streaming = sending.stream(chunks(body, body, body, body))
  for (const ms of [0, 999, 10, 0, 0, 1_000, 50_000]) {
    await turn()
    clock.move(ms)
    response.take()
  }
  await turn()
  // A 512 KiB chunk ends between two writes.
  assert.deepEqual(response.writes, [64, 128, 256, 64, 512, 512, 64, 64])
  while (!response.isEnded) {
    response.take()
    await turn()
  }
  await streaming
  assert.equal(sending.bytes, 2048 * KIB)
})

test('a client that takes everything at once lets others be served after every MiB', async () => {
  const { response, sending } = scene()
  response.takesAll = true
  const body = Buffer.alloc(512 * KIB)
  const streaming = sending.stream(chunks(body, body, body, body, body))
  const written = (): number => response.writes.reduce((sum, one) => sum + one, 0)
  for (const most of [1024, 2048]) {
    await turn()
    assert.ok(written() <= most, `${written()} KiB without a pause`)
  }
  await streaming
  assert.equal(written(), 2560)
})

test('a client that reads 64 KiB a minute gets the whole response; a slower one is cut off', async () => {
  const { clock, patience: timeouts, socket, response, sending } = scene()
  const streaming = sending.stream(chunks(Buffer.alloc(512 * KIB), Buffer.alloc(512 * KIB)))
  for (let pieces = 0; pieces < 12; pieces++) {
    await turn()
    clock.move(59_000)
    timeouts.check()
    assert.equal(socket.destroyed, false)
    response.take()
  }
  await turn()
  clock.move(60_000)
  timeouts.check()
  assert.equal(socket.destroyed, true)
  await streaming
  assert.equal(response.isEnded, false)
})

test('a chunk is used again once the connection has taken all of it, and never before', async () => {
  const { response, sending } = scene()
  const first = takeChunk(CHUNK_BYTES)
  const second = takeChunk(CHUNK_BYTES)
  const streaming = sending.stream(chunks(first, second))
  await turn()
  response.writableLength = 1
  assert.notEqual(takeChunk(CHUNK_BYTES).buffer, first.buffer)
  for (let written = 0; written < 4; written++) {
    response.take()
    await turn()
  }
  // The first chunk has been written, but a byte of it is still waiting.
  assert(![first.buffer, second.buffer].includes(takeChunk(CHUNK_BYTES).buffer))
  response.writableLength = 0
  while (!response.isEnded) {
    response.take()
    await turn()
  }
  await streaming
  assert.equal(takeChunk(CHUNK_BYTES).buffer === second.buffer, REPORTS_WRITTEN_BYTES)
})

test('a chunk on a lost connection is not used again', async () => {
  const { response, socket, sending } = scene()
  const chunk = takeChunk(CHUNK_BYTES)
  const streaming = sending.stream(chunks(chunk))
  await turn()
  socket.destroy()
  response.take()
  await streaming
  assert.notEqual(takeChunk(CHUNK_BYTES).buffer, chunk.buffer)
})
