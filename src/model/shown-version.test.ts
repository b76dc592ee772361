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

const stretch = (bytes: Buffer, start = 0, end = bytes.length): ByteSpan => ({ bytes, start, end })

const KEY = Buffer.from('o key of the record')

/** Of each format. */
const recordsOf = (version: Version): readonly Buffer[] => [
  versionFormat.encode(version, KEY),
  firstFormat.encode(version),
]

function shownIn(record: ByteSpan): ShownVersion {
  const shown = new ShownRecord()
  shown.read(record)
  return shown.version()
}

/** Some of what the arbitraries make has no prototype. */
const plain = (version: Version): Version => firstFormat.decode(firstFormat.encode(version))

test('a version comes back as it was, from records of each format', () => {
  fc.assert(
    fc.property(anyVersion, version => {
      for (const record of recordsOf(version)) assert.deepEqual(versionFormat.decode(record), plain(version))
    }),
  )
})

test('what listings show of a version is what its record says, whatever the records before it said', () => {
  fc.assert(
    fc.property(alike, fc.infiniteStream(fc.nat(2)), (versions, how) => {
      const shown = new ShownRecord()
      for (const version of versions) {
        const [record, first] = recordsOf(version).map(bytes => stretch(bytes)) as [ByteSpan, ByteSpan]
        const which = how.next().value
        if (which === 0) shown.read(first)
        else if (which === 1) shown.read(record)
        else assert.ok(shown.isSound(record, stretch(KEY)))
        assert.deepEqual(shown.version(), shownOf(version))
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
        for (const record of recordsOf(version)) {
          const among = Buffer.concat([lead, record, rest])
          assert.deepEqual(shownIn(stretch(among, lead.length, lead.length + record.length)), shownOf(version))
        }
        const [record] = recordsOf(version) as [Buffer]
        const among = stretch(Buffer.concat([lead, record, rest]), lead.length, lead.length + record.length)
        const key = stretch(Buffer.concat([lead, KEY, rest]), lead.length, lead.length + KEY.length)
        assert.ok(new ShownRecord().isSound(among, key))
      },
    ),
  )
})

test('a record that is cut short is no record for listings either', () => {
  fc.assert(
    fc.property(anyVersion, fc.nat(), (version, at) => {
      const [record, first] = recordsOf(version) as [Buffer, Buffer]
      assert.throws(() => shownIn(stretch(first, 0, at % first.length)), BadRecord)
      assert.throws(() => shownIn(stretch(Buffer.concat([first, Buffer.of(0)]))), BadRecord)
      const head = at % (lengthOfHead(record) - 1)
      assert.throws(() => shownIn(stretch(record, 0, head)), BadRecord)
      assert.equal(new ShownRecord().isSound(stretch(record, 0, head), stretch(KEY)), false)
      assert.throws(() => versionFormat.decode(record.subarray(0, at % record.length)), BadRecord)
      assert.throws(() => versionFormat.decode(Buffer.concat([record, Buffer.of(0)])), BadRecord)
    }),
  )
})

/** As docs/formats says it. */
function lengthOfHead(record: Buffer): number {
  const own = 8 + record.readUInt16BE(6)
  return own + 2 + record.readUInt16BE(own)
}

test('a record vouches for what is shown of it: for every bit of that and of its key, and for no other', () => {
  const [version] = fc.sample(anyVersion, { numRuns: 1, seed: 7 }) as [Version]
  const record = versionFormat.encode(version, KEY)
  const known = new ShownRecord()
  assert.ok(known.isSound(stretch(record), stretch(KEY)))
  const isSound = (bytes: Buffer, key: Buffer): boolean => {
    // Alike for one who has read it before and for one who has not.
    const [again, anew] = [known, new ShownRecord()].map(shown => shown.isSound(stretch(bytes), stretch(key)))
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

test('texts that many versions share are made once, long ones and all', () => {
  const version = fc.sample(anyVersion, { numRuns: 1, seed: 7 })[0]!
  const shown = new ShownRecord()
  for (const owner of ['o', 'ö'.repeat(60), 'o'.repeat(64), 'o'.repeat(5000)]) {
    const records = ['a', 'b', 'a'].map(etag => versionFormat.encode({ ...version, owner, etag }, KEY))
    const alike = records.map(record => {
      assert.ok(shown.isSound(stretch(record), stretch(KEY)))
      assert.equal(shown.version().owner, owner)
      return shown.alike
    })
    if (owner.length < 100) assert.equal(alike[0], alike[2])
  }
})
