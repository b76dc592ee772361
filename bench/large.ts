/** Large objects one at a time: streams of 64 MiB against a plain file, with and without a PUT's digest. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { blobFormat } from '../src/model/content.ts'
import { recordKey } from '../src/store/commit/record-keys.ts'
import type { Store } from '../src/store/store.ts'
import { medians, perSecond, type Row, rowOf } from './measure.ts'
import { readFile, writeFile } from './reference.ts'
import { BUCKET, drain, OWNER, randomName, type Scene } from './scene.ts'

const MIB = 2 ** 20
const SIZE_MIB = 64

function* chunks(bodies: readonly Buffer[]): Generator<Buffer> {
  for (let i = 0; i < SIZE_MIB; i++) yield bodies[i % bodies.length]!
}

export async function sixtyFourMiB(scene: Scene): Promise<Row[]> {
  const rounds = scene.quick ? 2 : 9
  const bodies = Array.from({ length: 8 }, () => randomBytes(MIB))
  const store = await scene.newStore('write-64m')
  const folder = scene.newFolder('write-64m-bare')
  const put = (key: string): Promise<unknown> =>
    store.objects.put({ bucket: BUCKET, key, owner: OWNER, body: chunks(bodies) })
  const [write, writeUnhashed, bareWrite] = await medians(rounds, [
    () => perSecond(SIZE_MIB, () => put(randomName())),
    () => perSecond(SIZE_MIB, () => storeUnhashed(store, chunks(bodies))),
    () => perSecond(SIZE_MIB, () => writeFile(join(folder, randomName()), chunks(bodies))),
  ])
  const file = join(folder, 'read')
  await writeFile(file, chunks(bodies))
  await put('read')
  const [read, bareRead] = await medians(rounds, [
    () =>
      perSecond(SIZE_MIB, async () =>
        whole(await drain((await store.objects.open({ bucket: BUCKET, key: 'read' })).read())),
      ),
    () => perSecond(SIZE_MIB, async () => whole(await readFile(file, MIB))),
  ])
  await scene.clear()
  return [
    rowOf('write-64m', 'MiB/s', write!, bareWrite!),
    rowOf('write-64m-nohash', 'MiB/s', writeUnhashed!, bareWrite!),
    rowOf('read-64m', 'MiB/s', read!, bareRead!),
  ]
}

/** Writes the bytes and the one commit that names them: a put without its digest. */
async function storeUnhashed(store: Store, body: Iterable<Buffer>): Promise<void> {
  const { blobs, ids, meta } = store.context
  const id = ids.next()
  const location = await blobs.write(id, body)
  const record = { ...location, storedLength: location.length, storageKey: undefined, referenceCount: 1 }
  await meta.commit({ checks: [], writes: [{ key: recordKey.blob(id), value: blobFormat.encode(record) }] })
}

function whole(bytes: number): void {
  if (bytes !== SIZE_MIB * MIB) throw new Error(`only ${bytes} bytes were read`)
}
