/** The driver and a server on it against S3 servers of other makers, which `run.sh` installs. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseS3Place } from '../../src/blobs/s3/place.ts'
import { openS3Blobs, prepareS3Store, type S3BlobsOptions } from '../../src/blobs/s3/s3-blobs.ts'
import { idOf, isDamaged, payload, readAll, WRITER } from '../blobs/fixture.ts'
import { collected } from '../blobs/s3-fixture.ts'
import { withFolder } from '../store/fixture.ts'
import { holdfastBelow, OTHER_KEY, type OtherStore, RunningStore, versitygwBelow } from './other-store.ts'
import { serverRounds } from './server-rounds.ts'

const VERSITYGW = process.env.HOLDFAST_VERSITYGW
const STORES: readonly OtherStore[] = [holdfastBelow, ...(VERSITYGW === undefined ? [] : [versitygwBelow(VERSITYGW)])]

const onStore = (other: OtherStore, use: (options: S3BlobsOptions) => Promise<void>): Promise<void> =>
  withFolder(async folder => {
    const below = await RunningStore.start(other, join(folder, 'other'))
    try {
      await use({ place: parseS3Place(new URL(below.place('blobs/'))), key: OTHER_KEY, writer: WRITER })
    } finally {
      await below.kill()
    }
  })

test('versitygw', { skip: VERSITYGW === undefined && 'it is not installed, and there is no Go to build it' }, () => {})

for (const other of STORES) {
  test(`${other.name}: is fit, and belongs to one store`, () =>
    onStore(other, async options => {
      const facts = await prepareS3Store(options, Buffer.alloc(16, 1))
      assert(facts.verifies.length > 0)
      await assert.rejects(prepareS3Store(options, Buffer.alloc(16, 2)), /another store/)
    }))

  test(`${other.name}: blobs of every kind are written, read by ranges, listed and removed`, () =>
    onStore(other, async options => {
      const blobs = openS3Blobs(options)
      const sizes = [0, 1, 9000, 700_000, 2 ** 20, 2 ** 20 + 1, 5 * 2 ** 20, 17_000_001]
      const locations = await Promise.all(sizes.map((size, n) => blobs.write(idOf(n), [payload(size)])))
      for (const [n, size] of sizes.entries()) {
        assert(payload(size).equals(await readAll(blobs, idOf(n), locations[n]!)), `${size} bytes`)
        const [start, end] = [Math.floor(size / 3), Math.floor((size * 2) / 3)]
        assert(
          payload(size)
            .subarray(start, end)
            .equals(await readAll(blobs, idOf(n), locations[n]!, start, end)),
        )
      }
      const solos = sizes.flatMap((size, n) => (size > 2 ** 20 ? [idOf(n).toString('hex')] : []))
      assert.deepEqual((await collected(blobs.solos())).map(id => id.toString('hex')).sort(), solos)
      for (const { name } of await blobs.volumes()) {
        assert((await collected(blobs.entries(name))).length > 0)
        await blobs.removeVolume(name)
      }
      for (const [n] of sizes.entries()) await blobs.remove(idOf(n), { ...locations[n]!, volume: undefined })
      assert.deepEqual(await blobs.volumes(), [])
      assert.deepEqual(await collected(blobs.solos()), [])
      for (const [n, size] of sizes.entries()) {
        if (size > 0) await assert.rejects(readAll(blobs, idOf(n), locations[n]!), isDamaged)
      }
      await blobs.close()
    }))

  serverRounds(other)
}
