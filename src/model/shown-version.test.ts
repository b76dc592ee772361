import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ByteSpan } from '../lib/bytes.ts'
import { BadRecord } from '../lib/codec.ts'
import { ShownRecord, type ShownVersion } from './shown-version.ts'
import type { Version } from './version.ts'
import { firstFormat, versionFormat } from './version-record.ts'

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

/** The expected listed fields of a version. */
const shownOf = ({ checksum, attributes, ...version }: Version): ShownVersion => {
  const { seq, id, modifiedAt, owner, marker, size, etag } = version
  return {
    ...{ seq, id, modifiedAt, owner, marker, size, etag },
    checksum: checksum && { algorithm: checksum.algorithm, type: checksum.type },
    storageClass: attributes.storageClass,
  }
}

/** As in a bucket: some fields equal in many versions, some in none. */
const alike = fc
  .tuple(anyVersion, fc.array(anyVersion, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.boolean()))
  .map(([common, versions, isCommon]) =>
    versions.map(version => {
      const same = Object.keys(common).filter(() => isCommon.next().value)
      return { ...version, ...Object.fromEntries(same.map(name => [name, common[name as keyof Version]])) } as Version
    }),
  )

const span = (bytes: Buffer, start = 0, end = bytes.length): ByteSpan => ({ bytes, start, end })

const KEY = Buffer.from('o key of the record')

/** The record in each format. */
const recordsOf = (version: Version): readonly Buffer[] => [
  versionFormat.encode(version, KEY),
  firstFormat.encode(version),
]

function shownIn(record: ByteSpan): ShownVersion {
  const shown = new ShownRecord()
  shown.read(record)
  return shown.version()
}

/** Values from the arbitraries may have no prototype. */
const plain = (version: Version): Version => firstFormat.decode(firstFormat.encode(version))

test('a version round-trips through records of each format', () => {
  fc.assert(
    fc.property(anyVersion, version => {
      for (const record of recordsOf(version)) assert.deepEqual(versionFormat.decode(record), plain(version))
    }),
  )
})

test('listed fields match the record, whatever records were read before', () => {
  fc.assert(
    fc.property(alike, fc.infiniteStream(fc.nat(2)), (versions, how) => {
      const shown = new ShownRecord()
      for (const version of versions) {
        const [record, first] = recordsOf(version).map(bytes => span(bytes)) as [ByteSpan, ByteSpan]
        const which = how.next().value
        if (which === 0) shown.read(first)
        else if (which === 1) shown.read(record)
        else assert.ok(shown.verify(record, span(KEY)))
        assert.deepEqual(shown.version(), shownOf(version))
      }
    }),
  )
})

test('a record is read at any offset of a buffer', () => {
  fc.assert(
    fc.property(
      anyVersion,
      fc.uint8Array({ maxLength: 9 }),
      fc.uint8Array({ maxLength: 300 }),
      (version, lead, rest) => {
        for (const record of recordsOf(version)) {
          const embedded = Buffer.concat([lead, record, rest])
          assert.deepEqual(shownIn(span(embedded, lead.length, lead.length + record.length)), shownOf(version))
        }
        const [record] = recordsOf(version) as [Buffer]
        const embedded = span(Buffer.concat([lead, record, rest]), lead.length, lead.length + record.length)
        const key = span(Buffer.concat([lead, KEY, rest]), lead.length, lead.length + KEY.length)
        assert.ok(new ShownRecord().verify(embedded, key))
      },
    ),
  )
})

test('a truncated record is rejected by listings as well', () => {
  fc.assert(
    fc.property(anyVersion, fc.nat(), (version, at) => {
      const [record, first] = recordsOf(version) as [Buffer, Buffer]
      assert.throws(() => shownIn(span(first, 0, at % first.length)), BadRecord)
      assert.throws(() => shownIn(span(Buffer.concat([first, Buffer.of(0)]))), BadRecord)
      const head = at % (lengthOfHead(record) - 1)
      assert.throws(() => shownIn(span(record, 0, head)), BadRecord)
      assert.equal(new ShownRecord().verify(span(record, 0, head), span(KEY)), false)
      assert.throws(() => versionFormat.decode(record.subarray(0, at % record.length)), BadRecord)
      assert.throws(() => versionFormat.decode(Buffer.concat([record, Buffer.of(0)])), BadRecord)
    }),
  )
})

/** As docs/formats defines it. */
function lengthOfHead(record: Buffer): number {
  const own = 8 + record.readUInt16BE(6)
  return own + 2 + record.readUInt16BE(own)
}

test('the checksum of a record covers every bit of its listed fields and key, and no other', () => {
  const [version] = fc.sample(anyVersion, { numRuns: 1, seed: 7 }) as [Version]
  const record = versionFormat.encode(version, KEY)
  const known = new ShownRecord()
  assert.ok(known.verify(span(record), span(KEY)))
  const isSound = (bytes: Buffer, key: Buffer): boolean => {
    // The result must not depend on cached fields.
    const [again, anew] = [known, new ShownRecord()].map(shown => shown.verify(span(bytes), span(key)))
    assert.equal(again, anew)
    return again!
  }
  const flipped = (bytes: Buffer, bit: number): Buffer => {
    const out = Buffer.from(bytes)
    out[bit >> 3]! ^= 1 << (bit & 7)
    return out
  }
  const head = lengthOfHead(record)
  assert.ok(record.length > head + 20)
  for (let bit = 0; bit < record.length * 8; bit++) {
    assert.equal(isSound(flipped(record, bit), KEY), bit >= head * 8, `bit ${bit}`)
  }
  for (let bit = 0; bit < KEY.length * 8; bit++) assert.equal(isSound(record, flipped(KEY, bit)), false)
  assert.equal(isSound(firstFormat.encode(version), KEY), false)
})

test('common fields of versions are decoded once, long ones included', () => {
  const version = fc.sample(anyVersion, { numRuns: 1, seed: 7 })[0]!
  const shown = new ShownRecord()
  for (const owner of ['o', 'ö'.repeat(60), 'o'.repeat(64), 'o'.repeat(5000)]) {
    const records = ['a', 'b', 'a'].map(etag => versionFormat.encode({ ...version, owner, etag }, KEY))
    const alike = records.map(record => {
      assert.ok(shown.verify(span(record), span(KEY)))
      assert.equal(shown.version().owner, owner)
      return shown.common
    })
    if (owner.length < 100) assert.equal(alike[0], alike[2])
  }
})
