/** Operations whose cost must not depend on the size: copying, and completing an upload of very many parts. */
import { randomBytes } from 'node:crypto'
import type { Store } from '../src/store/store.ts'
import { aloneRow, inFlight, median, medians, milliseconds, type Row, rowOf } from './measure.ts'
import { BUCKET, OWNER, type Scene } from './scene.ts'

const MIB = 2 ** 20
const LARGE_MIB = 5 * 1024
const SOURCE_MIB = 64
const PART_MIB = 5
/** Parts copied from one source change its reference count one after the other, so several sources are used. */
const SOURCES = 32

/** Repeats the same work and measures the time of each run and the average bytes written to disk. */
class Repeated {
  readonly #work: () => Promise<unknown>
  #bytes = 0
  #times = 0

  constructor(work: () => Promise<unknown>) {
    this.#work = work
  }

  readonly turn = async (): Promise<number> => {
    const before = bytesWritten()
    const taken = await milliseconds(this.#work)
    this.#bytes += bytesWritten() - before
    this.#times++
    return taken
  }

  bytes(): number {
    return this.#bytes / this.#times
  }
}

const BLOCK_BYTES = 512
/** Bytes that this process has written to the disk, as the system counts them. */
const bytesWritten = (): number => process.resourceUsage().fsWrite * BLOCK_BYTES

const rounds = (scene: Scene): number => (scene.quick ? 50 : 1000)

/** An object made of `size / piece` parts that share one source's bytes. */
async function makeShared(
  store: Store,
  key: string,
  sizeMib: number,
  source: string,
  sourceMib: number,
): Promise<void> {
  await assemble(store, key, sizeMib / sourceMib, () => source, 1)
  const { size } = await store.objects.head({ bucket: BUCKET, key })
  if (size !== sizeMib * MIB) throw new Error(`${key} has only ${size} bytes`)
}

export async function copies(scene: Scene): Promise<Row[]> {
  const store = await scene.newStore('copy')
  await putObject(store, '1k', 1024)
  await putObject(store, 'source', SOURCE_MIB * MIB)
  await putObject(store, 'piece', PART_MIB * MIB)
  await makeShared(store, '1g', 1024, 'source', SOURCE_MIB)
  await makeShared(store, '5g', LARGE_MIB, 'source', SOURCE_MIB)
  await makeShared(store, '1-part', PART_MIB, 'piece', PART_MIB)
  await makeShared(store, '1000-parts', 1000 * PART_MIB, 'piece', PART_MIB)
  let made = 0
  const copying = (key: string): Repeated =>
    new Repeated(() =>
      store.copies.copy({ from: { bucket: BUCKET, key }, to: { bucket: BUCKET, key: `copy-${made++}` }, owner: OWNER }),
    )
  const all = ['1k', '1g', '5g', '1-part', '1000-parts'].map(copying)
  const [small, gib, large, one, many] = await medians(
    rounds(scene),
    all.map(({ turn }) => turn),
  )
  await scene.clear()
  return [
    rowOf('copy-5g-vs-1k', 'ms', large!, small!),
    rowOf('copy-1g-vs-1k', 'ms', gib!, small!),
    rowOf('copy-1000-parts-vs-1', 'ms', many!, one!),
    rowOf('copy-bytes-written', 'bytes', all[2]!.bytes(), all[0]!.bytes()),
  ]
}

export async function completions(scene: Scene): Promise<Row[]> {
  const store = await scene.newStore('complete')
  for (let i = 0; i < SOURCES; i++) await putObject(store, `source-${i}`, PART_MIB * MIB)
  const take = async (count: number, times: number): Promise<number> => {
    const taken: number[] = []
    for (let round = 0; round < times; round++) {
      taken.push(await assemble(store, `${count}-${round}`, count, lane => `source-${lane}`, Math.min(count, SOURCES)))
    }
    return median(taken)
  }
  const few = await take(10, scene.quick ? 10 : 100)
  const many = await take(10_000, scene.quick ? 1 : 3)
  await scene.clear()
  return [aloneRow('complete-10000', 'ms', many), aloneRow('complete-10', 'ms', few)]
}

export async function partCopies(scene: Scene): Promise<Row[]> {
  const store = await scene.newStore('part-copy')
  await putObject(store, 'source', SOURCE_MIB * MIB)
  await putObject(store, '5m', PART_MIB * MIB)
  await makeShared(store, '5g', LARGE_MIB, 'source', SOURCE_MIB)
  const { id } = await store.uploads.create({ bucket: BUCKET, key: 'upload', owner: OWNER, initiator: OWNER })
  const upload = { bucket: BUCKET, key: 'upload', uploadId: id.toString('hex') }
  let made = 0
  const copying = (key: string): Repeated =>
    new Repeated(() =>
      store.uploads.copyPart({ ...upload, number: 1 + (made++ % 10_000), from: { bucket: BUCKET, key } }),
    )
  const all = ['5m', '5g'].map(copying)
  const [small, large] = await medians(
    rounds(scene),
    all.map(({ turn }) => turn),
  )
  await scene.clear()
  return [
    rowOf('part-copy-5g-vs-5m', 'ms', large!, small!),
    rowOf('part-copy-bytes-written', 'bytes', all[1]!.bytes(), all[0]!.bytes()),
  ]
}

async function putObject(store: Store, key: string, size: number): Promise<void> {
  const chunk = randomBytes(Math.min(size, MIB))
  const body = Array.from({ length: size / chunk.length }, () => chunk)
  await store.objects.put({ bucket: BUCKET, key, owner: OWNER, body })
}

/** An object of `count` parts, each a whole source; returns the time of the completion alone. */
async function assemble(
  store: Store,
  key: string,
  count: number,
  source: (lane: number) => string,
  lanes: number,
): Promise<number> {
  const upload = await store.uploads.create({ bucket: BUCKET, key, owner: OWNER, initiator: OWNER })
  const name = { bucket: BUCKET, key, uploadId: upload.id.toString('hex') }
  const parts: { number: number; etag: string }[] = []
  await inFlight(lanes, lanes, async lane => {
    for (let number = lane + 1; number <= count; number += lanes) {
      const { etag } = await store.uploads.copyPart({ ...name, number, from: { bucket: BUCKET, key: source(lane) } })
      parts[number - 1] = { number, etag }
    }
  })
  return milliseconds(() => store.completion.complete({ ...name, parts }))
}
