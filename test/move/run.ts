/**
 * A store of many objects with versions and holds moves from LMDB and files to PostgreSQL and RADOS while clients
 * write. The server is killed during the move of the bytes, and the command during the move of the records. Nothing
 * that was acknowledged may be missing afterwards.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openFolder } from '../../src/server/compose.ts'
import { startCeph } from '../ceph/cluster.ts'
import { launch, spawned } from '../cli/program.ts'
import type { Client } from '../http/server.ts'
import { addressOf } from '../rados/place.ts'
import { payload } from '../store/fixture.ts'
import { Program, ROOT, until } from '../workers/program.ts'

const flag = process.argv.indexOf('--objects')
const OBJECTS = flag < 0 ? 600 : Number(process.argv[flag + 1])
const BUCKET = 'evidence'
const CLIENTS = 16
const FILLERS = 64
const WRITERS = 4
const RETRY_MS = 20
const ENV = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }

const started = performance.now()
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`
const say = (line: string): void => console.log(`${seconds(started).padStart(9)}  ${line}`)
const digestOf = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')

/** Most objects are in their records or packed; some have a file of their own. */
const sizeOf = (n: number): number => (n % 500 === 0 ? 1_200_000 : n % 3 === 0 ? 5000 + (n % 7000) : 200 + (n % 3000))

interface Version {
  readonly key: string
  readonly digest: string
  readonly isHeld: boolean
}

class Load {
  /** Acknowledged versions by their id. */
  readonly versions = new Map<string, Version>()
  #program: Program | undefined
  #lastAnswer = 0
  #isStopped = false
  longestPauseMs = 0

  set program(program: Program) {
    this.#program = program
  }

  /** Ends the clients and the server, whatever their state. */
  async end(): Promise<void> {
    this.#isStopped = true
    await this.#program?.end('SIGKILL')
  }

  async put(client: Client, key: string, body: Buffer, isHeld: boolean): Promise<void> {
    const headers: [string, string][] = isHeld ? [[':object-lock-legal-hold', 'ON']] : []
    if (isHeld) headers.push(['Content-MD5', createHash('md5').update(body).digest('base64')])
    const response = await client.send({ method: 'PUT', bucket: BUCKET, path: `/${key}`, as: ROOT, body, headers })
    assert.equal(response.status, 200, `${key}: ${response.body}`)
    this.versions.set(response.headers.get('x-amz-version-id')!, { key, digest: digestOf(body), isHeld })
  }

  /** Fills a new store without a server, which is faster. */
  async fill(folder: string, count: number): Promise<void> {
    const parts = await openFolder({ folder, durability: 'os' })
    const { buckets, objects } = parts.store
    const owner = ROOT.canonicalId
    await buckets.create({ name: BUCKET, owner, lockEnabled: true })
    const put = async (key: string, body: Buffer, isHeld: boolean): Promise<void> => {
      const { id } = await objects.put({ bucket: BUCKET, key, owner, body: [body] })
      if (isHeld) await objects.setHold({ bucket: BUCKET, key, versionId: id }, true)
      this.versions.set(id, { key, digest: digestOf(body), isHeld })
    }
    let next = 0
    const work = async (): Promise<void> => {
      for (let n = next++; n < count; n = next++) {
        await put(`key-${n}`, payload(sizeOf(n), n), n % 50 === 0)
        if (n % 10 === 0) await put(`key-${n}`, payload(sizeOf(n + 1), n), false)
      }
    }
    await Promise.all(Array.from({ length: FILLERS }, work))
    await parts.close()
  }

  /** Writes until it is stopped, through every restart; what fails is written again under another key. */
  async write(writer: number): Promise<void> {
    let port = 0
    let client: Client | undefined
    for (let n = 0; !this.#isStopped; n++) {
      try {
        if (client === undefined || port !== this.#program!.port) {
          port = this.#program!.port
          client = this.#program!.client()
        }
        await this.put(client, `live-${writer}-${n}`, payload(sizeOf(n + 1), n), n % 50 === 0)
        const now = performance.now()
        if (this.#lastAnswer > 0) this.longestPauseMs = Math.max(this.longestPauseMs, now - this.#lastAnswer)
        this.#lastAnswer = now
        await wait(RETRY_MS)
      } catch {
        client = undefined
        await wait(RETRY_MS)
      }
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  /** The longest time without an acknowledged write since the last call. */
  async takePause(): Promise<string> {
    const before = this.versions.size
    await until('clients write', () => this.versions.size > before + WRITERS)
    const pause = this.longestPauseMs
    this.longestPauseMs = 0
    return `${(pause / 1000).toFixed(1)} s`
  }

  async verify(program: Program): Promise<void> {
    const versions = this.versions.entries()
    const work = async (): Promise<void> => {
      const client = program.client()
      for (const [id, { key, digest }] of versions) {
        const path = `/${key}?versionId=${id}`
        const { status, body } = await client.send({ method: 'GET', bucket: BUCKET, path, as: ROOT })
        assert.deepEqual([status, digestOf(body)], [200, digest], path)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, work))
  }
}

async function command(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await spawned(args, { env: ENV })
  assert.equal(code, 0, `${args.slice(0, 2).join(' ')}: ${out}${errors}`)
  return out.trim()
}

async function round(folder: string, conf: string, load: Load): Promise<void> {
  const metaUrl = process.env.HOLDFAST_POSTGRES_URL!
  const [data, files] = [join(folder, 'data'), join(folder, 'data', 'blobs')]
  const pool = addressOf({ conf, pool: 'blobs', namespace: 'moved' })
  const serve = async (...more: string[]): Promise<Program> => {
    const program = await Program.start(data, '--durability', 'fsync', '--console', '127.0.0.1:0', ...more)
    load.program = program
    return program
  }
  await load.fill(data, OBJECTS)
  say(`${load.versions.size} versions written to LMDB and files`)
  const before = await serve()
  const writing = Array.from({ length: WRITERS }, (_, writer) => load.write(writer))

  const places = ['--blobs', pool, '--blobs-from', files]
  await before.end()
  const moving = performance.now()
  let program = await serve(...places)
  const status = () => command('blobs', 'move', '--status', '--json', '--data', data, ...places)
  await until('some blobs have moved', async () => JSON.parse(await status()).blobs > OBJECTS / 20)
  say(`restarted between files and RADOS, pause of writes ${await load.takePause()}; killing the server`)
  await program.end('SIGKILL')
  program = await serve(...places)
  say(`restarted, pause of writes ${await load.takePause()}`)
  say(await command('blobs', 'move', '--data', data, ...places))
  say(`blobs moved in ${seconds(moving)}, longest pause of writes meanwhile ${await load.takePause()}`)

  const copying = performance.now()
  const killed = launch(['meta', 'move', '--data', data, '--to', metaUrl], ENV)
  await Promise.race([wait(3000), once(killed, 'exit')])
  killed.kill('SIGKILL')
  say('the command that copies records was killed')
  say(await command('meta', 'move', '--data', data, '--to', metaUrl))
  say(`records copied in ${seconds(copying)}, longest pause of writes meanwhile ${await load.takePause()}`)
  await program.end()
  const finishing = performance.now()
  say(await command('meta', 'move', '--data', data, '--to', metaUrl, '--finish'))
  say(`last pass in ${seconds(finishing)}`)
  program = await serve('--meta', metaUrl, '--blobs', pool)
  say(`on PostgreSQL and RADOS; pause of writes ${await load.takePause()}`)
  load.stop()
  await Promise.all(writing)

  await load.verify(program)
  say(`${load.versions.size} acknowledged versions are there`)
  const store = ['--data', data, '--meta', metaUrl, '--blobs', pool]
  await program.end()
  say(await command('ledger', 'verify', BUCKET, ...store))
  const checked = JSON.parse(await command('fsck', '--deep', '--json', ...store)) as {
    held: string[]
    problems: string[]
  }
  const held = [...load.versions.values()].filter(({ isHeld }) => isHeld).length
  assert.deepEqual(checked.problems, [])
  // A write whose answer was lost may be held as well.
  assert(checked.held.length >= held, `${checked.held.length} versions are held, ${held} were acknowledged`)
  say(`fsck --deep: no problems, ${checked.held.length} held`)
  const old = await Program.start(data).catch((error: Error) => error.message)
  assert.match(String(old), /were moved to/)
}

const folder = await mkdtemp(join(tmpdir(), 'holdfast-move-'))
const ceph = await startCeph({ osds: 3 })
const load = new Load()
try {
  await ceph.createPool('blobs')
  say('Ceph and PostgreSQL are up')
  await round(folder, ceph.conf, load)
  say('all of it moved')
  console.log('1 passed, 0 failed, 0 skipped')
} finally {
  await load.end()
  await ceph.stop()
  await rm(folder, { recursive: true, force: true })
}
