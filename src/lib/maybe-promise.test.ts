import assert from 'node:assert/strict'
import { test } from 'node:test'
import { andFinally, andThen, orElse } from './maybe-promise.ts'

const later = async <T>(value: T): Promise<T> => value
const fails = (): never => {
  throw new Error('no')
}

test('what is there is gone on with at once, what is not when it comes', async () => {
  assert.equal(
    andThen(1, n => n + 1),
    2,
  )
  const soon = andThen(later(1), n => n + 1)
  assert.ok(soon instanceof Promise)
  assert.equal(await soon, 2)
})

test('a failure is met where it happens, now or later', async () => {
  assert.equal(
    orElse<number>(fails, () => 3),
    3,
  )
  assert.equal(
    orElse<number>(
      () => 1,
      () => 3,
    ),
    1,
  )
  assert.equal(
    await orElse<number>(
      async () => fails(),
      () => 3,
    ),
    3,
  )
})

test('the last thing is done once and after the rest, however that went', async () => {
  for (const attempt of [() => 'done', fails, () => later('done'), async () => fails()]) {
    const order: string[] = []
    const tried = (): string | Promise<string> => {
      order.push('tried')
      return attempt()
    }
    const ended = await orElse<string>(
      () => andFinally(tried, () => order.push('last')),
      () => 'failed',
    )
    assert.deepEqual(order, ['tried', 'last'])
    assert.match(ended, /done|failed/)
  }
})
