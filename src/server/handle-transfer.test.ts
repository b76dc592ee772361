import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { closeUnacceptedHandles } from './handle-transfer.ts'

/** A worker whose channel takes every message. */
class FakeWorker extends EventEmitter {
  readonly sent: number[] = []
  send(message: { readonly seq: number }): boolean {
    this.sent.push(message.seq)
    return true
  }
}

function watched() {
  const worker = new FakeWorker()
  closeUnacceptedHandles(worker as unknown as ChildProcess)
  const closed: number[] = []
  const pass = (seq: number): void => {
    const send = worker.send as (message: object, handle: object) => boolean
    send({ act: 'newconn', seq }, { close: () => closed.push(seq) })
  }
  return { worker, closed, pass }
}

test('connections that a worker has not accepted are closed when it exits, and no others', () => {
  const { worker, closed, pass } = watched()
  for (const seq of [1, 2, 3]) pass(seq)
  worker.emit('internalMessage', { ack: 2 })
  worker.emit('exit')
  assert.deepEqual(
    [worker.sent, closed],
    [
      [1, 2, 3],
      [1, 3],
    ],
  )
})

test('a connection that is handed to a worker after its exit is closed at once', () => {
  const { worker, closed, pass } = watched()
  pass(1)
  worker.emit('exit')
  pass(2)
  assert.deepEqual([worker.sent, closed], [[1], [1, 2]])
})
