import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import { ClientConnection } from './connection.ts'
import type { IncomingBytes } from './incoming-bytes.ts'
import { Timeouts } from './timeouts.ts'

const connectionOf = (socket: Socket): ClientConnection =>
  new ClientConnection(socket, new Timeouts(new ManualClock(0)))

/** Queues a request on the connection; resolves when it has been served or skipped. */
async function inTurn(connection: ClientConnection, isSafe: boolean, serve: () => Promise<void>, passOver: () => void) {
  const request = {
    isSafe,
    body: { isWhole: true } as IncomingBytes,
    served: undefined as Promise<unknown> | undefined,
  }
  const end = (): void => connection.end(request)
  connection.begin(
    request,
    () => serve().finally(end),
    () => {
      passOver()
      end()
    },
  )
  await request.served
}

/** One request is being served and `count` wait behind it; returns the order in which those are served. */
async function waiting(count: number): Promise<{ isCut: boolean; served: number[]; passedOver: number }> {
  const socket = new Socket()
  const connection = connectionOf(socket)
  let free = (): void => {}
  const busy = new Promise<void>(resolve => {
    free = resolve
  })
  let passedOver = 0
  const passOver = (): void => void passedOver++
  const first = inTurn(connection, false, () => busy, passOver)
  const served: number[] = []
  const others = Array.from({ length: count }, (_, number) =>
    inTurn(connection, number % 3 === 0, async () => void served.push(number), passOver),
  )
  const isCut = socket.destroyed
  free()
  await Promise.all([first, ...others])
  socket.destroy()
  return { isCut, served, passedOver }
}

test('requests queued behind a write are served in order', async () => {
  const served = Array.from({ length: 100 }, (_, number) => number)
  assert.deepEqual(await waiting(100), { isCut: false, served, passedOver: 0 })
})

test('too many queued requests close their connection, and none of them is served', async () => {
  assert.deepEqual(await waiting(200), { isCut: true, served: [], passedOver: 200 })
})

test('reads on one connection do not wait for each other', async () => {
  const connection = connectionOf(new Socket())
  let free = (): void => {}
  const first = inTurn(connection, true, () => new Promise<void>(resolve => (free = resolve)), assert.fail)
  await inTurn(connection, true, async () => free(), assert.fail)
  await first
})

test('a write waits for all earlier requests, in whatever order they end', async () => {
  for (const first of [0, 1, 2]) {
    const connection = connectionOf(new Socket())
    const free: (() => void)[] = []
    const reads = [0, 1, 2].map(n =>
      inTurn(connection, true, () => new Promise<void>(resolve => (free[n] = resolve)), assert.fail),
    )
    free[first]!()
    await reads[first]
    let isWritten = false
    const write = inTurn(connection, false, async () => void (isWritten = true), assert.fail)
    for (const n of [0, 1, 2].filter(other => other !== first)) {
      await new Promise(setImmediate)
      assert.deepEqual([isWritten, connection.isBusy], [false, true])
      free[n]!()
      await reads[n]
    }
    await write
    assert.deepEqual([isWritten, connection.isBusy], [true, false])
  }
})
