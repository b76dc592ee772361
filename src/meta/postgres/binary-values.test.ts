import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boolArray, byteaArray, int4Array, int8, int8Array, rawInt8Array } from './binary-values.ts'
import { runMessages } from './bind-message.ts'

const hex = (bytes: Buffer): string => bytes.toString('hex').replace(/.{8}(?=.)/g, '$& ')

test('arrays have the binary form of the server', () => {
  assert.equal(hex(byteaArray([])), '00000000 00000000 00000011')
  assert.equal(
    hex(byteaArray([Buffer.from('abcd'), Buffer.alloc(0)])),
    '00000001 00000000 00000011 00000002 00000001 00000004 61626364 00000000',
  )
  assert.equal(
    hex(byteaArray([undefined, Buffer.from('abcd')])),
    '00000001 00000001 00000011 00000002 00000001 ffffffff 00000004 61626364',
  )
  assert.equal(
    hex(int8Array([2 ** 32 + 2, undefined])),
    '00000001 00000001 00000014 00000002 00000001 00000008 00000001 00000002 ffffffff',
  )
  assert.equal(hex(int8Array([])), '00000000 00000000 00000014')
  assert.equal(hex(rawInt8Array([int8(1)])), '00000001 00000000 00000014 00000001 00000001 00000008 00000000 00000001')
  assert.equal(hex(int4Array([5])), '00000001 00000000 00000017 00000001 00000001 00000004 00000005')
  assert.equal(hex(boolArray([true, false])), '00000001 00000000 00000010 00000002 00000001 00000001 01000000 0100')
})

test('a statement is bound, executed and synced in one buffer', () => {
  const messages = runMessages('näme', [Buffer.from('value'), undefined])
  const length = messages.readInt32BE(1)
  assert.equal(messages.toString('latin1', 0, 1), 'B')
  const body = Buffer.concat([
    Buffer.from('\0näme\0\0\x01\0\x01\0\x02\0\0\0\x05value'),
    Buffer.from([255, 255, 255, 255]),
    Buffer.from('\0\x01\0\x01'),
  ])
  assert.deepEqual(messages.subarray(5, 1 + length), body)
  assert.equal(messages.toString('latin1', 1 + length), 'E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04')
})
