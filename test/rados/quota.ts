/** A pool that is full: writes are refused as by a full disk, reads and removals go on. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type BlobLocation, DiskFull } from '../../src/blobs/blobs.ts'
import { RadosPool } from '../../src/blobs/rados/pool.ts'
import type { Ceph } from '../ceph/cluster.ts'
import { idOf, newNamespace, openPool, readAll, repeatUntil } from './place.ts'

const MIB = 2 ** 20
const POOL = 'quota'

export function quotaTests(ceph: Ceph): void {
  test('a pool over its quota refuses writes; reads and removals go on, and writes after them', async () => {
    await ceph.createPool(POOL)
    await ceph.setQuota(POOL, 24 * MIB)
    const writer = randomBytes(6)
    const namespace = newNamespace()
    const blobs = await openPool({ conf: ceph.conf, pool: POOL, namespace }, { writer, reserveBytes: 0 })
    const body = randomBytes(4 * MIB)
    const written: [number, BlobLocation][] = []
    let number = 0
    await repeatUntil('a write beyond the quota is refused', async () => {
      try {
        written.push([number, await blobs.write(idOf(writer, number), [body])])
        number++
        return false
      } catch (error) {
        assert(error instanceof DiskFull, String(error))
        return true
      }
    })
    assert(written.length >= 6, `only ${written.length} blobs fitted`)
    await refusedByEngine(ceph)
    for (const [n, location] of written) assert((await readAll(blobs, idOf(writer, n), location)).equals(body))
    for (const [n, location] of written) await blobs.remove(idOf(writer, n), location)
    await repeatUntil('a write after removals succeeds', async () => {
      try {
        await blobs.write(idOf(writer, ++number), [randomBytes(1000)])
        return true
      } catch (error) {
        assert(error instanceof DiskFull, String(error))
        return false
      }
    })
    await blobs.close()
  })
}

/** Not only the driver's own look at the free space refuses writes. */
async function refusedByEngine(ceph: Ceph): Promise<void> {
  const pool = await RadosPool.connect({ pool: POOL, namespace: '', user: 'admin', conf: ceph.conf })
  const objects = pool.namespace('direct')
  let number = 0
  await repeatUntil('a full pool refuses a write', async () => {
    try {
      await objects.write(`object-${number++}`, randomBytes(MIB), 0)
      return false
    } catch (error) {
      assert(['EDQUOT', 'ENOSPC'].includes((error as NodeJS.ErrnoException).code!), String(error))
      return true
    }
  })
  while (--number >= 0) await objects.remove(`object-${number}`)
  await pool.close()
}
