import assert from 'node:assert/strict'
import { test } from 'node:test'
import { xmlText } from '../../lib/xml-writer.ts'
import type { ShownVersion } from '../../model/shown-version.ts'
import type { OperationContext } from '../context.ts'
import { noOwnerRows, objectRow, ownerRows, versionRow } from './listing-rows.ts'

/** No text may close a row's element, open another, or change its meaning. */
const evil = (name: string): string => `${name}</Key><&"'é`

const version: ShownVersion = {
  seq: 1,
  id: evil('id'),
  modifiedAt: Date.UTC(2026, 10, 15),
  owner: evil('owner'),
  marker: false,
  size: 4096,
  etag: evil('etag'),
  checksum: { algorithm: evil('algorithm'), type: 'FULL_OBJECT' },
  storageClass: evil('class'),
}

const named = (displayName: string | undefined): OperationContext => {
  const accounts = { byCanonicalId: () => (displayName === undefined ? undefined : { displayName }) }
  return { accounts, bucket: { owner: 'owner', ownership: undefined } } as unknown as OperationContext
}

const OBJECT =
  `<LastModified>2026-11-15T00:00:00.000Z</LastModified><ETag>&quot;${xmlText(evil('etag'))}&quot;</ETag>` +
  `<ChecksumAlgorithm>${xmlText(evil('algorithm'))}</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>` +
  `<Size>4096</Size><StorageClass>${xmlText(evil('class'))}</StorageClass>`
const OWNER = `<Owner><ID>${xmlText(evil('owner'))}</ID><DisplayName>${xmlText(evil('name'))}</DisplayName></Owner>`
const KEY = `<Key>${xmlText(evil('key'))}</Key>`

test('A80: no text of an object breaks out of its row', () => {
  assert.ok(!xmlText(evil('x')).includes('<'))
  const owner = ownerRows(named(evil('name')))
  assert.equal(objectRow(evil('key'), version, owner), `<Contents>${KEY}${OBJECT}${OWNER}</Contents>`)
  assert.equal(objectRow(evil('key'), version, noOwnerRows), `<Contents>${KEY}${OBJECT}</Contents>`)
  const name = `${KEY}<VersionId>${xmlText(evil('id'))}</VersionId><IsLatest>true</IsLatest>`
  const listed = { key: evil('key'), version, latest: true }
  assert.equal(versionRow(evil('key'), listed, owner), `<Version>${name}${OBJECT}${OWNER}</Version>`)
  const marker = { ...listed, version: { ...version, marker: true } }
  const changed = '<LastModified>2026-11-15T00:00:00.000Z</LastModified>'
  assert.equal(versionRow(evil('key'), marker, owner), `<DeleteMarker>${name}${changed}${OWNER}</DeleteMarker>`)
})

test('a row shows only attributes of its own object, none of the row before', () => {
  const owner = ownerRows(named(undefined))
  objectRow('a', version, owner)
  const bare = { ...version, checksum: undefined, storageClass: undefined, owner: 'o', etag: 'e', size: 0 }
  const text = objectRow('b', bare, owner)
  assert.match(text, /<ETag>&quot;e&quot;<\/ETag><Size>0<\/Size><StorageClass>STANDARD<\/StorageClass><Owner>/)
  assert.match(text, /<Owner><ID>o<\/ID><DisplayName><\/DisplayName><\/Owner><\/Contents>$/)
})
