import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { Completions } from './completions.ts'
import type { Librados, Pointer } from './librados.ts'

/** Operations that end when the test says so, with the result that it says. */
class Operations {
  readonly results = new Map<Pointer, number>()
  polls = 0
  released = 0
  #last = 0

  readonly librados = {
    rados_aio_create_completion2: (_arg: null, _callback: null, out: [Pointer]) => {
      out[0] = ++this.#last
      return 0
    },
    rados_aio_is_complete: (completion: Pointer) => {
      this.polls++
      return this.results.has(completion) ? 1 : 0
    },
    rados_aio_get_return_value: (completion: Pointer) => this.results.get(completion)!,
    rados_aio_release: () => {
      this.released++
    },
  } as unknown as Librados
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const submitted = (): number => 0

test('operations end in any order, with their result or their error', async () => {
  const operations = new Operations()
  const completions = new Completions(operations.librados)
  const [first, second, third] = ['a', 'b', 'c'].map(what => completions.run(what, submitted))
  third!.catch(() => {})
  operations.results.set(2, 7)
  assert.equal(await second, 7)
  operations.results.set(3, -110)
  await assert.rejects(third!, error => error instanceof EngineUnavailable && error.message.includes('c: ETIMEDOUT'))
  operations.results.set(1, 0)
  assert.equal(await first, 0)
  assert.equal(operations.released, 3)
})

test('nothing is polled while nothing is in flight', async () => {
  const operations = new Operations()
  const completions = new Completions(operations.librados)
  operations.results.set(1, 0)
  await completions.run('a', submitted)
  const { polls } = operations
  for (let turns = 0; turns < 100; turns++) await turn()
  assert.equal(operations.polls, polls)
})

test('a new operation does not wait for the pause of a slow one', async () => {
  const operations = new Operations()
  const completions = new Completions(operations.librados)
  const slow = completions.run('slow', submitted)
  // Polls follow each other in every turn first, and then with pauses.
  for (let before = -1; before !== operations.polls; await turn()) before = operations.polls
  operations.results.set(2, 5)
  const fast = completions.run('fast', submitted)
  await turn()
  await turn()
  const winner = await Promise.race([fast, Promise.resolve('late')])
  // Ended before the assertion: an operation in flight keeps the process alive.
  operations.results.set(1, 0)
  await slow
  assert.equal(winner, 5)
})

test('an operation that cannot be submitted is refused, and a closed connection drains and refuses', async () => {
  const operations = new Operations()
  const completions = new Completions(operations.librados)
  await assert.rejects(
    completions.run('a', () => -22),
    { code: 'EINVAL' },
  )
  const last = completions.run('b', submitted)
  let isClosed = false
  const closing = completions.close().then(() => {
    isClosed = true
  })
  await turn()
  assert.equal(isClosed, false)
  await assert.rejects(completions.run('c', submitted), /c: the connection is closed/)
  operations.results.set(2, 1)
  assert.equal(await last, 1)
  await closing
})
