import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, list, optional, struct, text, uint } from '../lib/codec.ts'
import { sliceCodec } from './content.ts'
import { type Part, partFormat } from './upload.ts'

const part: Part = {
  number: 7,
  size: 11,
  etag: 'aa',
  checksum: 'DUoRhQ==',
  algorithm: 'CRC32',
  modifiedAt: 2,
  begunAt: 1,
  slices: [],
}

test('a part round-trips', () => assert.deepEqual(partFormat.decode(partFormat.encode(part)), part))

test('a part record without a checksum algorithm is read', () => {
  const before = format<Omit<Part, 'algorithm'>>(
    'T1',
    struct<Omit<Part, 'algorithm'>>({
      number: uint,
      size: uint,
      etag: text,
      checksum: optional(text),
      modifiedAt: uint,
      begunAt: uint,
      slices: list(sliceCodec),
    }),
  )
  assert.deepEqual(partFormat.decode(before.encode(part)), { ...part, algorithm: undefined })
})
