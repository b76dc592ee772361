/** A server goes on by itself when its database fails over. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { BASE_HOST, Client, type Who } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { canReplicate, withReplication } from './replicated.ts'

const skip = canReplicate ? false : 'run it through test/postgres/run.sh'
const PROGRAM = join(import.meta.dirname, '..', '..', 'src', 'main.js')
const ROOT: Who = { accessKey: 'AKROOT', secretKey: 'secret-of-root', accountId: '', canonicalId: '' }
const BUCKET = 'failing-over'
const WRITERS = 8

function startServer(folder: string, url: string): ChildProcess {
  const args = [PROGRAM, 'serve', '--data', folder, '--meta', url, '--listen', '127.0.0.1:0', '--console', 'off']
  return spawn(process.execPath, [...args, '--buckets', BUCKET, '--base-host', BASE_HOST, '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey,
      HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey,
    },
  })
}

async function portOf(server: ChildProcess): Promise<number> {
  for await (const line of createInterface(server.stdout!)) {
    const ready = /^holdfast ready http:\/\/127\.0\.0\.1:(\d+)/.exec(line)
    if (ready !== null) return Number(ready[1])
  }
  throw new Error('the server ended before it was ready')
}

/** Objects that were acknowledged, by key. */
class Writers {
  readonly #client: Client
  readonly acknowledged = new Map<string, string>()
  readonly unexpected: string[] = []
  over = false

  constructor(client: Client) {
    this.#client = client
  }

  async write(writer: number): Promise<void> {
    for (let turn = 0; !this.over; turn++) {
      const key = `${writer}-${turn}`
      const body = `body of ${key}`
      const answer = await this.#client.send({ method: 'PUT', bucket: BUCKET, path: `/${key}`, body, as: ROOT })
      if (answer.status === 200) this.acknowledged.set(key, body)
      else if (answer.status !== 503) this.unexpected.push(`${answer.status} ${answer.code()}`)
    }
  }

  async progress(by: number): Promise<void> {
    const goal = this.acknowledged.size + by
    while (this.acknowledged.size < goal && this.unexpected.length === 0)
      await new Promise(resolve => setImmediate(resolve))
  }
}

for (const loss of ['kill', 'hang'] as const) {
  const title = loss === 'kill' ? 'is killed' : 'hangs'
  test(`postgres failover: a server whose primary ${title} loses nothing and is not restarted`, { skip }, () =>
    withReplication(({ primary, standby, url }) =>
      withFolder(async folder => {
        const server = startServer(folder, url)
        const agent = new Agent({ keepAlive: false })
        try {
          const port = await portOf(server)
          const client = new Client('s3', new ManualClock(Date.now()), port, agent)
          const writers = new Writers(client)
          const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => writers.write(writer)))
          await writers.progress(50)
          await primary[loss]()
          await standby.promote()
          await writers.progress(50)
          if (loss === 'hang') await primary.resume()
          await writers.progress(50)
          writers.over = true
          await writing
          assert.deepEqual(writers.unexpected, [])
          for (const [key, body] of writers.acknowledged) {
            const answer = await client.send({ method: 'GET', bucket: BUCKET, path: `/${key}`, as: ROOT })
            assert.equal(answer.body.toString(), body, `${key}: ${answer.status}`)
          }
          assert.equal(server.exitCode, null)
        } finally {
          agent.destroy()
          const ended = server.exitCode === null ? once(server, 'exit') : undefined
          server.kill('SIGKILL')
          await ended
        }
      }),
    ),
  )
}
