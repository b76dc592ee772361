import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { divertRows } from './divert-rows.ts'
import type { PgConnection } from './execution.ts'
import { RowReader } from './row-reader.ts'

function message(type: string, ...parts: readonly (Buffer | string | number)[]): Buffer {
  const body = Buffer.concat(parts.map(part => (typeof part === 'number' ? int32(part) : Buffer.from(part))))
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function int32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeInt32BE(value)
  return out
}

function int16(value: number): Buffer {
  const out = Buffer.alloc(2)
  out.writeInt16BE(value)
  return out
}

const field = (value: Buffer | null): Buffer =>
  value === null ? int32(-1) : Buffer.concat([int32(value.length), value])
const dataRow = (fields: readonly (Buffer | null)[]): Buffer => message('D', int16(fields.length), ...fields.map(field))

const text = fc.string({ maxLength: 20 }).map(value => value.replaceAll('\0', ''))
const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const cstring = text.map(value => `${value}\0`)
const bytes = (maxLength: number): fc.Arbitrary<Buffer> => fc.uint8Array({ maxLength }).map(value => Buffer.from(value))

const report = (type: string): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.tuple(fc.constantFrom(...'SCMDHPpqWstcdnFLR'), cstring), { maxLength: 6 })
    .map(fields => message(type, ...fields.flat(), '\0'))

const rowDescription = fc
  .array(fc.tuple(cstring, int, int, fc.constantFrom(0, 1)), { maxLength: 4 })
  .map(columns =>
    message(
      'T',
      int16(columns.length),
      ...columns.flatMap(([name, table, type, format]) => [
        Buffer.from(name),
        int32(table),
        int16(1),
        int32(type),
        int16(8),
        int32(-1),
        int16(format),
      ]),
    ),
  )

/** Every type of message that a server sends. */
const anyMessage: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 12, arbitrary: fc.array(fc.option(bytes(40)), { maxLength: 5 }).map(dataRow) },
  { weight: 3, arbitrary: fc.array(bytes(3_000), { maxLength: 3 }).map(dataRow) },
  fc.constantFrom(...'123nscIW').map(type => message(type)),
  cstring.map(tag => message('C', tag)),
  fc.constantFrom(...'ITE').map(status => message('Z', status)),
  fc.tuple(int, cstring, cstring).map(parts => message('A', ...parts)),
  fc.constantFrom(message('R', 0), message('R', 3), message('R', 5, 'salt'), message('R', 10, 'SCRAM-SHA-256\0\0')),
  fc.tuple(fc.constantFrom(11, 12), text).map(parts => message('R', ...parts)),
  fc.tuple(cstring, cstring).map(parts => message('S', ...parts)),
  fc.tuple(int, int).map(parts => message('K', ...parts)),
  report('E'),
  report('N'),
  rowDescription,
  fc.array(int, { maxLength: 4 }).map(types => message('t', int16(types.length), ...types)),
  fc.constantFrom('G', 'H').map(type => message(type, '\x01', int16(2), int16(1), int16(0))),
  bytes(200).map(data => message('d', data)),
  fc.tuple(int, int).map(parts => message('v', ...parts)),
)

type Seen = Readonly<Record<string, unknown>>

const seenOf = (received: object): Seen => ({
  ...received,
  text: received instanceof Error ? received.message : undefined,
})

/** The messages that a connection of `pg` emits, and the rows that were taken from it, in their order. */
function messagesIn(chunks: readonly Buffer[], diverts: 'nothing' | 'no row' | 'rows'): readonly Seen[] {
  const stream = new EventEmitter()
  const connection = new pg.Connection({ stream: (() => stream) as never }) as unknown as PgConnection
  const seen: Seen[] = []
  const events = connection as unknown as EventEmitter
  events.on('message', received => seen.push(seenOf(received)))
  events.on('error', error => seen.push({ failure: error.message }))
  if (diverts !== 'nothing') {
    const target = divertRows(connection)
    const row = (taken: Buffer, start: number, end: number): void => void seen.push(rowIn(taken, start, end))
    if (diverts === 'rows') target.execution = { row }
  }
  connection.attachListeners(stream)
  for (const chunk of chunks) stream.emit('data', chunk)
  return seen
}

/** As `pg` describes the row. */
function rowIn(taken: Buffer, start: number, end: number): Seen {
  const fieldCount = taken.readInt16BE(start)
  const row = new RowReader().begin(taken, start, end)
  const fields = Array.from({ length: fieldCount }, () => (row.skipNull() ? null : row.text()))
  return { length: end - start + 4, fields, name: 'dataRow', fieldCount, text: undefined }
}

function splitAt(whole: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const ends = [...cuts.map(cut => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b)
  // Copies, since a socket's chunks share no memory either.
  return ends.map((end, index) => Buffer.from(whole.subarray(index === 0 ? 0 : ends[index - 1]!, end)))
}

test('messages and rows are those that pg reads, wherever the stream is cut', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 12 }), (messages, cuts) => {
      const whole = Buffer.concat(messages)
      const expected = messagesIn([whole], 'nothing')
      assert.equal(expected.length, messages.length)
      assert.deepEqual(messagesIn(splitAt(whole, cuts), 'rows'), expected)
      assert.deepEqual(messagesIn(splitAt(whole, cuts), 'no row'), expected)
    }),
  )
})

const ONE_OF_MOST = Buffer.concat([
  message('1'),
  message('2'),
  dataRow([Buffer.from('key'), null, Buffer.alloc(0)]),
  message('N', 'SNOTICE\0C00000\0Mnotice\0\0'),
  dataRow([]),
  dataRow([Buffer.from('another')]),
  message('E', 'SERROR\0C57014\0Mcancelled\0\0'),
  message('S', 'TimeZone\0UTC\0'),
  message('C', 'SELECT 3\0'),
  message('Z', 'I'),
])

test('a cut at any byte, and chunks of every length, change nothing', () => {
  const expected = messagesIn([ONE_OF_MOST], 'nothing')
  for (let at = 0; at <= ONE_OF_MOST.length; at++)
    assert.deepEqual(messagesIn(splitAt(ONE_OF_MOST, [at]), 'rows'), expected, `cut at ${at}`)
  for (let length = 1; length <= ONE_OF_MOST.length; length++) {
    const cuts = Array.from({ length: Math.floor(ONE_OF_MOST.length / length) }, (_, index) => (index + 1) * length)
    assert.deepEqual(messagesIn(splitAt(ONE_OF_MOST, cuts), 'rows'), expected, `chunks of ${length}`)
  }
})

test('a row longer than many chunks arrives whole, and so does what follows it', () => {
  const long = Buffer.alloc(300_000, 'long value ')
  const whole = Buffer.concat([message('2'), dataRow([long, Buffer.from('end')]), message('Z', 'I')])
  const cuts = Array.from({ length: 20 }, (_, index) => index * 16_384)
  const [bound, row, ready] = messagesIn(splitAt(whole, cuts), 'rows')
  assert.deepEqual([bound!.name, ready!.name], ['bindComplete', 'readyForQuery'])
  assert.deepEqual(row!.fields, [long.toString(), 'end'])
})

test('a malformed length is an error of the connection', () => {
  for (const length of [0, 3, 2 ** 30, 2 ** 31, 2 ** 32 - 1]) {
    const bad = Buffer.alloc(9, 'D')
    bad.writeUInt32BE(length, 1)
    for (const chunks of [[bad], splitAt(bad, [2])]) {
      const [first, ...others] = messagesIn([message('Z', 'I'), ...chunks], 'rows')
      assert.equal(first!.name, 'readyForQuery')
      assert.match(String(others[0]!.failure), /malformed/, `length ${length}`)
    }
  }
})
