/** A server whose blobs are in another store, over HTTP, and that store dying under it. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { childText } from '../../src/lib/xml.ts'
import { S3Client } from '../../src/s3/client.ts'
import { documentOf } from '../../src/s3/responses.ts'
import { ROOT, ROOT_ENV, type Serving, spawned, spawnServer } from '../cli/program.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { OTHER_KEY, type OtherStore, RunningStore } from './other-store.ts'

const ENV = {
  ...ROOT_ENV,
  HOLDFAST_BLOBS_ACCESS_KEY: OTHER_KEY.accessKey,
  HOLDFAST_BLOBS_SECRET_KEY: OTHER_KEY.secretKey,
}
const BUCKET = 'bucket'
const SIZES = { inline: 4000, packed: 100_000, solo: 3 * 2 ** 20, long: 20 * 2 ** 20 } as const
const PART = 5 * 2 ** 20

const clientOf = ({ url }: Serving): S3Client =>
  new S3Client({ endpoint: new URL(url), bucket: BUCKET, region: 'us-east-1', key: ROOT, inFlight: 32 })

async function upload(client: S3Client, key: string, parts: readonly Buffer[]): Promise<void> {
  const begun = await client.requestOnce({ method: 'POST', key, query: { uploads: '' } })
  const uploadId = childText(documentOf(begun.body), 'UploadId')!
  const etags: string[] = []
  for (const [index, body] of parts.entries()) {
    const sent = await client.requestOnce({ method: 'PUT', key, query: { uploadId, partNumber: index + 1 }, body })
    etags.push(`<Part><PartNumber>${index + 1}</PartNumber><ETag>${sent.headers.get('etag')}</ETag></Part>`)
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${etags.join('')}</CompleteMultipartUpload>`)
  await client.requestOnce({ method: 'POST', key, query: { uploadId }, body })
}

/** The objects that `fill` leaves behind. */
const EXPECTED: ReadonlyMap<string, Buffer> = new Map([
  ...Object.entries(SIZES).map(([name, size]) => [name, payload(size)] as const),
  ['parts', Buffer.concat([payload(PART, 2), payload(1000, 3)])],
  ['copy', payload(SIZES.long)],
])

async function fill(client: S3Client): Promise<void> {
  for (const [key, size] of Object.entries(SIZES)) await client.requestOnce({ method: 'PUT', key, body: payload(size) })
  await upload(client, 'parts', [payload(PART, 2), payload(1000, 3)])
  await client.requestOnce({ method: 'PUT', key: 'copy', headers: [[':copy-source', `${BUCKET}/long`]] })
  for (const [n, size] of Object.values(SIZES).entries()) {
    await client.requestOnce({ method: 'PUT', key: `gone-${n}`, body: payload(size) })
    await client.requestOnce({ method: 'DELETE', key: `gone-${n}` })
  }
}

async function assertServed(client: S3Client): Promise<void> {
  for (const [key, bytes] of EXPECTED) {
    assert((await client.requestOnce({ method: 'GET', key })).body.equals(bytes), `${key} is as it was`)
    const [start, end] = [Math.floor(bytes.length / 3), Math.floor(bytes.length / 2)]
    const range = await client.requestOnce({ method: 'GET', key, headers: [['range', `bytes=${start}-${end}`]] })
    assert(range.body.equals(bytes.subarray(start, end + 1)), `a range of ${key}`)
  }
  await assert.rejects(client.requestOnce({ method: 'GET', key: 'gone-1' }), { code: 'NoSuchKey' })
}

async function command(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await spawned(args, { env: ENV })
  assert.equal(code, 0, `${args.join(' ')}: ${out}${errors}`)
  return out
}

interface Ground {
  readonly below: RunningStore
  readonly folder: string
}

const onStore = (other: OtherStore, use: (ground: Ground) => Promise<void>): Promise<void> =>
  withFolder(async folder => {
    const below = await RunningStore.start(other, join(folder, 'other'))
    try {
      await use({ below, folder })
    } finally {
      await below.kill()
    }
  })

type Use = (client: S3Client, log: () => string) => Promise<void>

async function withServer(data: string, places: readonly string[], use: Use): Promise<void> {
  const server = await spawnServer(['--data', data, ...places, '--workers', '2', '--buckets', BUCKET], ENV)
  const client = clientOf(server)
  try {
    await use(client, server.errors)
  } finally {
    client.close()
    assert.equal(await server.stop(), 0, server.errors())
  }
}

function serveRound(other: OtherStore): void {
  test(`${other.name}: a server serves, restarts, is checked, backed up and restored`, () =>
    onStore(other, async ({ below, folder }) => {
      const [data, backup, restored] = [join(folder, 'data'), join(folder, 'backup'), join(folder, 'restored')]
      const [place, elsewhere] = [below.newPlace(), below.newPlace()]
      await withServer(data, ['--blobs', place], async client => {
        await fill(client)
        await assertServed(client)
      })
      await withServer(data, ['--blobs', place], assertServed)
      await command('fsck', '--deep', '--data', data, '--blobs', place)
      await command('backup', backup, '--with-keyring', '--data', data, '--blobs', place)
      await command('restore', backup, '--data', restored, '--blobs', elsewhere)
      await command('fsck', '--deep', '--data', restored, '--blobs', elsewhere)
      await withServer(restored, ['--blobs', elsewhere], assertServed)
      const refused = await spawned(
        ['serve', '--data', join(folder, 'stranger'), '--blobs', place, '--listen', '127.0.0.1:0', '--console', 'off'],
        { env: ENV },
      )
      assert.match(refused.errors, /has blobs, but these metadata are empty/)
    }))
}

function moveRound(other: OtherStore): void {
  test(`${other.name}: blobs move to it from files while a server serves`, () =>
    onStore(other, async ({ below, folder }) => {
      const [data, files, place] = [join(folder, 'data'), join(folder, 'files'), below.newPlace()]
      await withServer(data, ['--blobs', files], fill)
      const moving = ['--blobs', place, '--blobs-from', files]
      await withServer(data, moving, async client => {
        await assertServed(client)
        assert.match(await command('blobs', 'move', '--data', data, ...moving), /complete/)
        await assertServed(client)
      })
      await rm(files, { recursive: true })
      await withServer(data, ['--blobs', place], assertServed)
      await command('fsck', '--deep', '--data', data, '--blobs', place)
    }))
}

function killRound(other: OtherStore): void {
  test(`${other.name}: killed in the middle of writes, it loses nothing that was acknowledged`, () =>
    onStore(other, async ({ below, folder }) => {
      const [data, place] = [join(folder, 'data'), below.newPlace()]
      const acknowledged = new Map<string, Buffer>()
      await withServer(data, ['--blobs', place], async (client, log) => {
        let isOver = false
        let written = 0
        const write = async (worker: number): Promise<void> => {
          for (let n = 0; !isOver; n++) {
            const [key, size] = [`${worker}-${n}`, [9000, 200_000, 2_000_000, 11_000_000][(worker + n) % 4]!]
            const body = payload(size, worker * 1000 + n)
            await client.requestOnce({ method: 'PUT', key, body }).then(
              () => acknowledged.set(key, body),
              () => {},
            )
            written++
          }
        }
        const writers = [0, 1, 2, 3].map(write)
        const progress = async (): Promise<void> => {
          const goal = written + 8
          while (written < goal) await new Promise(resolve => setImmediate(resolve))
        }
        for (let round = 0; round < 3; round++) {
          await progress()
          await below.kill()
          await below.start()
        }
        await progress()
        isOver = true
        await Promise.all(writers)
        assert(acknowledged.size > 8, `${acknowledged.size} of ${written} writes were acknowledged`)
        for (const [key, bytes] of acknowledged) {
          const read = await client.request({ method: 'GET', key }).catch((error: Error) => error)
          assert(!(read instanceof Error), `${key} is there: ${String(read)}\n${log()}`)
          assert(read.body.equals(bytes), `${key} is as acknowledged`)
        }
      })
      await command('fsck', '--deep', '--data', data, '--blobs', place)
    }))
}

export function serverRounds(other: OtherStore): void {
  serveRound(other)
  moveRound(other)
  killRound(other)
}
