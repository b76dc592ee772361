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
  const clock = new ManualClock()
  const body = new IncomingBytes(message as unknown as IncomingMessage, new Timeouts(clock), request)
  const reader = body.reader()
  const first = Promise.resolve(reader.read())
  first.catch(() => {})
  await turn()
  await turn()
  return { message, clock, body, reader, first }
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
  assert.equal(message.isPaused(), true)
})

test('what had arrived when a reader was cancelled is not read', async () => {
  const { message, body, reader, first } = await scene()
  message.push(piece(1))
  message.push(piece(2))
  await first
  await reader.cancel()
  message.push(piece(3))
  assert.deepEqual(await body.reader().read(), piece(3))
})

test('a reader that waits is woken at once when much has arrived', async () => {
  const { message, first } = await scene()
  let isWoken = false
  const woken = first.then(() => {
    isWoken = true
  })
  let isLater = false
  setImmediate(() => {
    isLater = true
  })
  for (const byte of [1, 2, 3, 4]) message.push(piece(byte))
  for (let ticks = 0; ticks < 10; ticks++) await Promise.resolve()
  assert.deepEqual([isWoken, isLater], [true, false])
  await woken
})

test('pieces of a byte hold their client up as well, and none is lost', async () => {
  const { message, body, reader, first } = await scene()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251))
  let sent = 0
  const send = (): void => {
    while (sent < bytes.length && message.push(bytes.subarray(sent, sent + 1))) sent++
    sent++
  }
  send()
  await turn()
  assert.ok(body.bytes <= 1_025, `${body.bytes} pieces received`)
  message.on('resume', send)
  const received = [await first]
  while (received.length < bytes.length) received.push(await reader.read())
  assert.equal(bytes.equals(Buffer.concat(received as Buffer[])), true)
})

test('a client is slow by what arrives while the server waits, not by what is read', async () => {
  const { message, clock, body, reader, first } = await scene()
  let reading: ReturnType<typeof reader.read> = first
  for (let window = 0; window < 12; window++) {
    clock.move(15_000)
    message.push(Buffer.alloc(16 * 1024))
    assert.equal((await reading)!.length, 16 * 1024)
    reading = reader.read()
    assert.equal(body.isOver(clock.now()), false)
  }
  for (let window = 0; window < 4; window++) {
    clock.move(15_000)
    message.push(Buffer.alloc(1))
    await reading
    reading = reader.read()
  }
  assert.equal(body.isOver(clock.now()), true)
  await reader.cancel()
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

test('a reader that keeps up is not held up, however much it has read', async () => {
  const { message, reader, first } = await scene()
  message.push(piece(0))
  await first
  for (let byte = 1; byte <= 20; byte++) {
    const reading = reader.read()
    message.push(piece(byte))
    assert.deepEqual(await reading, piece(byte))
    message.push(piece(100 + byte))
    await turn()
    assert.equal(message.isPaused(), false)
    assert.deepEqual(reader.read(), piece(100 + byte))
  }
})
