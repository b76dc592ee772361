import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import { decodeTarget } from './wire-form.ts'

const isInvalidUri = (error: unknown): boolean => error instanceof Fault && error.code === 'InvalidURI'

/** A byte as sent, plain or escaped in either case. Bytes that end or escape a target are always escaped. */
const sentByte = fc.record({
  byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0x41, 0xc3, 0xa9, 0xed, 0xa0, 0x80, 0x25)),
  form: fc.constantFrom('plain', 'upper', 'lower'),
})

function sent(byte: number, form: string): string {
  const hex = byte.toString(16).padStart(2, '0')
  if (form === 'plain' && byte > 0x20 && byte !== 0x25 && byte !== 0x7f) return String.fromCharCode(byte)
  return `%${form === 'upper' ? hex.toUpperCase() : hex}`
}

test('R3: a target decodes to the UTF-8 text that was sent, escaped or not', () => {
  fc.assert(
    fc.property(fc.array(sentByte, { maxLength: 24 }), pieces => {
      const bytes = Buffer.from(pieces.map(({ byte }) => byte))
      const text = pieces.map(({ byte, form }) => sent(byte, form)).join('')
      if (isUtf8(bytes) && !bytes.includes(0)) assert.equal(decodeTarget(text), bytes.toString('utf8'))
      else assert.throws(() => decodeTarget(text), isInvalidUri)
    }),
  )
})

test('R3: a percent sign that starts no escape is refused', () => {
  for (const text of ['%', 'a%2', '%zz', '%2g', 'é%', 'a%%20']) {
    assert.throws(() => decodeTarget(Buffer.from(text).toString('latin1')), isInvalidUri, text)
  }
})
