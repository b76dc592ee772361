/** The same requests to a small and a large store, in turns. */
import { randomBytes } from 'node:crypto'
import { type Contender, ownMegabytes, type Plan, prepare, send, startHoldfast } from '../http/processes.ts'
import type { Asked } from '../http/signed.ts'
import { aloneRow, inTurns, median, type Row, rowOf } from '../measure.ts'
import type { Scene } from '../scene.ts'
import { type FilledFolder, fillFolder, keyOf, OBJECT_BYTES } from './filling.ts'

const SMALL_OBJECTS = 10_000
const CONNECTIONS = 64
const PAGE_CONNECTIONS = 16

interface Sized extends FilledFolder {
  readonly server: Contender
  /** Seconds from the start of the process until it was ready. */
  readonly startUp: number
}

interface Sizes {
  readonly scene: Scene
  readonly small: Sized
  readonly large: Sized
}

async function serve(scene: Scene, filled: FilledFolder): Promise<Sized> {
  const startedAt = performance.now()
  const server = await startHoldfast(scene, { data: filled.folder })
  return { ...filled, server, startUp: (performance.now() - startedAt) / 1000 }
}

export async function withSizes(scene: Scene, use: (sizes: Sizes) => Promise<void>): Promise<void> {
  const fewer = await fillFolder(scene, { objects: SMALL_OBJECTS, otherBuckets: 0 })
  const many = await fillFolder(scene, { objects: scene.quick ? 100_000 : 10_000_000, otherBuckets: 1_000 })
  process.stderr.write('the stores are filled\n')
  const small = await serve(scene, fewer)
  const large = await serve(scene, many)
  try {
    await use({ scene, small, large })
  } finally {
    await small.server.stop()
    await large.server.stop()
  }
}

interface Rates {
  readonly put: number
  readonly get: number
  readonly list: number
  readonly remove: number
}

/** One turn puts new objects, reads and lists old ones, and deletes the new ones again. */
function turnOn(scene: Scene, { server, objects }: Sized): () => Promise<Rates> {
  const count = scene.quick ? 500 : 10_000
  const body = randomBytes(OBJECT_BYTES)
  const anyKey = (): string => keyOf(Math.floor(Math.random() * objects))
  const numbers = Array.from({ length: count }, (_, n) => n)
  const newKey = (n: number): string => `/bench/${keyOf(2 ** 31 + n)}`
  const many = (asked: readonly Asked[], plan: Omit<Plan, 'asked'>): (() => Promise<number>) => {
    const requests = prepare(scene, `127.0.0.1:${server.port}`, asked)
    return async () => {
      const { answers, milliseconds } = await send([server.port], requests, plan)
      return (answers * 1000) / milliseconds
    }
  }
  const all = { connections: CONNECTIONS, answers: count }
  const put = many(
    numbers.map(n => ({ method: 'PUT', path: newKey(n), body })),
    all,
  )
  const get = many(
    numbers.map(() => ({ method: 'GET', path: `/bench/${anyKey()}` })),
    all,
  )
  const pages = numbers.slice(0, count / 10).map((): Asked => {
    const query = `list-type=2&max-keys=1000&start-after=${anyKey()}`
    return { method: 'GET', path: '/bench', query }
  })
  const list = many(pages, { connections: PAGE_CONNECTIONS, answers: pages.length })
  const remove = many(
    numbers.map(n => ({ method: 'DELETE', path: newKey(n) })),
    all,
  )
  return async () => ({ put: await put(), get: await get(), list: await list(), remove: await remove() })
}

export async function growth({ scene, small, large }: Sizes): Promise<Row[]> {
  const [many, few] = await inTurns(scene.quick ? 1 : 5, [turnOn(scene, large), turnOn(scene, small)])
  const compare = (name: string, rate: keyof Rates): Row => {
    const [ours, reference] = [many!, few!].map(turns => median(turns.map(turn => turn[rate])))
    return rowOf(name, 'op/s', ours!, reference!)
  }
  return [
    compare('growth-put-1k', 'put'),
    compare('growth-get-1k', 'get'),
    compare('growth-list-1000', 'list'),
    compare('growth-delete-1k', 'remove'),
    rowOf('growth-start-up', 's', large.startUp, small.startUp),
    rowOf('growth-memory', 'MB', ownMegabytes(large.server), ownMegabytes(small.server)),
    aloneRow('growth-disk-1k', 'B', large.bytesPerObject),
  ]
}
