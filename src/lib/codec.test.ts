import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  BadRecord,
  bytes,
  fixed,
  flag,
  format,
  list,
  optional,
  pair,
  struct,
  text,
  uint,
  variants,
  word,
} from './codec.ts'

type Shape = { readonly kind: 'dot' } | { readonly kind: 'line'; readonly length: number }

const sample = format(
  'S1',
  struct<{
    readonly count: number
    readonly name: string
    readonly on: boolean
    readonly raw: Buffer
    readonly id: Buffer
    readonly maybe: string | undefined
    readonly pairs: readonly (readonly [string, number])[]
    readonly word: 'a' | 'b'
    readonly shape: Shape
  }>({
    count: uint,
    name: text,
    on: flag,
    raw: bytes,
    id: fixed(4),
    maybe: optional(text),
    pairs: list(pair(text, uint)),
    word: word('a', 'b'),
    shape: variants<Shape>({ dot: struct<object>({}), line: struct<{ readonly length: number }>({ length: uint }) }),
  }),
)

const buffer = (length: fc.Arbitrary<number>) =>
  length.chain(n => fc.uint8Array({ minLength: n, maxLength: n }).map(a => Buffer.from(a)))

const anySample = fc.record(
  {
    count: fc.maxSafeNat(),
    name: fc.string({ unit: 'binary' }),
    on: fc.boolean(),
    raw: buffer(fc.nat(600)),
    id: buffer(fc.constant(4)),
    maybe: fc.option(fc.string(), { nil: undefined }),
    pairs: fc.array(fc.tuple(fc.string(), fc.nat())),
    word: fc.constantFrom('a' as const, 'b' as const),
    shape: fc.oneof(
      fc.constant<Shape>({ kind: 'dot' }),
      fc.nat().map<Shape>(length => ({ kind: 'line', length })),
    ),
  },
  { noNullPrototype: true },
)

test('a record round-trips', () => {
  fc.assert(fc.property(anySample, value => assert.deepEqual(sample.decode(sample.encode(value)), value)))
})

test('a truncated record and one with trailing bytes are rejected', () => {
  fc.assert(
    fc.property(anySample, fc.nat(), (value, at) => {
      const whole = sample.encode(value)
      assert.throws(() => sample.decode(whole.subarray(0, at % whole.length)), BadRecord)
      assert.throws(() => sample.decode(Buffer.concat([whole, Buffer.of(0)])), BadRecord)
    }),
  )
})

test('a record of another format is rejected, an older one is converted', () => {
  const old = format('O1', text)
  const now = format('O2', struct<{ readonly name: string; readonly size: number }>({ name: text, size: uint }), {
    encode: value => old.encode(value.name),
    decode: record => ({ name: old.decode(record), size: 0 }),
  })
  assert.deepEqual(now.decode(old.encode('x')), { name: 'x', size: 0 })
  assert.deepEqual(now.decode(now.encode({ name: 'x', size: 3 })), { name: 'x', size: 3 })
  assert.throws(() => now.decode(Buffer.from('Z9')), BadRecord)
})

test('invalid counts are rejected before anything is written', () => {
  for (const value of [-1, 1.5, Number.NaN, 2 ** 53]) assert.throws(() => format('N1', uint).encode(value))
})
