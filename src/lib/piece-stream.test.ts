import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ByteReader, PieceStream, readerOf, StagedStream } from './piece-stream.ts'

const [one, two] = [Buffer.from('one'), Buffer.from('two')]

async function* asynchronous(): AsyncGenerator<Buffer> {
  yield one
  yield two
}

async function allOf(reader: ByteReader): Promise<string> {
  const pieces: string[] = []
  for (let piece = await reader.read(); piece !== undefined; piece = await reader.read()) pieces.push(piece.toString())
  return pieces.join(' ')
}

test('every kind of body is read to its end', async () => {
  const stream = new StagedStream(() => readerOf([one, two]))
  for (const body of [[one, two], asynchronous(), stream]) assert.equal(await allOf(readerOf(body)), 'one two')
})

test('a piece that is there is returned at once, by streams on top of streams too', () => {
  const reader = new StagedStream(() => readerOf(new StagedStream(() => readerOf([one])))).reader()
  assert.deepEqual([reader.read(), reader.read()], [one, undefined])
})

test('a stream is an iterable that is cancelled when a loop ends early', async () => {
  let cancelled = 0
  const stream: PieceStream = new StagedStream(() => ({ read: () => one, cancel: () => cancelled++ }))
  assert.ok(stream instanceof PieceStream)
  for await (const piece of stream) {
    assert.equal(piece, one)
    break
  }
  assert.equal(cancelled, 1)
})

test('a generator is closed when its reader is cancelled', async () => {
  let isClosed = false
  async function* closing(): AsyncGenerator<Buffer> {
    try {
      yield one
      yield two
    } finally {
      isClosed = true
    }
  }
  const reader = readerOf(closing())
  assert.equal(await reader.read(), one)
  await reader.cancel()
  assert.equal(isClosed, true)
})

test('an error of a body rejects the read', async () => {
  const reader = readerOf(
    (async function* () {
      yield one
      throw new Error('lost')
    })(),
  )
  await reader.read()
  await assert.rejects(async () => reader.read(), /lost/)
})
