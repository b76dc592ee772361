/** A stopped worker is not dead: a new owner of its folder waits for it, and its supervisor kills it. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { workerFindings } from '../../src/cli/commands/doctor.ts'
import { SHARES_LISTEN_SOCKET } from '../../src/lib/runtime.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, clientOf, isAlive, Program, ROOT, until, withProgram } from './program.ts'

test('a stopped worker of a killed supervisor blocks the folder until it has exited', () =>
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
    const verify = async (third: Program): Promise<void> => {
      const got = await third.client().send({ method: 'GET', bucket: BUCKET, path, as: ROOT })
      assert.equal(got.body.toString(), 'still there')
    }
    await withProgram(folder, verify, '--workers', '1')
  }))

const SILENCE_FLAGS = ['--worker-timeout', '5', '--console', '127.0.0.1:0', '--metrics-public']

test('a worker that hangs is reported, ended and replaced by its supervisor', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        const address = / console (\S+)\n/.exec(program.out)![1]!
        const seen = async (): Promise<string | undefined> =>
          workerFindings(await (await fetch(`${address}/metrics`)).text())[0]?.found
        assert.equal(await seen(), 'all respond')
        const [stopped] = program.workers()
        process.kill(stopped!, 'SIGSTOP')
        // On Bun it is killed before it can be missed, because connections wait for it.
        if (SHARES_LISTEN_SOCKET) {
          await until('it is missed', async () => (await seen())?.startsWith('one has not responded for') === true)
          await until('the log tells', () => program.errors.includes('has not responded for 5 s'))
        } else await until('the log tells', () => program.errors.includes('is stopped by a signal'))
        await until('it is ended', () => !isAlive(stopped!))
        await until('another has come', async () => (await seen()) === 'all respond; 1 did not and were replaced')
        await until('there are two', () => program.workers().length === 2)
        const listed = { method: 'GET', bucket: BUCKET, path: '/?list-type=2', as: ROOT }
        for (let i = 0; i < 8; i++) assert.equal((await program.client().send(listed)).status, 200)
        assert.equal(await program.end(), 0)
      },
      ...SILENCE_FLAGS,
    ),
  ))

test('new connections do not wait for a stopped worker, even before it counts as silent', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        const [stopped] = program.workers()
        process.kill(stopped!, 'SIGSTOP')
        const listed = { method: 'GET', bucket: BUCKET, path: '/?list-type=2', as: ROOT }
        let answered = 0
        // Each on its own connection; one that was assigned to the stopped worker is reset when that is killed.
        const ask = async (): Promise<void> => {
          const agent = new Agent({ keepAlive: false })
          const answer = await clientOf(program.port, agent)
            .send(listed)
            .catch(() => undefined)
          if (answer === undefined) return ask()
          assert.equal(answer.status, 200)
          answered++
        }
        const asking = Promise.all(Array.from({ length: 40 }, ask))
        // Node assigns a worker the next connection once it has accepted the last one, so one may wait.
        await until('they are answered', () => answered >= 39)
        if (isAlive(stopped!)) process.kill(stopped!, 'SIGCONT')
        await asking
        assert.equal(await program.end(), 0)
      },
      ...['--worker-timeout', '3600'],
    ),
  ))

test('stopping a server does not wait for a stopped worker', () =>
  withFolder(async folder => {
    const program = await Program.start(folder, '--worker-timeout', '5')
    const [stopped] = program.workers()
    process.kill(stopped!, 'SIGSTOP')
    assert.equal(await program.end(), 0)
    assert(!isAlive(stopped!))
    assert.match(program.errors, /has not responded|is stopped by a signal/)
  }))

test('doctor reports workers by the metrics of the server', () => {
  const said = (silence: number | undefined, ended: number) => {
    const lines = silence === undefined ? [] : [`holdfast_worker_silence_seconds ${silence}`]
    const [finding] = workerFindings([...lines, `holdfast_workers_unresponsive_total ${ended}`, ''].join('\n'))
    return finding?.state
  }
  assert.deepEqual([said(undefined, 0), said(0, 0), said(0, 2), said(12, 0)], [undefined, 'good', 'odd', 'bad'])
})
