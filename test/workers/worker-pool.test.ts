/** Maintenance in this process, objects served by workers: freeing bytes waits for their readers in all processes. */
import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { realDisk } from '../../src/lib/disk.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { CopyFindings } from '../../src/meta/journal/compare.ts'
import { FINDINGS_FILE } from '../../src/meta/journal/files.ts'
import { writeFindings } from '../../src/meta/journal/findings-file.ts'
import { readConfig } from '../../src/server/config.ts'
import { MISSED_BEATS_MAX } from '../../src/server/heartbeat.ts'
import type { Logger } from '../../src/server/log.ts'
import { findPort } from '../../src/server/network.ts'
import { prepare } from '../../src/server/prepare.ts'
import { copyFolder } from '../../src/server/second-copy.ts'
import { WorkerPool } from '../../src/server/worker-pool.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { PROGRAM } from '../entry-point.ts'
import { BASE_HOST, type Client } from '../http/server.ts'
import { ANY_DEAD, gate, payload, withFolder } from '../store/fixture.ts'
import { BUCKET, clientOf, isAlive, ROOT, until } from './program.ts'

const MIB = 2 ** 20
const SOLO_BYTES = 3 * MIB
const PART_BYTES = 5 * MIB

const QUIET: Logger = { log: () => {}, notice: () => {}, abort: () => {} }

interface Supervised {
  readonly store: Store
  readonly crew: WorkerPool
  readonly data: string
  readonly client: Client
  readonly port: number
  /** Kills the only worker; another replaces it. */
  readonly kill: () => Promise<void>
  /** The process id of the only worker. */
  readonly pid: () => number
  readonly logger: Logger
  readonly log: readonly Readonly<Record<string, unknown>>[]
}

interface Starting {
  readonly workers: number
  /** Runs before a worker is started. */
  readonly admitting: (crew: WorkerPool, kill: Supervised['kill']) => Promise<void>
}

const ALONE: Starting = { workers: 1, admitting: async () => {} }

/** One worker, so that it handles every request; only the test runs maintenance. */
async function supervised(use: (supervised: Supervised) => Promise<void>, starting = ALONE): Promise<void> {
  await withFolder(async data => {
    cluster.setupPrimary({ exec: PROGRAM, args: [] })
    const env = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }
    const flags = ['--data', data, '--listen', '127.0.0.1:0', '--base-host', BASE_HOST, '--durability', 'os']
    const config = readConfig([...flags, '--buckets', BUCKET], env)!
    const crew = new WorkerPool()
    const { folder, rootKey } = await prepare(config, QUIET, crew)
    const { store, incarnation, copy } = folder
    const given = { config, rootKey, certificate: undefined, generation: copy?.journal.generation }
    const { port } = await findPort(config.listen)
    let died = gate()
    const log: Readonly<Record<string, unknown>>[] = []
    const logger: Logger = { ...QUIET, log: line => log.push(line) }
    const pid = (): number => Object.values(cluster.workers!)[0]!.process.pid!
    const kill = async (): Promise<void> => {
      died = gate()
      process.kill(pid(), 'SIGKILL')
      await died.opened
    }
    try {
      await crew.start(starting.workers, {
        logger,
        admit: writer => starting.admitting(crew, kill).then(() => folder.admit(writer)),
        dismiss: writer => folder.dismiss(writer),
        assignment: writer => ({ ...given, port, role: 'worker', incarnation, writer, member: undefined }),
        heartbeatTimeoutMs: config.workerTimeoutMs,
        onWorkerExit: () => died.open(),
      })
      await use({ store, crew, data, client: clientOf(port), port, pid, kill, logger, log })
    } finally {
      await crew.stop()
      await folder.close()
    }
  })
}

async function put(client: Client, key: string, body: Buffer, meanwhile?: () => Promise<void>): Promise<number> {
  const sending = { method: 'PUT', bucket: BUCKET, path: `/${key}`, body, as: ROOT }
  return (await client.send({ ...sending, ...(meanwhile && { meanwhile }) })).status
}

const get = async (client: Client, path: string): Promise<Buffer> =>
  (await client.send({ method: 'GET', bucket: BUCKET, path, as: ROOT })).body

const remove = async (client: Client, key: string): Promise<number> =>
  (await client.send({ method: 'DELETE', bucket: BUCKET, path: `/${key}`, as: ROOT })).status

/** Often enough that everything that could be freed is. */
async function tidyUp({ context }: Store): Promise<void> {
  const workers = [new Sweeper(context), new Compactor(context, ANY_DEAD), new Reclaimer(context)]
  for (let round = 0; round < 5; round++) {
    for (const worker of workers) await runUntilIdle(worker)
    // An epoch has passed only once the worker replies.
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('bytes that a worker reads are not freed by the supervisor before they are sent', () =>
  supervised(async ({ store, client, port }) => {
    const bodies = [1, 2, 3, 4].map(seed => payload(PART_BYTES, seed))
    const begun = await client.send({ method: 'POST', bucket: BUCKET, path: '/key?uploads', as: ROOT })
    const uploadId = begun.xml().children.find(child => child.name === 'UploadId')!.text
    let list = ''
    for (const [index, body] of bodies.entries()) {
      const path = `/key?partNumber=${index + 1}&uploadId=${uploadId}`
      const part = await client.send({ method: 'PUT', bucket: BUCKET, path, body, as: ROOT })
      list += `<Part><PartNumber>${index + 1}</PartNumber><ETag>${part.headers.get('etag')}</ETag></Part>`
    }
    const body = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`
    const path = `/key?uploadId=${uploadId}`
    assert.equal((await client.send({ method: 'POST', bucket: BUCKET, path, body, as: ROOT })).status, 200)
    const policy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",
      "Resource":"arn:aws:s3:::${BUCKET}/*"}]}`
    await client.send({ method: 'PUT', bucket: BUCKET, path: '/?policy', body: policy, as: ROOT })
    const answer = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
      const headers = { host: `${BUCKET}.${BASE_HOST}` }
      request({ port, host: '127.0.0.1', path: '/key', headers }, resolve).on('error', reject).end()
    })
    const reading = answer[Symbol.asyncIterator]()
    const read = [(await reading.next()).value as Buffer]
    assert.equal(await remove(client, 'key'), 204)
    await tidyUp(store)
    assert.equal((await fsck(store.context)).blobs, bodies.length)
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) read.push(step.value)
    assert.ok(Buffer.concat(read).equals(Buffer.concat(bodies)))
    const reclaimer = new Reclaimer(store.context)
    await until('what nobody reads any more is freed', async () => {
      await runUntilIdle(reclaimer)
      return (await fsck(store.context)).blobs === 0
    })
  }))

test('bytes that a worker is writing are left alone by the supervisor', () =>
  supervised(async ({ store, client, port }) => {
    const body = payload(SOLO_BYTES)
    const status = await put(client, 'key', body, async () => {
      await until('the file is there', async () => (await collected(store)).length === 1)
      await tidyUp(store)
    })
    assert.equal(status, 200)
    await tidyUp(store)
    assert.ok((await get(clientOf(port), '/key')).equals(body))
    assert.deepEqual((await fsck(store.context)).problems, [])
  }))

async function collected({ context }: Store): Promise<Buffer[]> {
  const out: Buffer[] = []
  for await (const id of context.blobs.solos()) out.push(id)
  return out
}

test('a key disabled in the supervisor is refused by all workers until it is enabled', () =>
  supervised(async ({ store, client }) => {
    const headers = [
      [':server-side-encryption', 'aws:kms'],
      [':server-side-encryption-aws-kms-key-id', 'my-key'],
    ] as const
    const sealed = { method: 'PUT', bucket: BUCKET, path: '/key', body: 'sealed', headers, as: ROOT }
    assert.equal((await client.send(sealed)).status, 200)
    for (let round = 0; round < 10; round++) {
      await store.context.keyring.disable('my-key')
      assert.equal((await client.send({ method: 'GET', bucket: BUCKET, path: '/key', as: ROOT })).status, 400)
      await store.context.keyring.enable('my-key')
      assert.equal((await get(client, '/key')).toString(), 'sealed')
    }
  }))

test('unnamed bytes of a killed worker are swept, and its volumes can be compacted', () =>
  supervised(async ({ store, crew, client, port, kill }) => {
    const [dead, alive] = [payload(100_000, 1), payload(100_000, 2)]
    assert.equal(await put(client, 'dead', dead), 200)
    assert.equal(await put(client, 'alive', alive), 200)
    assert.equal(await remove(client, 'dead'), 204)
    const volumes = async () => (await store.context.blobs.volumes()).map(({ name }) => name)
    const before = await volumes()
    await tidyUp(store)
    assert.deepEqual(await volumes(), before, 'a worker may still append to it')
    const cut = put(clientOf(port), 'cut', payload(SOLO_BYTES, 3), async () => {
      await until('the file is there', async () => (await collected(store)).length === 1)
      await kill()
    }).catch(() => 'cut off')
    assert.equal(await cut, 'cut off')
    const sweeper = new Sweeper(store.context)
    await until('its file is swept', async () => {
      await runUntilIdle(sweeper)
      return sweeper.removed === 1
    })
    await until('its volume is compacted', async () => {
      await tidyUp(store)
      return !(await volumes()).includes(before[0]!)
    })
    await until('another worker has taken its place', () => crew.isListening)
    assert.ok((await get(clientOf(port), '/alive')).equals(alive))
    assert.deepEqual((await fsck(store.context)).problems, [])
  }))

const figureOf = async (crew: WorkerPool, name: string): Promise<number | undefined> =>
  (await crew.samples()).find(([family]) => family === name)?.[2]

test('a stopped worker is killed and replaced, and nothing waits for it', () =>
  supervised(async ({ store, crew, client, port, pid, logger, log }) => {
    assert.equal(await put(client, 'gone', payload(SOLO_BYTES)), 200)
    assert.equal(await put(client, 'kept', Buffer.from('kept')), 200)
    assert.equal(await remove(client, 'gone'), 204)
    // A worker that replies may be asked any number of times.
    for (let beat = 0; beat < 3 * MISSED_BEATS_MAX; beat++) {
      crew.checkHeartbeats(logger)
      await until('it answers', async () => (await figureOf(crew, 'holdfast_worker_silence_seconds')) === 0)
    }
    const stopped = pid()
    process.kill(stopped, 'SIGSTOP')
    await until('it stands still', () => /\) T /.test(readFileSync(`/proc/${stopped}/stat`, 'utf8')))
    const reclaimer = new Reclaimer(store.context)
    await runUntilIdle(reclaimer)
    const changed = store.context.keyring.disable('a key').then(() => 'changed')
    crew.checkHeartbeats(logger)
    for (let beat = 1; beat < MISSED_BEATS_MAX; beat++) crew.checkHeartbeats(logger)
    assert.equal(await Promise.race([changed, Promise.resolve('waits')]), 'waits')
    assert.deepEqual([isAlive(stopped), log], [true, []])
    crew.checkHeartbeats(logger)
    assert.deepEqual([log.length, log[0]?.worker], [1, stopped])
    assert.match(String(log[0]?.error), /has not responded for 30 s/)
    assert.equal(await changed, 'changed')
    assert(!isAlive(stopped))
    await until('another has taken its place', () => crew.isListening)
    await until('what waited for it is freed', async () => {
      await runUntilIdle(reclaimer)
      return (await fsck(store.context)).blobs === 0
    })
    assert.equal((await get(clientOf(port), '/kept')).toString(), 'kept')
    assert.equal(await figureOf(crew, 'holdfast_workers_unresponsive_total'), 1)
    assert.equal(await figureOf(crew, 'holdfast_worker_restarts_total'), 1)
    assert.equal(await figureOf(crew, 'holdfast_worker_silence_seconds'), 0)
  }))

test('a worker that is killed while others are still starting is replaced, too', () => {
  let admitted = 0
  const admitting: Starting['admitting'] = async (crew, kill) => {
    if (++admitted !== 2) return
    await until('the first one listens', () => crew.isListening)
    await kill()
  }
  return supervised(
    async ({ crew }) => {
      await until('there are two', () => Object.keys(cluster.workers!).length === 2)
      assert.equal(await figureOf(crew, 'holdfast_worker_restarts_total'), 1)
    },
    { workers: 2, admitting },
  )
})

test('a worker that cannot be started for lack of resources is started once there are some', () =>
  supervised(async ({ crew, client, port, kill }) => {
    assert.equal(await put(client, 'kept', Buffer.from('kept')), 200)
    const { fork } = cluster
    let refused = 0
    cluster.fork = () => {
      if (++refused > 5) return fork.call(cluster)
      throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' })
    }
    try {
      await kill()
      await until('another has taken its place', () => crew.isListening)
    } finally {
      cluster.fork = fork
    }
    assert.equal((await get(clientOf(port), '/kept')).toString(), 'kept')
  }))

test('workers learn of lost records immediately, also those that start later', () =>
  supervised(async ({ crew, data, client, kill }) => {
    const code = async (): Promise<string> =>
      (await client.send({ method: 'GET', bucket: BUCKET, path: '/lost', as: ROOT })).code()
    assert.equal(await code(), 'NoSuchKey')
    const findings = new CopyFindings()
    findings.add('missing', recordKey.current(BUCKET, 'lost'))
    await writeFindings(realDisk, copyFolder(data), findings)
    await crew.reloadFindings()
    assert.equal(await code(), 'MetadataDamaged')
    await kill()
    await until('a new worker answers', async () => crew.isListening && (await code().catch(() => '')) !== '')
    assert.equal(await code(), 'MetadataDamaged')
    await realDisk.remove(join(copyFolder(data), FINDINGS_FILE))
    await crew.reloadFindings()
    assert.equal(await code(), 'NoSuchKey')
  }))
