import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { abandon, type ByteReader, PieceStream, readerOf, StagedStream } from './piece-stream.ts'

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

test('a promise of another realm, which is none by its prototype, is awaited', async () => {
  const { resolve } = runInNewContext('({ resolve: step => Promise.resolve(step) })')
  const steps = [one, two].map(value => ({ done: false, value }))
  const next = () => resolve(steps.shift() ?? { done: true, value: undefined })
  assert.equal(next() instanceof Promise, false)
  steps.unshift({ done: false, value: one })
  assert.equal(await allOf(readerOf({ [Symbol.asyncIterator]: () => ({ next }) })), 'one two')
})

test('a body is given up whatever its end says', async () => {
  const failing = (): never => {
    throw new Error('gone')
  }
  for (const cancel of [failing, async () => failing()]) await abandon({ read: () => undefined, cancel })
})
