import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EntryView, HEAD_BYTES, scanMapHeads, viewOf } from './meta.ts'

const entry = (text: string, bytes: number): EntryView =>
  viewOf({ key: Buffer.from('key'), value: Buffer.alloc(bytes, text), stamp: 1 })
const startsWith = (letter: string) => (view: { readonly value: { readonly bytes: Buffer } }) =>
  String.fromCharCode(view.value.bytes[0]!) === letter
const project = (entries: readonly EntryView[]) =>
  scanMapHeads(entries, ({ value }, index, isVerified) => [index, value.end, isVerified], startsWith('v'))

test('heads that verify are projected, and so is a value that is too short to have been cut', () => {
  assert.deepEqual(project([]), [])
  assert.deepEqual(project([entry('v', HEAD_BYTES), entry('x', HEAD_BYTES - 1), entry('v', 3)]), [
    [0, HEAD_BYTES, true],
    [1, HEAD_BYTES - 1, false],
    [2, 3, false],
  ])
})

test('a head that does not verify asks for whole values', () => {
  assert.equal(project([entry('v', HEAD_BYTES), entry('x', HEAD_BYTES)]), undefined)
})
