import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import { IncomingBytes } from './incoming-bytes.ts'
import { Timeouts } from './timeouts.ts'

const PIECE_BYTES = 64 * 1024
const piece = (byte: number): Buffer => Buffer.alloc(PIECE_BYTES, byte)
const turn = (): Promise<void> => new Promise(setImmediate)

/** A body whose reader waits for its first bytes. */
async function scene() {
  const message = Object.assign(new Readable({ read() {} }), { complete: false })
  const request = { method: 'PUT', target: '/', headers: [['content-length', '1000000']] as [string, string][] }
  const body = new IncomingBytes(message as unknown as IncomingMessage, new Timeouts(new ManualClock()), request)
  const reader = body.reader()
  const first = Promise.resolve(reader.read())
  first.catch(() => {})
  await turn()
  await turn()
  return { message, body, reader, first }
}

test('pieces that arrive together are read without waiting for each, in their order', async () => {
  const { message, reader, first } = await scene()
  for (const byte of [1, 2, 3]) message.push(piece(byte))
  assert.deepEqual(await first, piece(1))
  assert.deepEqual([reader.read(), reader.read()], [piece(2), piece(3)])
  assert.ok(reader.read() instanceof Promise)
})

test('the end is read without waiting once the body is complete', async () => {
  const { message, reader, first } = await scene()
  message.push(piece(1))
  message.complete = true
  assert.deepEqual(await first, piece(1))
  assert.equal(reader.read(), undefined)
})

test('a reader that is busy holds its client up, and goes on where it stopped', async () => {
  const { message, body, reader, first } = await scene()
  message.push(piece(0))
  await first
  let accepted = 0
  while (message.push(piece(++accepted)) && accepted < 100) await turn()
  assert.ok(accepted < 10, `${accepted} pieces in memory`)
  assert.ok(body.bytes <= 6 * PIECE_BYTES, `${body.bytes} bytes received`)
  for (let byte = 1; byte <= accepted; byte++) assert.deepEqual(await reader.read(), piece(byte))
  message.push(piece(200))
  assert.deepEqual(await reader.read(), piece(200))
})

test('a reader that was cancelled receives nothing more', async () => {
  const { message, body, reader, first } = await scene()
  message.push(piece(0))
  await first
  await reader.cancel()
  while (message.push(piece(1))) await turn()
  await turn()
  assert.equal(body.bytes, PIECE_BYTES)
  assert.equal(body.isUnread, true)
})

test('a client that disconnects fails the read after the bytes that it sent', async () => {
  const { message, body, reader, first } = await scene()
  message.push(piece(1))
  message.push(piece(2))
  await first
  message.destroy()
  await turn()
  assert.deepEqual(reader.read(), piece(2))
  await assert.rejects(async () => reader.read(), { code: 'IncompleteBody' })
  assert.equal(body.isAbandoned, true)
})
