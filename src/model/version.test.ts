import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadRecord } from '../lib/codec.ts'
import { shownVersion, type Version, versionFormat } from './version.ts'

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

const shownOf = ({ seq, id, modifiedAt, owner, marker, size, etag, checksum, attributes }: Version) => ({
  ...{ seq, id, modifiedAt, owner, marker, size, etag, checksum },
  storageClass: attributes.storageClass,
})

test('what listings show of a version is what its record says', () => {
  fc.assert(
    fc.property(anyVersion, version => {
      const record = versionFormat.encode(version)
      assert.deepEqual(shownOf(shownVersion.decode(record) as Version), shownOf(versionFormat.decode(record)))
    }),
  )
})

test('a record that is cut short is no record for listings either', () => {
  fc.assert(
    fc.property(anyVersion, version => {
      const record = versionFormat.encode(version)
      assert.throws(() => shownVersion.decode(record.subarray(0, -1)), BadRecord)
    }),
  )
})
