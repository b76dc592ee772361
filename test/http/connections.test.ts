/** Connections that end early must give back what their requests hold. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { BASE_HOST, makeBucket, withServer } from './server.ts'

const TURNS_MAX = 20_000
const PIPELINED = 8

test('answers that wait behind another one give up when their connection is gone', () =>
  withServer(async ({ s3, parts }) => {
    const bucket = await makeBucket(s3)
    const body = Buffer.alloc(3 * 2 ** 20, 7)
    await s3.send({ method: 'PUT', bucket, path: '/big', body, headers: [[':acl', 'public-read']] })
    const { readers } = parts.store.engine
    const socket = connect(s3.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET /big HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n\r\n`.repeat(PIPELINED))
    // Nothing is taken from the socket, so answers fill it and the others wait. Not every runtime begins them all.
    for (let turns = 0; readers.count < PIPELINED / 2 && turns < TURNS_MAX / 10; turns++) await turn()
    assert(readers.count > 0)
    socket.resetAndDestroy()
    for (let turns = 0; readers.count > 0 && turns < TURNS_MAX; turns++) await turn()
    assert.equal(readers.count, 0)
  }))

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
