import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import { Connection } from './connection.ts'
import { Patience } from './patience.ts'

/** One request that is being served, so many that wait behind it, and the order in which they are served after it. */
async function waiting(count: number): Promise<{ isCut: boolean; served: number[]; passedOver: number }> {
  const socket = new Socket()
  const connection = new Connection(socket, new Patience(new ManualClock(0)))
  let free = (): void => {}
  const busy = new Promise<void>(resolve => {
    free = resolve
  })
  let passedOver = 0
  const passOver = (): void => void passedOver++
  const first = connection.inTurn(false, () => busy, passOver)
  const served: number[] = []
  const others = Array.from({ length: count }, (_, number) =>
    connection.inTurn(number % 3 === 0, async () => void served.push(number), passOver),
  )
  const isCut = socket.destroyed
  free()
  await Promise.all([first, ...others])
  socket.destroy()
  return { isCut, served, passedOver }
}

test('requests that wait for one that changes something are served in their order', async () => {
  const served = Array.from({ length: 100 }, (_, number) => number)
  assert.deepEqual(await waiting(100), { isCut: false, served, passedOver: 0 })
})

test('a flood of requests that wait ends their connection, and all of them are passed over', async () => {
  assert.deepEqual(await waiting(200), { isCut: true, served: [], passedOver: 200 })
})

test('requests that change nothing do not wait for each other', async () => {
  const connection = new Connection(new Socket(), new Patience(new ManualClock(0)))
  let free = (): void => {}
  const first = connection.inTurn(true, () => new Promise(resolve => (free = resolve)), assert.fail)
  await connection.inTurn(true, async () => free(), assert.fail)
  await first
})
