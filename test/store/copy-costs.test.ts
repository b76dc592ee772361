/** The cost of copies: which of them read or write bytes, counted at the disk. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import type { Disk } from '../../src/lib/disk.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import type { Part } from '../../src/model/upload.ts'
import type { Checksum, Version } from '../../src/model/version.ts'
import { multipartEtag } from '../../src/rules/assembly.ts'
import { digestOf, wholeChecksum } from '../../src/rules/checksum.ts'
import { derivedChecksum } from '../../src/rules/part-checksums.ts'
import { partsAfter } from '../../src/store/content/part-table.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  chance,
  makeBucket,
  OWNER,
  openOn,
  PART_BYTES_MIN,
  payload,
  remove,
  settle,
} from './fixture.ts'
import { md5 } from './model.ts'

interface Counts {
  bytesRead: number
  bytesWritten: number
  commits: number
}

function countingDisk(disk: Disk, counts: Counts): Disk {
  return {
    makeFolder: path => disk.makeFolder(path),
    syncFolder: path => disk.syncFolder(path),
    list: path => disk.list(path),
    rename: (from, to) => disk.rename(from, to),
    remove: path => disk.remove(path),
    free: path => disk.free(path),
    async open(path, how) {
      const file = await disk.open(path, how)
      return {
        size: () => file.size(),
        datasync: () => file.datasync(),
        close: () => file.close(),
        async read(into, position) {
          const got = await file.read(into, position)
          counts.bytesRead += got
          return got
        },
        write(pieces, position) {
          for (const piece of pieces) counts.bytesWritten += piece.length
          return file.write(pieces, position)
        },
      }
    },
  }
}

const countingMeta = (meta: Meta, counts: Counts): Meta => ({
  get: key => meta.get(key),
  scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
  scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
  close: () => meta.close(),
  commit(tx) {
    counts.commits++
    return meta.commit(tx)
  },
})

async function countedStore(): Promise<{ store: Store; costOf: (work: () => Promise<unknown>) => Promise<Counts> }> {
  const counts: Counts = { bytesRead: 0, bytesWritten: 0, commits: 0 }
  const store = await openOn({
    disk: countingDisk(new MemoryDisk(), counts),
    meta: countingMeta(await openMemoryMeta(), counts),
    clock: new ManualClock(),
    random: chance(1),
  })
  await makeBucket(store, 'bucket')
  await makeBucket(store, 'other', 'on')
  const costOf = async (work: () => Promise<unknown>): Promise<Counts> => {
    const before = { ...counts }
    await work()
    return {
      bytesRead: counts.bytesRead - before.bytesRead,
      bytesWritten: counts.bytesWritten - before.bytesWritten,
      commits: counts.commits - before.commits,
    }
  }
  return { store, costOf }
}

const KINDS: Readonly<Record<string, KeyChoice | undefined>> = {
  plain: undefined,
  service: { by: 'service' },
  named: { by: 'named', name: 'tenant-7', context: Buffer.from('{"a":"b"}'), bucketKey: true },
  second: { by: 'named', name: 'other', context: undefined, bucketKey: false },
  customer: { by: 'customer', key: Buffer.alloc(32, 3), md5: 'md5-of-key' },
  stranger: { by: 'customer', key: Buffer.alloc(32, 4), md5: 'md5-of-other' },
}

const keyOf = (choice: KeyChoice | undefined): { customerKey?: Buffer } =>
  choice?.by === 'customer' ? { customerKey: choice.key } : {}
const asked = (choice: KeyChoice | undefined): { encryption?: KeyChoice } =>
  choice === undefined ? {} : { encryption: choice }

/** An object of two parts, with a composite checksum. */
async function inParts(store: Store, bodies: readonly Buffer[], choice: KeyChoice | undefined): Promise<Version> {
  const checksum = { algorithm: 'CRC32', type: 'COMPOSITE' } as const
  const name = { bucket: 'bucket', key: 'source' }
  const upload = await store.uploads.create({ ...name, initiator: OWNER, owner: OWNER, checksum, ...asked(choice) })
  const place = { ...name, uploadId: upload.id.toString('hex') }
  const parts = []
  for (const [index, body] of bodies.entries()) {
    const inspection = {
      update: () => undefined,
      abandon: () => {},
      end: async () => wholeChecksum('CRC32', digestOf('CRC32', body)),
    }
    parts.push(
      await store.uploads.putPart({ ...place, number: 2 * index + 1, body: [body], inspection, ...keyOf(choice) }),
    )
  }
  return store.completion.complete({ ...place, parts, inspect: (_, made) => derivedChecksum(checksum, made.parts) })
}

const from = { bucket: 'bucket', key: 'source' }
const to = { bucket: 'other', key: 'copy' }

const isManaged = (choice: KeyChoice | undefined): boolean => choice !== undefined && choice.by !== 'customer'
const isOpen = (choice: KeyChoice | undefined): boolean => choice === undefined || choice.by === 'service'

test('R52 R53: copies between all kinds of encryption keep parts and checksum; few of them touch bytes', async () => {
  const bodies = [payload(PART_BYTES_MIN, 1), payload(77, 2)]
  const whole = Buffer.concat(bodies)
  for (const [source, before] of Object.entries(KINDS)) {
    const { store, costOf } = await countedStore()
    const made = await inParts(store, bodies, before)
    for (const [target, after] of Object.entries(KINDS)) {
      const name = `${source} to ${target}`
      let version = made
      const cost = await costOf(async () => {
        version = (await store.copies.copy({ from, to, owner: OWNER, ...keyOf(before), ...asked(after) })).version
      })
      const shares = before === after ? before?.by !== 'customer' : isManaged(before) && isManaged(after)
      assert.equal(cost.bytesRead > 0, !shares, `${name}: reads`)
      assert.equal(cost.bytesWritten > 0, !shares, `${name}: writes`)
      assert.equal(cost.commits, 1, `${name}: commits`)
      assert.equal(version.parts, 2, name)
      assert.deepEqual(version.checksum, made.checksum, name)
      const { parts } = await partsAfter(store.context, version, 0, 10)
      const shape = parts.map(part => [part.number, part.start, part.end, part.checksum])
      assert.deepEqual(
        shape,
        [
          [1, 0, PART_BYTES_MIN, sum(bodies[0]!)],
          [3, PART_BYTES_MIN, whole.length, sum(bodies[1]!)],
        ],
        name,
      )
      if (isOpen(before) && isOpen(after)) assert.equal(version.etag, made.etag, name)
      if (!shares && after === undefined) assert.equal(version.etag, multipartEtag(bodies.map(md5)), name)
      assert.match(version.etag, /^[0-9a-f]{32}-2$/)
      assert.ok((await bytesOf(store, to, keyOf(after))).equals(whole), name)
      const tail = { start: PART_BYTES_MIN - 3, end: PART_BYTES_MIN + 5 }
      assert.ok((await bytesOf(store, to, { ...keyOf(after), ...tail })).equals(whole.subarray(tail.start, tail.end)))
      await remove(store, 'other', 'copy', version.id)
      await settle(store)
      await assertWhole(store)
    }
  }
})

const sum = (bytes: Buffer): string => digestOf('CRC32', bytes).toString('base64')

test('R52: a checksum derivable from the parts reads no data; another algorithm reads everything', async () => {
  const bodies = [payload(PART_BYTES_MIN, 1), payload(77, 2)]
  const whole = Buffer.concat(bodies)
  const { store, costOf } = await countedStore()
  const made = await inParts(store, bodies, undefined)
  for (const [algorithm, reads] of [
    ['CRC32', false],
    ['CRC32C', true],
    ['CRC64NVME', true],
    ['SHA1', true],
    ['SHA256', true],
  ] as const) {
    let checksum: Checksum | undefined
    const cost = await costOf(async () => {
      const { version } = await store.copies.copy({ from, to, owner: OWNER, algorithm })
      checksum = version.checksum
      assert.deepEqual([version.etag, version.parts], [made.etag, 2])
    })
    assert.deepEqual(checksum, wholeChecksum(algorithm, digestOf(algorithm, whole)))
    assert.deepEqual([cost.bytesRead > 0, cost.bytesWritten, cost.commits], [reads, 0, 1], algorithm)
    // Once the object has the checksum, nothing is read.
    const again = { from: to, to: { bucket: 'other', key: 'again' }, owner: OWNER, algorithm }
    assert.equal((await costOf(() => store.copies.copy(again))).bytesRead, 0)
  }
})

test('R52: a copy that rewrites its bytes computes their checksum on the way', async () => {
  const bodies = [payload(PART_BYTES_MIN, 1), Buffer.alloc(0)]
  const { store, costOf } = await countedStore()
  const made = await inParts(store, bodies, undefined)
  const before = (await partsAfter(store.context, made, 0, 10)).parts.map(part => part.checksum)
  const encryption = KINDS.customer!
  const cost = await costOf(async () => {
    const { version } = await store.copies.copy({ from, to, owner: OWNER, algorithm: 'SHA256', encryption })
    assert.deepEqual(version.checksum, wholeChecksum('SHA256', digestOf('SHA256', bodies[0]!)))
    assert.equal(version.parts, 2)
    const { parts } = await partsAfter(store.context, version, 0, 10)
    // Computed from the same bytes, with the checksums they had before.
    assert.deepEqual(
      parts.map(part => part.checksum),
      before,
    )
  })
  assert.ok(cost.bytesRead < 1.1 * PART_BYTES_MIN, 'the bytes were read twice')
  await remove(store, 'bucket', 'source')
  await settle(store)
  await assertWhole(store)
  assert.ok((await bytesOf(store, to, keyOf(encryption))).equals(bodies[0]!))
})

test('R53: parts that were shared from elsewhere keep their tags when their bytes move', async () => {
  const { store } = await countedStore()
  const piece = payload(PART_BYTES_MIN, 1)
  await store.objects.put({ ...from, owner: OWNER, body: [piece, Buffer.from('more')] })
  const upload = await store.uploads.create({ bucket: 'bucket', key: 'many', initiator: OWNER, owner: OWNER })
  const place = { bucket: 'bucket', key: 'many', uploadId: upload.id.toString('hex') }
  const parts = []
  const range = { start: 0, end: PART_BYTES_MIN }
  for (let number = 1; number <= 3; number++)
    parts.push(await store.uploads.copyPart({ ...place, number, from, range }))
  const made = await store.completion.complete({ ...place, parts })
  const encryption = KINDS.service!
  const { version } = await store.copies.copy({ from: { bucket: 'bucket', key: 'many' }, to, owner: OWNER, encryption })
  // Shared parts keep their ETags, since their content is the same.
  assert.equal(version.etag, made.etag)
  await remove(store, 'bucket', 'many')
  await remove(store, 'bucket', 'source')
  await settle(store)
  await assertWhole(store)
  assert.ok((await bytesOf(store, to)).equals(Buffer.concat([piece, piece, piece])))
})

test('R73: a copied part is read once if it is rewritten or needs a checksum, else not at all', async () => {
  const bytes = payload(PART_BYTES_MIN, 1)
  for (const [target, choice] of Object.entries(KINDS)) {
    for (const checksum of [undefined, { algorithm: 'SHA256', type: 'COMPOSITE' } as const]) {
      const { store, costOf } = await countedStore()
      await store.objects.put({ ...from, owner: OWNER, body: [bytes] })
      const name = { bucket: 'other', key: 'parts' }
      const how = { ...asked(choice), ...(checksum === undefined ? {} : { checksum }) }
      const upload = await store.uploads.create({ ...name, initiator: OWNER, owner: OWNER, ...how })
      const place = { ...name, uploadId: upload.id.toString('hex'), ...keyOf(choice) }
      let part: Part | undefined
      const cost = await costOf(async () => {
        part = await store.uploads.copyPart({ ...place, number: 1, from })
      })
      const passes = Math.round(cost.bytesRead / bytes.length)
      const where = `${target}, ${checksum?.algorithm}`
      assert.equal(passes, choice === undefined && checksum === undefined ? 0 : 1, where)
      assert.equal(cost.bytesWritten > 0, choice !== undefined, where)
      const sum = checksum === undefined ? undefined : digestOf('SHA256', bytes).toString('base64')
      assert.equal(part?.checksum, sum, where)
      await store.completion.complete({ ...place, parts: [part!] })
      assert.ok((await bytesOf(store, name, keyOf(choice))).equals(bytes), where)
      await settle(store)
      await assertWhole(store)
    }
  }
})
