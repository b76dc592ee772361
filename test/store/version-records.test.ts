/** Version records: those of the first format, and detection of flipped bits on the disk. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { Scrubber } from '../../src/maintenance/scrub.ts'
import { DamagedRecord } from '../../src/meta/meta.ts'
import { firstFormat, versionFormat } from '../../src/model/version-record.ts'
import { openFolder, type ServerParts } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesOf, ENGINES, makeBucket, payload, put, remove, withFolder } from './fixture.ts'

const bucket = 'bucket'

/** Everything that all forms of listing show about a bucket. */
async function listed(store: Store) {
  return {
    objects: await store.listing.objects({ bucket, limit: 10 }),
    rolledUp: await store.listing.objects({ bucket, limit: 10, delimiter: '/' }),
    versions: await store.listing.versions({ bucket, limit: 10 }),
  }
}

async function fill(store: Store): Promise<void> {
  await makeBucket(store, bucket, 'on')
  for (const key of ['a', 'b', 'c/d', 'c/e'])
    await put(store, bucket, key, payload(3000, key.charCodeAt(key.length - 1)))
  await put(store, bucket, 'b', payload(2000, 1))
  await remove(store, bucket, 'a')
}

for (const { name, run } of ENGINES) {
  test(`${name}: versions in the first record format are listed, read, and upgraded by the next change`, () =>
    run(async store => {
      await fill(store)
      const before = await listed(store)
      const markers = async (): Promise<string> => {
        const found: string[] = []
        for (const kind of ['o', 'v']) {
          for await (const { value } of recordsOf(store.context, kind)) found.push(value.toString('latin1', 0, 2))
        }
        return found.join(' ')
      }
      assert.equal(await markers(), 'V2 V2 V2 V2 V2 V2')
      for (const kind of ['o', 'v']) {
        for await (const { key, value } of recordsOf(store.context, kind)) {
          const first = firstFormat.encode(versionFormat.decode(value))
          await store.context.meta.commit({ checks: [], writes: [{ key, value: first }] })
        }
      }
      assert.equal(await markers(), 'V1 V1 V1 V1 V1 V1')
      assert.deepEqual(await listed(store), before)
      assert.ok((await bytesOf(store, { bucket, key: 'b' })).equals(payload(2000, 1)))
      await store.objects.setTags({ bucket, key: 'b' }, [['name', 'value']])
      assert.equal(await markers(), 'V2 V1 V1 V1 V1 V1')
      assert.deepEqual(await listed(store), before)
      assert.deepEqual((await fsck(store.context)).problems, [])
    }))
}

/** Flips a bit wherever these bytes occur in the metadata file, after a store was open and closed again. */
async function afterTurning(what: (store: Store) => Promise<Buffer>, use: (parts: ServerParts) => Promise<void>) {
  await withFolder(async folder => {
    const first = await openFolder({ folder, durability: 'os' })
    await fill(first.store)
    const bytes = await what(first.store)
    await first.close()
    const file = join(folder, 'meta', 'data.mdb')
    const content = await readFile(file)
    let turned = 0
    for (let at = content.indexOf(bytes); at >= 0; at = content.indexOf(bytes, at)) {
      content[at + 7]! ^= 0x04
      turned++
    }
    assert.ok(turned > 0)
    await writeFile(file, content)
    const again = await openFolder({ folder, durability: 'os' })
    try {
      await use(again)
    } finally {
      await again.close()
    }
  })
}

async function isFoundByUpkeep({ store }: ServerParts): Promise<void> {
  const scrubber = new Scrubber(store.context)
  await runUntilIdle(scrubber)
  assert.deepEqual(
    (await scrubber.report()).map(({ what }) => what),
    ['record'],
  )
  assert.ok((await fsck(store.context)).problems.some(problem => problem.includes('does not match its checksum')))
}

test('a flipped bit in a content is found by reads; listings do not read it', () =>
  afterTurning(
    async () => payload(2000, 1).subarray(1000, 1020),
    async parts => {
      const { objects, rolledUp, versions } = await listed(parts.store)
      assert.deepEqual(
        objects.items.map(({ key }) => key),
        ['b', 'c/d', 'c/e'],
      )
      assert.deepEqual(rolledUp.prefixes, ['c/'])
      assert.equal(versions.items.length, 6)
      await assert.rejects(bytesOf(parts.store, { bucket, key: 'b' }), DamagedRecord)
      await isFoundByUpkeep(parts)
    },
  ))

test('a flipped bit in listed fields is found by every listing that reads it, and by maintenance', () =>
  afterTurning(
    async store => Buffer.from((await store.objects.open({ bucket, key: 'c/d' })).version.etag),
    async parts => {
      const { listing } = parts.store
      await assert.rejects(listing.objects({ bucket, limit: 10 }), DamagedRecord)
      await assert.rejects(listing.objects({ bucket, limit: 10, delimiter: '/' }), DamagedRecord)
      await assert.rejects(listing.versions({ bucket, limit: 10 }), DamagedRecord)
      assert.equal((await listing.objects({ bucket, limit: 10, after: 'c/d' })).items.length, 1)
      await assert.rejects(bytesOf(parts.store, { bucket, key: 'c/d' }), DamagedRecord)
      await isFoundByUpkeep(parts)
    },
  ))
