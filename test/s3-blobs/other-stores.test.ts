/** The driver and a server on it against S3 servers of other makers, which `run.sh` installs. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseS3Place } from '../../src/blobs/s3/place.ts'
import { openS3Blobs, prepareS3Store } from '../../src/blobs/s3/s3-blobs.ts'
import { blobSuite } from '../../src/blobs/suite.ts'
import { holdfastBelow, OTHER_KEY, type OtherStore, RunningStore, versitygwBelow } from './other-store.ts'
import { radosgwBelow } from './radosgw.ts'
import { serverRounds } from './server-rounds.ts'

const { HOLDFAST_VERSITYGW: versitygw, HOLDFAST_RADOSGW: hasRadosgw } = process.env
test('versitygw', { skip: versitygw === undefined && 'it is not installed, and there is no Go to build it' }, () => {})
test('radosgw', { skip: hasRadosgw === undefined && 'Ceph is not installed' }, () => {})

const stores: OtherStore[] = [holdfastBelow]
if (versitygw !== undefined) stores.push(versitygwBelow(versitygw))
if (hasRadosgw !== undefined) {
  const gateway = await radosgwBelow()
  after(() => gateway.stop())
  stores.push(gateway)
}

for (const other of stores) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-s3-blobs-'))
  const below = await RunningStore.start(other, folder)
  after(async () => {
    await below.kill()
    await rm(folder, { recursive: true })
  })
  const newPlace = () => parseS3Place(new URL(below.newPlace()))

  test(`${other.name}: is fit, and a prefix belongs to one store`, async () => {
    const options = { place: newPlace(), key: OTHER_KEY, writer: Buffer.alloc(6, 1) }
    const facts = await prepareS3Store(options, Buffer.alloc(16, 1))
    assert(facts.refusesOverwrites && facts.verifies.includes('SHA-256'), JSON.stringify(facts))
    await assert.rejects(prepareS3Store(options, Buffer.alloc(16, 2)), /another store/)
  })

  blobSuite({
    name: other.name,
    async open(writer) {
      const place = newPlace()
      const reopen = async (own: Buffer) => openS3Blobs({ place, key: OTHER_KEY, writer: own })
      return { blobs: await reopen(writer), reopen, destroy: async () => {} }
    },
  })

  serverRounds(other)
}
