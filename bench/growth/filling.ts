/** Stores that were filled by real writes, in the process of the benchmark and without syncs. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openFolder } from '../../src/server/compose.ts'
import { startHoldfast } from '../http/processes.ts'
import { inFlight } from '../measure.ts'
import { BUCKET, type Scene } from '../scene.ts'

export const OBJECT_BYTES = 1024

const WIDTH = 256
const OBJECTS_PER_OTHER_BUCKET = 10
/** Odd, so that multiplying by it modulo 2³² reorders the numbers without a repetition. */
const SPREAD = 0x9e3779b1

/** Keys that come in no order, as those of many writers do. */
export const keyOf = (index: number): string => `k${(Math.imul(index, SPREAD) >>> 0).toString(16).padStart(8, '0')}`

export interface Filling {
  readonly objects: number
  /** Buckets beside the one that is measured, with a few objects each. */
  readonly otherBuckets: number
}

export interface FilledFolder {
  readonly folder: string
  readonly objects: number
  readonly bytesPerObject: number
}

const allocatedBytes = (folder: string): number =>
  Number(execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' }).split('\t')[0])

export async function fillFolder(scene: Scene, { objects, otherBuckets }: Filling): Promise<FilledFolder> {
  const folder = scene.newFolder(`growth-${objects}`)
  // The server's root account owns the bucket.
  await (await startHoldfast(scene, { data: folder })).stop()
  const before = allocatedBytes(folder)
  const parts = await openFolder({ folder, durability: 'os' })
  try {
    const { store } = parts
    const { owner } = await store.buckets.get(BUCKET)
    const body = randomBytes(OBJECT_BYTES)
    const put = (bucket: string, index: number): Promise<unknown> =>
      store.objects.put({ bucket, key: keyOf(index), owner, body: [body] })
    await inFlight(WIDTH, objects, i => put(BUCKET, i))
    for (let other = 0; other < otherBuckets; other++) {
      const name = `bench-${other}`
      await store.buckets.create({ name, owner, lockEnabled: false })
      await inFlight(WIDTH, OBJECTS_PER_OTHER_BUCKET, i => put(name, i))
    }
  } finally {
    await parts.close()
  }
  const stored = objects + otherBuckets * OBJECTS_PER_OTHER_BUCKET
  return { folder, objects, bytesPerObject: (allocatedBytes(folder) - before) / stored }
}
