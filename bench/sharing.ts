/** What must cost the same whatever the size: copying, and completing an upload of very many parts. */
import { randomBytes } from 'node:crypto'
import type { Store } from '../src/store/store.ts'
import { aloneRow, inFlight, median, medians, milliseconds, type Row, rowOf } from './measure.ts'
import { BUCKET, OWNER, type Scene } from './scene.ts'

const MIB = 2 ** 20
const LARGE_MIB = 5 * 1024
const SOURCE_MIB = 64
const PART_MIB = 5
/** Parts made of one source change that source's share count, one after the other: several sources go at once. */
const SOURCES = 32

export async function copies(scene: Scene): Promise<Row[]> {
  const store = await scene.newStore('copy')
  await putObject(store, 'source', SOURCE_MIB * MIB)
  await putObject(store, 'small', 1024)
  await assemble(store, 'large', LARGE_MIB / SOURCE_MIB, () => 'source', 1)
  const { size } = await store.objects.head({ bucket: BUCKET, key: 'large' })
  if (size !== LARGE_MIB * MIB) throw new Error(`the large object has only ${size} bytes`)
  let made = 0
  const copy = (key: string): Promise<number> =>
    milliseconds(() =>
      store.copies.copy({ from: { bucket: BUCKET, key }, to: { bucket: BUCKET, key: `copy-${made++}` }, owner: OWNER }),
    )
  const [large, small] = await medians(scene.quick ? 50 : 1000, [() => copy('large'), () => copy('small')])
  await scene.clear()
  return [rowOf('copy-5g-vs-1k', 'ms', large!, small!)]
}

export async function completions(scene: Scene): Promise<Row[]> {
  const parts = 10_000
  const store = await scene.newStore('complete')
  for (let i = 0; i < SOURCES; i++) await putObject(store, `source-${i}`, PART_MIB * MIB)
  const times: number[] = []
  for (let round = 0; round < (scene.quick ? 1 : 3); round++) {
    times.push(await assemble(store, `large-${round}`, parts, lane => `source-${lane}`, SOURCES))
  }
  await scene.clear()
  return [aloneRow('complete-10000', 'ms', median(times))]
}

async function putObject(store: Store, key: string, size: number): Promise<void> {
  const chunk = randomBytes(Math.min(size, MIB))
  const body = Array.from({ length: size / chunk.length }, () => chunk)
  await store.objects.put({ bucket: BUCKET, key, owner: OWNER, body })
}

/** An object of `count` parts, each a whole source; returns how long the completing alone took. */
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
