/** A worker that stands still is not dead: whoever would take its folder has to wait for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, isAlive, Program, ROOT, until, withProgram } from './program.ts'

test('a worker that stood still when its supervisor was killed keeps others out until it has ended', () =>
  withFolder(async folder => {
    const first = await Program.start(folder)
    const path = '/key'
    const put = await first.client().send({ method: 'PUT', bucket: BUCKET, path, body: 'still there', as: ROOT })
    assert.equal(put.status, 200)
    const [stopped] = first.workers()
    process.kill(stopped!, 'SIGSTOP')
    await first.end('SIGKILL')
    const second = new Program(folder, '--workers', '2')
    try {
      const isDone = (): boolean => second.child.exitCode !== null || second.out.includes('ready')
      await until('it gives up', isDone)
      assert.deepEqual([second.child.exitCode, second.out], [1, ''])
      assert.match(second.errors, /another server is using/)
    } finally {
      process.kill(stopped!, 'SIGCONT')
      await second.end('SIGKILL')
    }
    await until('it ends', () => !isAlive(stopped!))
    await withProgram(folder, async third => {
      const got = await third.client().send({ method: 'GET', bucket: BUCKET, path, as: ROOT })
      assert.equal(got.body.toString(), 'still there')
    })
  }))
