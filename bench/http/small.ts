/** Small requests, 64 connections at a time, each waiting for its answer. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { aloneRow, median, medians, type Row, rowOf } from '../measure.ts'
import { randomName, type Scene } from '../scene.ts'
import { type Contender, load, startHoldfast, startReference } from './processes.ts'
import type { Asked } from './signed.ts'

const CONNECTIONS = 64
const KEYS = 512
const FOUR_KIB = 4096

const names = Array.from({ length: KEYS }, randomName)
const body = randomBytes(FOUR_KIB)
const asking = (method: string): Asked[] => names.map(name => ({ method, path: `/bench/${name}` }))
const puts: Asked[] = names.map(name => ({ method: 'PUT', path: `/bench/${name}`, body }))

const turnMs = (scene: Scene): number => (scene.quick ? 500 : 2_000)
const rounds = (scene: Scene): number => (scene.quick ? 1 : 5)

async function perSecond(scene: Scene, server: Contender, asked: readonly Asked[]): Promise<number> {
  const { answers, milliseconds } = await load(scene, server, {
    asked,
    connections: CONNECTIONS,
    milliseconds: turnMs(scene),
  })
  return (answers * 1000) / milliseconds
}

const fill = (scene: Scene, server: Contender) =>
  load(scene, server, { asked: puts, connections: CONNECTIONS, answers: KEYS })

export async function reads(scene: Scene): Promise<Row[]> {
  const server = await startHoldfast(scene)
  const bare = await startReference('memory')
  await fill(scene, server)
  const [get, bareGet, head, bareHead] = await medians(rounds(scene), [
    () => perSecond(scene, server, asking('GET')),
    () => perSecond(scene, bare, asking('GET')),
    () => perSecond(scene, server, asking('HEAD')),
    () => perSecond(scene, bare, asking('HEAD')),
  ])
  await Promise.all([server.stop(), bare.stop()])
  await scene.clear()
  return [rowOf('get-4k', 'op/s', get!, bareGet!), rowOf('head', 'op/s', head!, bareHead!)]
}

export async function writes(scene: Scene): Promise<Row[]> {
  const server = await startHoldfast(scene)
  const bare = await startReference('lmdb', scene.newFolder('bare'))
  const [put, barePut] = await medians(rounds(scene), [
    () => perSecond(scene, server, puts),
    () => perSecond(scene, bare, puts),
  ])
  await Promise.all([server.stop(), bare.stop()])
  await scene.clear()
  return [rowOf('put-4k', 'op/s', put!, barePut!)]
}

export async function lists(scene: Scene): Promise<Row[]> {
  const server = await startHoldfast(scene)
  const many = Array.from({ length: 2_000 }, () => ({ method: 'PUT', path: `/bench/${randomName()}`, body }))
  await load(scene, server, { asked: many, connections: CONNECTIONS, answers: many.length })
  const page: Asked = { method: 'GET', path: '/bench', query: 'list-type=2&max-keys=1000' }
  const [pages] = await medians(rounds(scene), [() => perSecond(scene, server, [page])])
  await server.stop()
  await scene.clear()
  return [aloneRow('list-1000', 'page/s', pages!)]
}

/** Reads, as many as two processes answer, against one. */
export async function workers(scene: Scene): Promise<Row[]> {
  const one = await startHoldfast(scene)
  const two = await startHoldfast(scene, { workers: 2 })
  await fill(scene, one)
  await fill(scene, two)
  const [byOne, byTwo] = await medians(rounds(scene), [
    () => perSecond(scene, one, asking('GET')),
    () => perSecond(scene, two, asking('GET')),
  ])
  await Promise.all([one.stop(), two.stop()])
  await scene.clear()
  return [rowOf('workers-2-vs-1', 'op/s', byTwo!, byOne!)]
}

/** The default log, in a file, beside a server that logs only errors. */
export async function logging(scene: Scene): Promise<Row[]> {
  const logging = await startHoldfast(scene, { log: join(scene.newFolder('log'), 'log') })
  const silent = await startHoldfast(scene, { flags: ['--log-level', 'error'] })
  await fill(scene, logging)
  await fill(scene, silent)
  const asked = [asking('GET'), asking('HEAD'), puts]
  // In more turns, because the difference is small.
  const rates = await medians(
    3 * rounds(scene),
    asked.flatMap(one => [() => perSecond(scene, logging, one), () => perSecond(scene, silent, one)]),
  )
  await Promise.all([logging.stop(), silent.stop()])
  await scene.clear()
  return ['get-4k', 'head', 'put-4k'].map((name, at) =>
    rowOf(`${name}-logged-vs-not`, 'op/s', rates[2 * at]!, rates[2 * at + 1]!),
  )
}

const WARM_MS = 4_000

/** Answers of the first second after a start, and of a second when the same server has been busy for some time. */
async function firstAndLater(
  scene: Scene,
  data: string,
  asked: readonly Asked[],
): Promise<{ readonly first: number; readonly later: number }> {
  const server = await startHoldfast(scene, { data })
  const during = async (milliseconds: number): Promise<number> => {
    const loaded = await load(scene, server, { asked, connections: CONNECTIONS, milliseconds })
    return (loaded.answers * 1000) / loaded.milliseconds
  }
  const first = await during(1_000)
  await during(WARM_MS)
  const later = await during(1_000)
  await server.stop()
  return { first, later }
}

export async function firstSecond(scene: Scene): Promise<Row[]> {
  const data = scene.newFolder('holdfast')
  const filled = await startHoldfast(scene, { data })
  await fill(scene, filled)
  await filled.stop()
  const rows: Row[] = []
  for (const [name, asked] of [
    ['get-4k-first-second', asking('GET')] as const,
    ['put-4k-first-second', puts] as const,
  ]) {
    const turns = []
    for (let round = 0; round < rounds(scene); round++) turns.push(await firstAndLater(scene, data, asked))
    rows.push(rowOf(name, 'op/s', median(turns.map(({ first }) => first)), median(turns.map(({ later }) => later))))
  }
  await scene.clear()
  return rows
}
