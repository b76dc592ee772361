/** Large objects: how fast bytes go through, and how much memory many of them take at once. */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aloneRow, medians, milliseconds, type Row, rowOf } from '../measure.ts'
import { writeFile } from '../reference.ts'
import { randomName, type Scene } from '../scene.ts'
import { type Contender, load, peakMegabytes, startHoldfast, startReference } from './processes.ts'
import type { Asked } from './signed.ts'

const MIB = 2 ** 20
const LARGE_MIB = 64
const TURNS = 4
const MANY = 64

const put = (body: Buffer): Asked => ({ method: 'PUT', path: '/bench/large', body })
const get: Asked = { method: 'GET', path: '/bench/large' }

/** MiB a second, one object after the other. */
async function throughput(scene: Scene, server: Contender, asked: Asked): Promise<number> {
  const { answers, milliseconds } = await load(scene, server, { asked: [asked], connections: 1, answers: TURNS })
  return (answers * LARGE_MIB * 1000) / milliseconds
}

export async function sixtyFourMiB(scene: Scene): Promise<Row[]> {
  const rounds = scene.quick ? 1 : 5
  const body = randomBytes(LARGE_MIB * MIB)
  const server = await startHoldfast(scene)
  const path = join(scene.newFolder('file'), 'large')
  writeFileSync(path, body)
  const bare = await startReference('file', path)
  const [upload, digest, disk] = await medians(rounds, [
    () => throughput(scene, server, put(body)),
    () => rate(async () => createHash('md5').update(body).digest()),
    () => rate(() => writeFile(`${path}-${randomName()}`, [body])),
  ])
  const [download, bareDownload] = await medians(rounds, [
    () => throughput(scene, server, get),
    () => throughput(scene, bare, get),
  ])
  await Promise.all([server.stop(), bare.stop()])
  await scene.clear()
  return [
    rowOf('get-64m', 'MiB/s', download!, bareDownload!),
    rowOf('put-64m', 'MiB/s', upload!, Math.min(digest!, disk!)),
  ]
}

const rate = async (work: () => Promise<unknown>): Promise<number> => (LARGE_MIB * 1000) / (await milliseconds(work))

/** The most memory that the server has while 64 clients upload at once. */
export async function uploads(scene: Scene): Promise<Row[]> {
  const body = randomBytes((scene.quick ? 16 : 256) * MIB)
  const server = await startHoldfast(scene)
  const asked = { method: 'PUT', path: '/bench/upload', body }
  await load(scene, server, { asked: [asked], connections: MANY, answers: MANY })
  const peak = peakMegabytes(server)
  await server.stop()
  await scene.clear()
  return [aloneRow('uploads-64x256m', 'MB', peak)]
}

/** The same while 64 clients take a large object slowly. */
export async function downloads(scene: Scene): Promise<Row[]> {
  const body = randomBytes(256 * MIB)
  const data = scene.newFolder('downloads')
  const writer = await startHoldfast(scene, { data })
  await load(scene, writer, { asked: [put(body)], connections: 1, answers: 1 })
  await writer.stop()
  const reader = await startHoldfast(scene, { data })
  await load(scene, reader, {
    asked: [get],
    connections: MANY,
    milliseconds: scene.quick ? 1_000 : 10_000,
    bytesPerSecond: MIB,
  })
  const peak = peakMegabytes(reader)
  await reader.stop()
  await scene.clear()
  return [aloneRow('slow-downloads-64', 'MB', peak)]
}
