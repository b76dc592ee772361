import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadRecord } from '../lib/codec.ts'
import { decodeShown, type ShownVersion } from './shown-version.ts'
import { type Version, versionFormat } from './version.ts'

const text = fc.string({ maxLength: 20 })
const count = fc.nat()
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(a => Buffer.from(a))
const maybe = <T>(what: fc.Arbitrary<T>) => fc.option(what, { nil: undefined })
const pairs = fc.array(fc.tuple(text, text), { maxLength: 3 })
const slice = fc.record({
  of: fc.constantFrom('blob' as const, 'content' as const),
  id: bytes(16),
  start: count,
  length: count,
  key: maybe(bytes(40)),
})

const anyVersion: fc.Arbitrary<Version> = fc.record({
  seq: count,
  id: text,
  modifiedAt: count,
  owner: text,
  marker: fc.boolean(),
  size: count,
  etag: text,
  parts: count,
  checksum: maybe(fc.record({ algorithm: text, type: fc.constant('COMPOSITE' as const), value: text })),
  encryption: maybe(
    fc.record({
      by: fc.constant('named' as const),
      keyName: maybe(text),
      context: maybe(bytes(9)),
      bucketKey: fc.boolean(),
      customerKeyMd5: maybe(text),
      wrappedKey: bytes(40),
    }),
  ),
  lock: fc.record({
    retention: maybe(fc.record({ mode: fc.constant('governance' as const), until: count })),
    hold: maybe(fc.boolean()),
  }),
  attributes: fc.record({
    headers: pairs,
    metadata: pairs,
    tags: pairs,
    grants: fc.array(fc.record({ grantee: text, group: fc.boolean(), permission: fc.constant('READ' as const) })),
    redirect: maybe(text),
    storageClass: maybe(text),
  }),
  nullSeq: maybe(count),
  content: fc.oneof(
    fc.record({
      kind: fc.constant('inline' as const),
      bytes: bytes(30),
      seal: maybe(fc.record({ id: bytes(16), key: bytes(40), storageKey: count })),
    }),
    fc.record({ kind: fc.constant('slices' as const), slices: fc.array(slice, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('shared' as const), id: bytes(16) }),
  ),
})

/** What a listing should show, from the whole of the version. */
const shownOf = ({ checksum, attributes, ...version }: Version): ShownVersion => {
  const { seq, id, modifiedAt, owner, marker, size, etag } = version
  return {
    ...{ seq, id, modifiedAt, owner, marker, size, etag },
    checksum: checksum && { algorithm: checksum.algorithm, type: checksum.type },
    storageClass: attributes.storageClass,
  }
}

/** As in a bucket: some fields the same in many versions, some in none. */
const alike = fc
  .tuple(anyVersion, fc.array(anyVersion, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.boolean()))
  .map(([common, versions, isCommon]) =>
    versions.map(version => {
      const same = Object.keys(common).filter(() => isCommon.next().value)
      return { ...version, ...Object.fromEntries(same.map(name => [name, common[name as keyof Version]])) } as Version
    }),
  )

test('what listings show of a version is what its record says, whatever the records before it said', () => {
  fc.assert(
    fc.property(alike, versions => {
      for (const version of versions) {
        const record = versionFormat.encode(version)
        assert.deepEqual(decodeShown(record), shownOf(versionFormat.decode(record)))
      }
    }),
  )
})

test('a record is shown wherever it lies among other bytes', () => {
  fc.assert(
    fc.property(
      anyVersion,
      fc.uint8Array({ maxLength: 9 }),
      fc.uint8Array({ maxLength: 300 }),
      (version, lead, rest) => {
        const record = versionFormat.encode(version)
        const among = Buffer.concat([lead, record, rest])
        assert.deepEqual(decodeShown(among, lead.length, lead.length + record.length), shownOf(version))
      },
    ),
  )
})

test('a record that is cut short is no record for listings either, nor one that goes on', () => {
  fc.assert(
    fc.property(anyVersion, fc.nat(), (version, at) => {
      const record = versionFormat.encode(version)
      decodeShown(record)
      assert.throws(() => decodeShown(record, 0, at % record.length), BadRecord)
      assert.throws(() => decodeShown(Buffer.concat([record, Buffer.of(0)])), BadRecord)
    }),
  )
})

test('texts that many versions share are made once, long ones and all', () => {
  const version = fc.sample(anyVersion, { numRuns: 1, seed: 7 })[0]!
  for (const owner of ['o', 'ö'.repeat(60), 'o'.repeat(64), 'o'.repeat(5000)]) {
    const records = ['a', 'b', 'a'].map(etag => versionFormat.encode({ ...version, owner, etag }))
    for (const record of records) assert.equal(decodeShown(record).owner, owner)
  }
})
