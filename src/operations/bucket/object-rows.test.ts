import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { XmlWriter } from '../../lib/xml-writer.ts'
import { ShownRecord } from '../../model/shown-version.ts'
import { NO_ATTRIBUTES, NO_CONTENT, UNLOCKED, type Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import type { OperationContext } from '../context.ts'
import { noOwnerRows, objectRow, ownerRows } from './listing-rows.ts'
import { speller } from './listings.ts'
import { type ObjectRow, ObjectRows } from './object-rows.ts'

const accounts = { byCanonicalId: (id: string) => ({ displayName: `name of ${id} <&>` }) }
const context = { accounts, bucket: { owner: 'owner', ownership: undefined } } as unknown as OperationContext

/** Mostly plain text, mixed with markup, control characters and characters that URLs encode. */
const anyText = fc.string({
  unit: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...'abcXYZ019-_.~/') },
    fc.constantFrom(...' +%!\'()*&<>"=:;?#$,@[]\n\r\t\x01\x7fé日😀\ufffe'),
  ),
  maxLength: 40,
})

const someOwner = fc.constantFrom('a'.repeat(64), 'b'.repeat(64), 'c"<&', 'd', 'e', 'f')
const someSum = fc.constantFrom(
  undefined,
  { algorithm: 'CRC64NVME', type: 'FULL_OBJECT' as const, value: 'x' },
  { algorithm: 'S<', type: 'COMPOSITE' as const, value: 'y' },
)

const anyObject = fc.record({
  key: anyText.filter(text => text !== ''),
  etag: fc.oneof(fc.stringMatching(/^[0-9a-f]{32}(-[0-9]+)?$/), anyText),
  size: fc.oneof(fc.nat(), fc.maxSafeNat()),
  modifiedAt: fc.nat(4e12),
  owner: someOwner,
  checksum: someSum,
  storageClass: fc.constantFrom(undefined, 'COLD', '<COLD>'),
})

type AnyObject = typeof anyObject extends fc.Arbitrary<infer T> ? T : never

const versionOf = ({ storageClass, key: _, ...object }: AnyObject): Version => ({
  ...{ seq: 1, id: 'null', marker: false, parts: 0, encryption: undefined, lock: UNLOCKED, nullSeq: undefined },
  ...{ content: NO_CONTENT, attributes: { ...NO_ATTRIBUTES, storageClass } },
  ...object,
})

test('A80: rows written as bytes equal rows written as text, whatever they contain', () => {
  fc.assert(
    fc.property(
      fc.array(anyObject, { maxLength: 30 }),
      fc.constantFrom('url' as const, undefined),
      fc.boolean(),
      fc.nat(),
      (objects, form, withOwners, upTo) => {
        const rows = new ObjectRows(form, withOwners ? ownerRows(context) : noOwnerRows)
        const shown = new ShownRecord()
        const written = objects.map(object => {
          const key = Buffer.from(object.key)
          const record = versionFormat.encode(versionOf(object), key)
          shown.read({ bytes: record, start: 0, end: record.length })
          // The key among other bytes, as in a record key.
          const bytes = Buffer.concat([Buffer.from('ob\0'), key, Buffer.from('\0<')])
          return rows.add({ bytes, start: 3, end: 3 + key.length }, shown)
        })
        assert.deepEqual(
          written.map(({ key }) => key),
          objects.map(({ key }) => key),
        )
        const count = objects.length === 0 ? 0 : upTo % (objects.length + 1)
        const to = new XmlWriter()
        rows.writeTo(to, written[count - 1])
        const owner = withOwners ? ownerRows(context) : noOwnerRows
        const expected = objects.slice(0, count).map(object => {
          const { checksum, ...version } = versionOf(object)
          const storageClass = object.storageClass
          return objectRow(speller(form)(object.key), { ...version, checksum, storageClass }, owner)
        })
        assert.equal(to.end().toString(), expected.join(''))
      },
    ),
  )
})

test('a page of the longest keys fits the buffer, and nothing of it leaks into the next page', () => {
  for (const unit of ['k', 'é', '<']) {
    const rows = new ObjectRows(undefined, noOwnerRows)
    const shown = new ShownRecord()
    const object = { size: 1, modifiedAt: 1, owner: 'o', checksum: undefined, storageClass: undefined, etag: 'e' }
    const key = Buffer.from(unit.repeat(1024 / Buffer.byteLength(unit)))
    const record = versionFormat.encode(versionOf({ ...object, key: '' }), key)
    let last: ObjectRow | undefined
    for (let n = 0; n < 1000; n++) {
      shown.read({ bytes: record, start: 0, end: record.length })
      last = rows.add({ bytes: key, start: 0, end: key.length }, shown)
      assert.equal(last.key, key.toString())
    }
    const to = new XmlWriter()
    rows.writeTo(to, last)
    const one = objectRow(key.toString(), shown.version(), noOwnerRows)
    assert.equal(to.end().toString(), one.repeat(1000))
  }
})
