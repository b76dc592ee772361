/** The whole program on a disk without a free block: it starts, reads and deletes, and its second copy is intact. */
import assert from 'node:assert/strict'
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { BALLAST_FILE } from '../../src/server/ballast.ts'
import { type Serving, spawned, spawnServer } from '../cli/program.ts'
import { BASE_HOST, type Client } from '../http/server.ts'
import { BUCKET, clientOf, ROOT, until } from '../workers/program.ts'
import { type Filesystem, LoopMount } from './loop-mount.ts'
import type { Suite } from './suite.ts'

/** The smallest size that xfs supports. */
const IMAGE_BYTES = 320 * 2 ** 20
const OBJECTS = 200
const BODY = Buffer.alloc(60_000, 'full')
const ENV = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }

/** Writes until not a single byte fits. */
function fillUp(path: string): void {
  const file = openSync(path, 'w')
  for (const size of [2 ** 20, 4096, 512]) {
    const piece = Buffer.alloc(size, 1)
    try {
      for (;;) writeSync(file, piece)
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }
  closeSync(file)
}

const start = (folder: string): Promise<Serving> =>
  spawnServer(['--data', folder, '--buckets', BUCKET, '--base-host', BASE_HOST, '--workers', '2'], ENV)

const readiness = async ({ consoleUrl }: Serving): Promise<string> => {
  const answer = await fetch(`${consoleUrl}/health/ready`)
  return `${answer.status} ${(await answer.text()).split(':')[0]!.trim()}`
}

const ask = (client: Client, method: string, n: number | string, body?: Buffer) =>
  client.send({ method, bucket: BUCKET, path: `/key-${n}`, as: ROOT, ...(body && { body }) })

async function statusOfAll(client: Client, method: string, numbers: readonly number[]): Promise<string> {
  const statuses = new Set<number>()
  for (const n of numbers) {
    const answer = await ask(client, method, n)
    if (method === 'GET' && answer.status === 200) assert.ok(answer.body.equals(BODY))
    statuses.add(answer.status)
  }
  return [...statuses].join()
}

async function served<T>(folder: string, use: (client: Client, server: Serving) => Promise<T>): Promise<T> {
  const server = await start(folder)
  try {
    return await use(clientOf(Number(new URL(server.url).port)), server)
  } finally {
    await server.stop()
  }
}

async function play(mount: LoopMount): Promise<void> {
  const folder = join(mount.folder, 'data')
  const filler = join(mount.folder, 'filler')
  const all = Array.from({ length: OBJECTS }, (_, n) => n)
  const [first, second] = [all.slice(0, OBJECTS / 2), all.slice(OBJECTS / 2)]
  await served(folder, async client => {
    for (const n of all) assert.equal((await ask(client, 'PUT', n, BODY)).status, 200)
    await until('the ballast is there', () => existsSync(join(folder, BALLAST_FILE)))
  })
  fillUp(filler)
  for (const [deleted, left] of [
    [first, second],
    [second.slice(0, -1), second.slice(-1)],
  ] as const) {
    await served(folder, async (client, server) => {
      await until('the full disk is told', async () => (await readiness(server)) === '503 disk full')
      assert.equal(await statusOfAll(client, 'GET', left), '200')
      assert.equal((await ask(client, 'PUT', 'new', BODY)).status, 507)
      assert.equal(await statusOfAll(client, 'DELETE', deleted), '204')
      assert.equal(await statusOfAll(client, 'GET', deleted), '404')
    })
  }
  rmSync(filler)
  await served(folder, async (client, server) => {
    await until('there is room', async () => (await readiness(server)) === '200 ready')
    assert.equal((await ask(client, 'PUT', 'new', BODY)).status, 200)
  })
  const { code, out } = await spawned(['fsck', '--data', folder], { env: ENV })
  assert.equal(code, 0, out)
}

const onFilesystem = (filesystem: Filesystem): Suite => ({
  name: `full-start-${filesystem}`,
  async run({ scratch }) {
    const mount = LoopMount.make(filesystem, scratch, IMAGE_BYTES)
    if (typeof mount === 'string') return { verdict: 'skipped', text: mount }
    try {
      await play(mount)
      return { verdict: 'passed', text: `${OBJECTS} objects, two starts without a free block, all read and deleted` }
    } catch (error) {
      return { verdict: 'failed', text: (error as Error).message }
    } finally {
      await mount.dispose()
    }
  },
})

export const fullStart: readonly Suite[] = [onFilesystem('ext4'), onFilesystem('xfs')]
