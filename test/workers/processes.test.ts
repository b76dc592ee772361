/** One server of several processes, as its clients and its operator see it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import type { Client } from '../http/server.ts'
import { shortOrLong } from '../long.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { FIRST, SECOND } from './certificates.ts'
import { BUCKET, clientOf, isAlive, Program, ROOT, socketsIn, solosIn, until, withProgram } from './program.ts'

/** Longer than what is packed into volumes. */
const SOLO_BYTES = 1.25 * 2 ** 20
const CONNECTIONS = 12
/** Where the kernel distributes connections randomly, this many never all reach one worker. */
const CONNECTIONS_OF_BOTH = 32
const ROUNDS = shortOrLong(10, 120)
/** More than the server tolerates from workers that exit by themselves. */
const KILLS = 8

const put = (client: Client, key: string, body: Buffer | string, meanwhile?: () => Promise<void>) =>
  client.send({ method: 'PUT', bucket: BUCKET, path: `/${key}`, body, as: ROOT, ...(meanwhile && { meanwhile }) })

const get = (client: Client, path: string) => client.send({ method: 'GET', bucket: BUCKET, path, as: ROOT })

/** False also while no worker listens. */
const isServing = (program: Program, path: string): Promise<boolean> =>
  get(program.client(), path).then(
    ({ status }) => status === 200,
    () => false,
  )

const isRefused = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(false))
    socket.once('error', () => resolve(true))
    socket.once('connect', () => socket.destroy())
  })

test('port 0: all workers share the port in the ready line', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      assert.match(program.out, /^holdfast ready http:\/\/127\.0\.0\.1:\d+ console off\n$/)
      assert.equal(program.workers().length, 2)
      assert.equal(socketsIn(folder).length, 2)
      const clients = Array.from({ length: CONNECTIONS }, () => program.client())
      const answers = await Promise.all(clients.map(client => get(client, '/?list-type=2')))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      assert.equal(await program.end(), 0)
      assert.deepEqual(socketsIn(folder), [])
    }),
  ))

test('promise (c): a write that one worker acknowledged is read and listed by every worker from then on', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      const clients = Array.from({ length: CONNECTIONS_OF_BOTH }, () => program.client())
      // Each lane writes one key repeatedly, and reads it back through another connection each time.
      const lane = async (client: Client, number: number): Promise<void> => {
        for (let round = 1; round <= ROUNDS; round++) {
          const other = clients[(number + round) % CONNECTIONS_OF_BOTH]!
          const size = round % 3 === 0 ? 6000 : 10
          const body = `${round} `.padEnd(size, 'x')
          assert.equal((await put(client, `lane-${number}`, body)).status, 200)
          assert.equal((await get(other, `/lane-${number}`)).body.toString(), body, `lane ${number}, round ${round}`)
          const fresh = `new-${number}-${round}`
          assert.equal((await put(client, fresh, '')).status, 200)
          const listed = await get(other, `/?list-type=2&prefix=${fresh}`)
          assert.match(listed.body.toString(), new RegExp(`<Key>${fresh}</Key>`))
        }
      }
      await Promise.all(clients.slice(0, CONNECTIONS).map(lane))
      // Both workers served: with one of them dead, some of these connections are closed and some are not.
      process.kill(program.workers()[0]!, 'SIGKILL')
      const after = await Promise.allSettled(clients.map(client => get(client, '/?list-type=2')))
      assert.deepEqual(new Set(after.map(({ status }) => status)), new Set(['fulfilled', 'rejected']))
    }),
  ))

test('versions of one key written by two workers at once are all kept, in one order', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      const clients = Array.from({ length: CONNECTIONS }, () => program.client())
      const body = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
      const path = '/?versioning'
      assert.equal((await clients[0]!.send({ method: 'PUT', bucket: BUCKET, path, body, as: ROOT })).status, 200)
      const made = await Promise.all(
        clients.flatMap(client => Array.from({ length: 10 }, () => put(client, 'key', 'x'))),
      )
      const names = made.map(answer => answer.own('version-id')!)
      assert.equal(new Set(names).size, 10 * CONNECTIONS)
      const listed = (await get(clients[0]!, '/?versions')).body.toString()
      assert.deepEqual([...listed.matchAll(/<VersionId>(\w+)</g)].map(match => match[1]!).sort(), names.sort())
      assert.equal(listed.match(/<IsLatest>true</g)?.length, 1)
    }),
  ))

test('kill -9 of a worker under load loses nothing acknowledged, and it is replaced', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      const acknowledged = new Map<string, Buffer>()
      let running = true
      let failures = 0
      const untouched = new Set<number>()
      const lane = async (number: number): Promise<void> => {
        untouched.add(number)
        let client = program.client()
        for (let round = 0; running; round++) {
          const key = `${number}-${round}`
          const body = payload(round % 8 === 7 ? SOLO_BYTES : 1000 * (1 + (round % 20)), round)
          try {
            if ((await put(client, key, body)).status === 200) acknowledged.set(key, body)
          } catch {
            failures++
            untouched.delete(number)
            client = program.client()
          }
        }
      }
      const lanes = Array.from({ length: CONNECTIONS_OF_BOTH }, (_, number) => lane(number))
      const before = program.workers()
      await until('there is load', () => acknowledged.size > 100)
      process.kill(before[0]!, 'SIGKILL')
      const isReplaced = () => program.workers().length === 2 && !program.workers().includes(before[0]!)
      await until('it is replaced', isReplaced)
      const then = acknowledged.size
      await until('the load goes on', () => acknowledged.size > then + 100)
      running = false
      await Promise.all(lanes)
      assert.ok(failures > 0, 'nobody noticed')
      assert.ok(untouched.size > 0, 'connections of the other worker were cut')
      const client = program.client()
      for (const [key, body] of acknowledged) {
        assert.ok((await get(client, `/${key}`)).body.equals(body), `${key} is lost`)
      }
      const solos = [...acknowledged.values()].filter(({ length }) => length === SOLO_BYTES).length
      // A response that was cut off may have been a success.
      await until('no file is without a name', () => solosIn(folder).length <= solos + failures)
      assert.equal(await program.end(), 0)
      assert.match(program.errors, /the worker exited with SIGKILL/)
      for (const line of program.errors.split('\n').filter(text => text.startsWith('{'))) JSON.parse(line)
    }),
  ))

for (const [name, target] of [
  ['the supervisor', 1],
  ['the whole group', -1],
] as const) {
  test(`a signal to ${name}: running requests finish, new ones are refused, and it exits with 0`, () =>
    withFolder(folder =>
      withProgram(folder, async program => {
        const ended = once(program.child, 'exit')
        const clients = Array.from({ length: CONNECTIONS }, () => program.client())
        const { port } = program
        let waiting = 0
        const inFlight = clients.map((client, number) =>
          put(client, `key-${number}`, payload(SOLO_BYTES, number), async () => {
            await until('the workers know of all of them', () => solosIn(folder).length === CONNECTIONS)
            if (++waiting === CONNECTIONS) process.kill(target * program.child.pid!, 'SIGINT')
            await until('nobody new is let in', () => isRefused(port))
          }),
        )
        for (const answer of await Promise.all(inFlight)) assert.equal(answer.status, 200)
        assert.deepEqual(await ended, [0, null])
        const verify = async (again: Program): Promise<void> => {
          const client = again.client()
          for (let number = 0; number < CONNECTIONS; number++) {
            assert.ok((await get(client, `/key-${number}`)).body.equals(payload(SOLO_BYTES, number)))
          }
        }
        await withProgram(folder, verify, '--workers', '1')
      }),
    ))
}

test('workers exit when their supervisor is killed, and the next start has all acknowledged data', () =>
  withFolder(async folder => {
    const first = await Program.start(folder)
    assert.equal((await put(first.client(), 'key', 'still there')).status, 200)
    const workers = first.workers()
    const body = put(first.client(), 'cut', payload(SOLO_BYTES), async () => {
      await first.end('SIGKILL')
    })
    // At once: the next server waits for the last worker of the previous one.
    await assert.rejects(body)
    await withProgram(folder, async second => {
      assert.equal((await get(second.client(), '/key')).body.toString(), 'still there')
      assert.deepEqual(workers.filter(isAlive), [])
      await until('what was cut off is swept', () => solosIn(folder).length === 0)
    })
  }))

test('workers that exit as soon as they start stop the server, with an explanation', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      const ended = once(program.child, 'close')
      rmSync(join(folder, 'keyring'))
      for (const pid of program.workers()) process.kill(pid, 'SIGKILL')
      assert.deepEqual(await ended, [1, null])
      assert.match(
        program.errors,
        /"level":"error","message":"\d workers in a row exited soon after their start: giving up"/,
      )
      assert.match(program.errors, /the keyring of .* is missing/)
    }),
  ))

test('workers killed again and again soon after their start do not end the server', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      assert.equal((await put(program.client(), 'kept', 'x')).status, 200)
      for (let round = 0; round < KILLS; round++) {
        const [victim] = program.workers()
        const known = socketsIn(folder)
        process.kill(victim!, 'SIGKILL')
        const isReplaced = () => program.workers().length === 2 && !program.workers().includes(victim!)
        await until('it is replaced', isReplaced)
        await until('the new worker has opened the store', () => socketsIn(folder).some(name => !known.includes(name)))
      }
      await until('a worker serves', () => isServing(program, '/kept'))
      assert.equal(await program.end(), 0)
      assert.equal(program.errors.match(/the worker exited with SIGKILL/g)?.length, KILLS)
    }),
  ))

test('an occupied port fails the start with one line, and leaves no process behind', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      await withFolder(async other => {
        const second = new Program(other, '--workers', '2', '--listen', `127.0.0.1:${program.port}`)
        assert.deepEqual(await once(second.child, 'close'), [1, null])
        assert.match(second.errors, /^holdfast: .*EADDRINUSE.*$/m)
        assert.deepEqual(socketsIn(other), [])
      })
    }),
  ))

test('a connection that was on its way to a worker when that died is not left open', () =>
  withFolder(folder =>
    withProgram(folder, async program => {
      const workers = program.workers()
      // Neither accepts its connections.
      for (const pid of workers) process.kill(pid, 'SIGSTOP')
      const open = new Set(Array.from({ length: CONNECTIONS }, () => connect(program.port, '127.0.0.1')))
      for (const socket of open) {
        socket.on('error', () => {})
        socket.once('close', () => open.delete(socket))
        socket.resume().write('GET / HTTP/1.0\r\n\r\n')
      }
      await Promise.all([...open].map(socket => once(socket, 'connect')))
      for (const pid of workers) process.kill(pid, 'SIGKILL')
      try {
        await until('all are answered or closed', () => open.size === 0)
      } finally {
        for (const socket of open) socket.destroy()
      }
      await until('others serve', () => isServing(program, '/?list-type=2'))
      assert.equal(await program.end(), 0)
    }),
  ))

function certificateAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('SIGHUP reloads the certificate in every worker, and a mismatched pair is ignored', () =>
  withFolder(async folder => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const write = (pair: typeof FIRST): void => {
      writeFileSync(cert, pair.cert)
      writeFileSync(key, pair.key)
    }
    write(FIRST)
    const run = async (program: Program): Promise<void> => {
      const { port } = program
      const shown = async () => new Set(await Promise.all(Array.from({ length: 8 }, () => certificateAt(port))))
      assert.deepEqual(await shown(), new Set(['first']))
      write({ cert: SECOND.cert, key: FIRST.key })
      program.child.kill('SIGHUP')
      await until('it says why', () => /the reload failed.*mismatch/i.test(program.errors))
      assert.deepEqual(await shown(), new Set(['first']))
      write(SECOND)
      program.child.kill('SIGHUP')
      // Where a new server takes over the port, a connection in progress may be cut.
      const names = () => shown().catch(() => new Set())
      await until('all show the new one', async () => [...(await names())].join() === 'second')
      // A worker that starts later presents it, too.
      const [one, two] = program.workers()
      process.kill(one!, 'SIGKILL')
      await until('it is replaced', () => program.workers().some(pid => pid !== one && pid !== two))
      await until('both are there', () => socketsIn(folder).length === 2)
      assert.deepEqual(await shown(), new Set(['second']))
      assert.equal(await program.end(), 0)
    }
    await withProgram(folder, run, '--tls-cert', cert, '--tls-key', key)
  }))

test('--workers 1 serves from one process alone', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        assert.deepEqual(program.workers(), [])
        assert.equal((await put(clientOf(program.port, new Agent()), 'key', 'x')).status, 200)
        assert.equal(await program.end(), 0)
      },
      '--workers',
      '1',
    ),
  ))
