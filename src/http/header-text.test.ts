import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canBeHeader, headerText, headerWire, trimmed } from './raw-request.ts'

const wire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

test('R14: UTF-8 header values are decoded', () => {
  for (const text of ['plain', 'é', 'Ünïcode-文', '😀', '\u0080']) {
    assert.equal(headerText(wire(text)), text)
    assert.equal(headerWire(text), wire(text))
  }
})

test('R14 A58: every byte of a header value is returned as it was sent', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 8 }).map(all => Buffer.from(all).toString('latin1')),
    fc.constantFrom('\ufffd', '\uf780', 'a\uf7ff', 'é\uf7e9').map(wire),
  )
  fc.assert(fc.property(bytes, sent => assert.equal(headerWire(headerText(sent)), sent)))
})

test('R14: joined values are returned in order', () => {
  assert.equal(headerWire([headerText('caf\xe9'), headerText(wire('文'))].join()), `caf\xe9,${wire('文')}`)
})

test('R14: only spaces and tabs are trimmed: other white-space bytes may belong to a character', () => {
  for (const text of ['voilà', 'НАБОР', '\u00a0', 'a  b', '']) assert.equal(trimmed(` \t${wire(text)}\t `), wire(text))
})

test('G3: invalid header names and values are rejected', () => {
  for (const name of ['x-amz-meta-a', 'x-a_b.c~', 'x-amz-meta-']) assert.equal(canBeHeader(name, 'ü\t'), true, name)
  for (const name of ['', 'a b', 'a:b', 'a\r\nb', 'ü', 'a"', '\u212a']) assert.equal(canBeHeader(name, ''), false, name)
  for (const value of ['\n', 'a\rb', '\0', '\x7f']) assert.equal(canBeHeader('a', value), false)
})
