/** The ranges of packed blobs, over records of many volumes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlobPlaces } from '../../src/maintenance/blob-places.ts'
import { type BlobRecord, blobFormat } from '../../src/model/content.ts'
import { openMemory } from '../../src/server/compose.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'

const idOf = (number: number): Buffer => Buffer.alloc(16, number)
const hex = (number: number): string => idOf(number).toString('hex')

const packed = (volume: string, offset: number, storedLength: number): BlobRecord => ({
  ...{ volume, offset, storedLength, length: storedLength },
  ...{ frameBytes: 65_536, storageKey: undefined, referenceCount: 1 },
})

test('blobs are compared with those of their own volume, in the order of their offsets', async () => {
  const { store, close } = await openMemory()
  const { context } = store
  const blobs = [
    packed('one', 900, 100),
    packed('two', 0, 500),
    packed('single', 950, 50),
    packed('one', 0, 500),
    packed('two', 499, 10),
    packed('one', 500, 401),
    packed('two', 509, 491),
    packed('gone', 0, 10),
    packed('short', 0, 1001),
  ]
  const problems: string[] = []
  const findings = { problem: (text: string) => problems.push(text), held: () => {} }
  const volumes = ['one', 'two', 'single', 'short'].map(name => ({ name, bytes: 1000 }) as never)
  const places = new BlobPlaces(volumes, findings)
  for (const [number, blob] of blobs.entries()) {
    const writes = [{ key: recordKey.blob(idOf(number)), value: blobFormat.encode(blob) }]
    await context.meta.commit({ checks: [], writes })
    places.add(idOf(number), blob)
  }
  await places.compare(context, () => {})
  assert.deepEqual(problems, [
    `short: ends before blob ${hex(8)} does`,
    'gone: is missing',
    `one: blobs ${hex(5)} and ${hex(0)} overlap`,
    `two: blobs ${hex(1)} and ${hex(4)} overlap`,
  ])
  await close()
})
