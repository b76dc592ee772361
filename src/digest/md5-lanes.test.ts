import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Md5, type Md5Lanes, md5Lanes } from './md5-lanes.ts'
import { AREA_BYTES, type Md5Exports, md5Module } from './md5-module.ts'
import { PAGE_BYTES, wasm } from './wasm.ts'

const PAGES = 17
const DATA = PAGE_BYTES
const DATA_BYTES = (PAGES - 1) * PAGE_BYTES

function machine(area: number): { readonly lanes: Md5Lanes; readonly memory: Uint8Array } {
  const shared = new wasm!.Memory({ initial: PAGES, maximum: PAGES, shared: true })
  const memory = new Uint8Array(shared.buffer)
  const bytes = memory.subarray(DATA)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.imul(at + 1, 0x9e3779b1) >>> 24
  const { exports } = new wasm!.Instance(new wasm!.Module(md5Module(PAGES, area)), { outside: { memory: shared } })
  return { lanes: md5Lanes(exports as Md5Exports, memory, area), memory }
}

const { lanes, memory } = machine(0)
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

test('RFC 1321: the digests it gives as examples', () => {
  const examples = {
    '': 'd41d8cd98f00b204e9800998ecf8427e',
    a: '0cc175b9c0f1b6a831c399e269772661',
    abc: '900150983cd24fb0d6963f7d28e17f72',
    'message digest': 'f96b697d7cb7938d525a2f31aaf161d0',
    abcdefghijklmnopqrstuvwxyz: 'c3fcd3d76192e4007dfb496cca67e13b',
  }
  const own = machine(0)
  for (const [text, expected] of Object.entries(examples)) {
    own.memory.set(Buffer.from(text), DATA)
    const md5 = own.lanes.start()
    own.lanes.update([{ md5, at: DATA, bytes: text.length }])
    assert.equal(hex(own.lanes.digest(md5)), expected)
  }
})

test('every length up to three chunks, in every company', () => {
  for (let length = 0; length <= 192; length++) {
    for (let company = 1; company <= 4; company++) {
      const given = Array.from({ length: company }, (_, n) => ({
        md5: lanes.start(),
        at: DATA + 1000 * n + n,
        bytes: Math.max(0, length - 7 * n),
      }))
      const expected = given.map(({ at, bytes }) =>
        hex(
          createHash('md5')
            .update(memory.slice(at, at + bytes))
            .digest(),
        ),
      )
      lanes.update(given)
      assert.deepEqual(
        given.map(({ md5 }) => hex(lanes.digest(md5))),
        expected,
      )
    }
  }
})

/** What one digest gets in one round, and whether that was the last of it. */
const turn = fc.record({
  at: fc.nat(DATA_BYTES / 2),
  bytes: fc.oneof(fc.nat(200), fc.constantFrom(0, 55, 56, 63, 64, 65, 128, 4096, 262_144), fc.nat(DATA_BYTES / 2)),
  isLast: fc.boolean(),
})

test('as node:crypto says, however bytes are cut and whoever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(fc.array(turn, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), rounds => {
      const places: { md5: Md5; hash: ReturnType<typeof createHash> }[] = []
      const begin = (): (typeof places)[number] => ({ md5: lanes.start(), hash: createHash('md5') })
      for (const turns of rounds) {
        const given = turns.map(({ at, bytes }, place) => {
          places[place] ??= begin()
          places[place].hash.update(memory.slice(DATA + at, DATA + at + bytes))
          return { md5: places[place].md5, at: DATA + at, bytes }
        })
        lanes.update(given)
        turns.forEach(({ isLast }, place) => {
          if (!isLast) return
          const { md5, hash } = places[place]!
          assert.equal(hex(lanes.digest(md5)), hash.digest('hex'))
          places[place] = begin()
        })
      }
      for (const { md5, hash } of places) assert.equal(hex(lanes.digest(md5)), hash.digest('hex'))
    }),
    { numRuns: 150 },
  )
})

test('more bits than 32 bits can count', () => {
  const hash = createHash('md5')
  const md5 = lanes.start()
  const bytes = memory.subarray(DATA)
  for (let done = 0; done <= 2 ** 29; done += bytes.length) {
    hash.update(bytes)
    lanes.update([{ md5, at: DATA, bytes: bytes.length }])
  }
  assert.equal(hex(lanes.digest(md5)), hash.digest('hex'))
})

test('nothing outside the area is written', () => {
  const area = DATA + 4096
  const own = machine(area)
  const before = own.memory.slice()
  const given = [0, 1, 2, 3].map(n => ({ md5: own.lanes.start(), at: 2 * DATA + 999 * n, bytes: 1000 + 64 * n }))
  own.lanes.update(given)
  for (const { md5 } of given) own.lanes.digest(md5)
  const changed = own.memory.findIndex((byte, at) => byte !== before[at] && (at < area || at >= area + AREA_BYTES))
  assert.equal(changed, -1)
})
