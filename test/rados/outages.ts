/** OSDs that die: nothing acknowledged is lost, and a write whose outcome is unknown is not acknowledged. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { BlobLocation, Blobs } from '../../src/blobs/blobs.ts'
import { EngineUnavailable } from '../../src/lib/engine-unavailable.ts'
import type { Ceph } from '../ceph/cluster.ts'
import { idOf, newNamespace, openPool, readAll, repeatUntil } from './place.ts'

const WRITERS = 8
const noise = randomBytes(6 * 2 ** 20)
/** Every fifth blob is a long one. */
const bodyOf = (number: number): Buffer => noise.subarray(0, number % 5 === 0 ? 5_000_000 + number : 100 + number)

interface Load {
  readonly acknowledged: Map<number, BlobLocation>
  readonly failures: unknown[]
  longestStallMs: number
}

/** Writes blobs from several writers at once until told to stop. */
async function writeBlobs(blobs: Blobs, writer: Buffer, load: Load, isDone: () => boolean): Promise<void> {
  let next = 0
  let lastAt = performance.now()
  const run = async (): Promise<void> => {
    while (!isDone()) {
      const number = next++
      try {
        load.acknowledged.set(number, await blobs.write(idOf(writer, number), [bodyOf(number)]))
      } catch (error) {
        load.failures.push(error)
        return
      }
      load.longestStallMs = Math.max(load.longestStallMs, performance.now() - lastAt)
      lastAt = performance.now()
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, run))
}

async function verify(blobs: Blobs, writer: Buffer, acknowledged: Load['acknowledged']): Promise<void> {
  for (const [number, location] of acknowledged) {
    const got = await readAll(blobs, idOf(writer, number), location)
    assert(got.equals(bodyOf(number)), `blob ${number} differs`)
  }
}

export function outageTests(ceph: Ceph, pool: string): void {
  test('an OSD killed during writes loses nothing acknowledged, and writes go on', async t => {
    const writer = randomBytes(6)
    const place = { conf: ceph.conf, pool, namespace: newNamespace() }
    const blobs = await openPool(place, { writer })
    const load: Load = { acknowledged: new Map(), failures: [], longestStallMs: 0 }
    let killedAt = Number.POSITIVE_INFINITY
    let isBusy: () => void = () => {}
    const busy = new Promise<void>(resolve => {
      isBusy = resolve
    })
    const writing = writeBlobs(blobs, writer, load, () => {
      if (load.acknowledged.size >= 60) isBusy()
      return load.failures.length > 0 || load.acknowledged.size >= killedAt + 120
    })
    await Promise.race([busy, writing])
    await ceph.killOsd(1)
    killedAt = load.acknowledged.size
    await writing
    assert.deepEqual(load.failures, [])
    await verify(blobs, writer, load.acknowledged)
    await blobs.close()
    t.diagnostic(`${load.acknowledged.size} writes, the longest stall was ${Math.round(load.longestStallMs)} ms`)
    ceph.startOsd(1)
    await ceph.untilUp(3)
    await ceph.untilClean()
    const again = await openPool(place, { writer: randomBytes(6) })
    await verify(again, writer, load.acknowledged)
    await again.close()
  })

  test('with too few copies a write times out as unavailable, and works again when they are back', async () => {
    const conf = `${ceph.conf}.impatient`
    await writeFile(conf, `${await readFile(ceph.conf, 'utf8')}rados_osd_op_timeout = 3\n`)
    const writer = randomBytes(6)
    const blobs = await openPool({ conf, pool, namespace: newNamespace() }, { writer })
    const early = [0, 1].map(number => blobs.write(idOf(writer, number), [bodyOf(number)]))
    const locations = await Promise.all(early)
    await Promise.all([ceph.killOsd(0), ceph.killOsd(2)])
    const refused = await Promise.allSettled([10, 11].map(n => blobs.write(idOf(writer, n), [bodyOf(n)])))
    for (const result of refused) {
      assert.equal(result.status, 'rejected')
      assert(result.reason instanceof EngineUnavailable, String(result.reason))
    }
    ceph.startOsd(0)
    ceph.startOsd(2)
    await ceph.untilUp(3)
    await ceph.untilClean()
    for (const [number, location] of locations.entries()) {
      assert((await readAll(blobs, idOf(writer, number), location)).equals(bodyOf(number)))
    }
    for (const number of [20, 21]) {
      let location: BlobLocation | undefined
      let attempts = 0
      await repeatUntil('a write after the outage', async () => {
        const id = idOf(writer, number * 1000 + attempts++)
        location = await blobs.write(id, [bodyOf(number)]).catch(() => undefined)
        return location !== undefined
      })
      const id = idOf(writer, number * 1000 + attempts - 1)
      assert((await readAll(blobs, id, location!)).equals(bodyOf(number)))
    }
    await blobs.close()
    await rm(conf)
  })
}
