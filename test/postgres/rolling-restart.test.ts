/** Gateways behind HAProxy, configured as in deploy/cluster, are restarted one after the other under load. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { fromPage, send, signIn } from '../admin/console-fixture.ts'
import { BASE_HOST, Client, type Who } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

const hasProxy = spawnSync('haproxy', ['-v']).status === 0
const skip =
  serverUrl === undefined
    ? 'needs test/postgres/run.sh'
    : !hasProxy && 'there is no haproxy, and no right to install it'
const ROOT_FOLDER = join(import.meta.dirname, '..', '..', '..')
const PROGRAM = join(import.meta.dirname, '..', '..', 'src', 'main.js')
const ROOT: Who = { accessKey: 'AKROOT', secretKey: 'secret-of-root', accountId: '', canonicalId: '' }
const BUCKET = 'rolling'
const CLIENTS = 4
const TIMEOUT_MS = 300_000
const PORTS = Array.from({ length: 12_000 }, (_, i) => 20_000 + i)
const takenPorts = new Set<number>()

/** Below 32768, where the kernel gives out no ports by itself. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS[Math.floor(Math.random() * PORTS.length)]!
    if (takenPorts.has(port)) continue
    takenPorts.add(port)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await Promise.race([once(server, 'listening'), once(server, 'error')]).then(
      () => server.listening,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}

class Gateway {
  readonly port: number
  readonly consolePort: number
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  constructor(args: readonly string[], port: number, consolePort: number) {
    this.#args = args
    this.port = port
    this.consolePort = consolePort
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const place = ['--listen', `127.0.0.1:${this.port}`, '--console', `127.0.0.1:${this.consolePort}`]
    const child = spawn(process.execPath, [PROGRAM, 'serve', ...place, ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        HOLDFAST_CLUSTER_KEY: '1'.repeat(64),
        HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey,
        HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey,
      },
    })
    this.#process = child
    let errors = ''
    child.stderr.on('data', chunk => {
      errors += String(chunk)
    })
    for await (const line of createInterface(child.stdout)) if (line.startsWith('holdfast ready ')) return
    throw new Error(`the gateway ended before it served: ${errors}`)
  }

  async stop(): Promise<number | null> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return 0
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    return (await ended)[0] as number | null
  }
}

interface ProxyPorts {
  readonly objects: number
  readonly console: number
  readonly status: number
}

/** The example configuration with the addresses of this test. */
async function configuration(gateways: readonly Gateway[], ports: ProxyPorts): Promise<string> {
  let text = await readFile(join(ROOT_FOLDER, 'deploy', 'cluster', 'haproxy.cfg'), 'utf8')
  const replace = (example: string, address: string): void => {
    assert.ok(text.includes(example), `the example has no ${example}`)
    text = text.replace(example, address)
  }
  for (const [i, gateway] of gateways.entries()) {
    const example = `10.0.0.1${i + 1}`
    replace(`${example}:9000 check port 9001`, `127.0.0.1:${gateway.port} check port ${gateway.consolePort}`)
    replace(`${example}:9001 check cookie`, `127.0.0.1:${gateway.consolePort} check cookie`)
  }
  replace('bind :9000', `bind 127.0.0.1:${ports.objects}`)
  replace('bind 127.0.0.1:9001', `bind 127.0.0.1:${ports.console}`)
  replace('bind 127.0.0.1:8404', `bind 127.0.0.1:${ports.status}`)
  return text
}

/** Sessions are in the memory of one gateway: a browser must come back to it. */
async function checkConsole(port: number): Promise<void> {
  const signedIn = await signIn(port, ROOT)
  assert.equal(signedIn.status, 201, signedIn.text)
  const cookies = [signedIn.headers['set-cookie'] ?? []].flat().map(line => line.split(';')[0]!)
  const headers = { cookie: cookies.join('; '), ...fromPage(port, String(signedIn.json().token)) }
  for (let request = 0; request < 6; request++) {
    assert.equal((await send(port, { path: '/v1/session', headers })).status, 200, `request ${request}`)
  }
  const elsewhere = { ...headers, cookie: cookies.filter(cookie => !cookie.startsWith('holdfast-gateway')).join('; ') }
  const statuses = []
  for (let request = 0; request < 3; request++) {
    statuses.push((await send(port, { path: '/v1/session', headers: elsewhere })).status)
  }
  assert.ok(statuses.includes(401), `without the cookie of the proxy: ${statuses}`)
}

/** Waits until HAProxy sends requests to this gateway. */
async function untilUp(proxy: ChildProcess, statusPort: number, name: string): Promise<void> {
  for (;;) {
    assert.equal(proxy.exitCode, null, 'HAProxy has ended')
    const csv = await fetch(`http://127.0.0.1:${statusPort}/;csv`).then(
      response => response.text(),
      () => '',
    )
    if (csv.split('\n').some(line => line.startsWith(`gateways,${name},`) && line.includes(',UP,'))) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** Clients that repeat a failed request once. */
class Load {
  readonly #client: Client
  readonly stored = new Map<string, string>()
  readonly removed = new Set<string>()
  /** Requests that failed twice. */
  readonly lost: string[] = []
  requests = 0
  retries = 0
  isOver = false

  constructor(client: Client) {
    this.#client = client
  }

  async #send(method: string, key: string, body?: string): Promise<Awaited<ReturnType<Client['send']>> | undefined> {
    const given = { method, bucket: BUCKET, path: `/${key}`, as: ROOT, ...(body === undefined ? {} : { body }) }
    let failure = ''
    this.requests++
    for (let attempt = 0; attempt < 2; attempt++) {
      if (attempt > 0) this.retries++
      try {
        const answer = await this.#client.send(given)
        if (answer.status < 500) return answer
        failure = String(answer.status)
      } catch (error) {
        failure = String(error)
      }
    }
    this.lost.push(`${method} ${key}: ${failure}`)
    return undefined
  }

  async run(client: number): Promise<void> {
    for (let turn = 0; !this.isOver; turn++) {
      const key = `${client}-${turn}`
      // Every eighth is in a blob of its own.
      const body = `body of ${key} `.repeat(turn % 8 === 0 ? 100_000 : 500)
      if ((await this.#send('PUT', key, body))?.status !== 200) continue
      this.stored.set(key, body)
      await this.check(key)
      if (turn % 3 !== 0) continue
      this.stored.delete(key)
      if ((await this.#send('DELETE', key))?.status === 204) this.removed.add(key)
    }
  }

  async check(key: string): Promise<void> {
    const answer = await this.#send('GET', key)
    if (answer !== undefined) assert.equal(answer.body.toString(), this.stored.get(key), `${key}: ${answer.status}`)
  }

  async checkGone(key: string): Promise<void> {
    assert.equal((await this.#send('GET', key))?.status, 404, key)
  }

  async progress(by: number): Promise<void> {
    const goal = this.requests + by
    while (this.requests < goal) await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('a rolling restart behind HAProxy loses no request that a client repeats once', { skip, timeout: TIMEOUT_MS }, t =>
  withDatabase('rolling', metaUrl =>
    withFolder(async folder => {
      const shared = ['--cluster', 'rolling', '--meta', metaUrl, '--blobs', join(folder, 'blobs'), '--buckets', BUCKET]
      const gateways: Gateway[] = []
      for (let i = 1; i <= 3; i++) {
        const own = ['--data', join(folder, `gateway-${i}`), '--workers', '1', '--base-host', BASE_HOST]
        gateways.push(new Gateway([...own, ...shared], await freePort(), await freePort()))
      }
      const ports = { objects: await freePort(), console: await freePort(), status: await freePort() }
      const file = join(folder, 'haproxy.cfg')
      await writeFile(file, await configuration(gateways, ports))
      const proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
      const agent = new Agent({ keepAlive: true })
      try {
        for (const [i, gateway] of gateways.entries()) {
          await gateway.start()
          await untilUp(proxy, ports.status, `gateway-${i + 1}`)
        }
        await checkConsole(ports.console)
        const load = new Load(new Client('s3', new ManualClock(Date.now()), ports.objects, agent))
        const running = Promise.all(Array.from({ length: CLIENTS }, (_, client) => load.run(client)))
        for (const [i, gateway] of gateways.entries()) {
          await load.progress(50)
          assert.equal(await gateway.stop(), 0)
          await load.progress(50)
          await gateway.start()
          await untilUp(proxy, ports.status, `gateway-${i + 1}`)
        }
        load.isOver = true
        await running
        t.diagnostic(`${load.requests} requests, ${load.retries} repeated by clients`)
        assert.deepEqual(load.lost, [])
        for (const key of load.stored.keys()) await load.check(key)
        for (const key of load.removed) await load.checkGone(key)
      } finally {
        agent.destroy()
        proxy.kill('SIGKILL')
        for (const gateway of gateways) await gateway.stop()
      }
    }),
  ),
)
