/**
 * Binary records: small combinators that write a value to bytes and read it back. Every stored record opens with a
 * two-character marker, so that a reader knows the shape it meets and can lift an older one to today's.
 */

import { Writer } from './record-writer.ts'

export type { Writer } from './record-writer.ts'

/** What takes more bytes is less likely to come twice. */
const LAST_BYTES_MAX = 256

/** The bytes do not have the shape they should have: a damaged or foreign record. */
export class BadRecord extends Error {
  constructor(what: string) {
    super(`stored record: ${what}`)
    this.name = 'BadRecord'
  }
}

/** What a field was in the record before, and as which bytes. */
class Last<T> {
  readonly #bytes = new Uint8Array(LAST_BYTES_MAX)
  /** Nothing is remembered while it is 0. */
  length = 0
  value: T | undefined

  isAt(bytes: Uint8Array, at: number): boolean {
    const own = this.#bytes
    for (let i = 0; i < this.length; i++) if (own[i] !== bytes[at + i]) return false
    return true
  }

  take(bytes: Uint8Array, start: number, end: number, value: T): void {
    this.length = end - start <= LAST_BYTES_MAX ? end - start : 0
    this.value = value
    for (let i = 0; i < this.length; i++) this.#bytes[i] = bytes[start + i]!
  }
}

export class Reader {
  readonly #buffer: Buffer
  readonly #end: number
  #at: number

  /** Of all of a buffer, or of a stretch of it. */
  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.#buffer = buffer
    this.#at = start
    this.#end = end
  }

  #take(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#end) throw new BadRecord('ends too early')
    this.#at = at + bytes
    return at
  }

  /** Where in the buffer it stands. */
  get at(): number {
    return this.#at
  }

  byte(): number {
    return this.#buffer[this.#take(1)]!
  }

  uint(): number {
    const first = this.byte()
    if (first < 0x80) return first
    let value = first & 0x7f
    let unit = 0x80
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * unit
      if (byte < 0x80) break
      unit *= 0x80
      if (unit > 2 ** 49) throw new BadRecord('a count is too large')
    }
    return value
  }

  raw(length: number): Buffer {
    const at = this.#take(length)
    return this.#buffer.subarray(at, at + length)
  }

  pass(length: number): void {
    this.#take(length)
  }

  text(): string {
    const length = this.uint()
    const at = this.#take(length)
    return this.#buffer.toString('utf8', at, at + length)
  }

  /** What a block holds, read to its end. */
  block<T>(read: Read<T>): T {
    const at = this.#take(2)
    const end = this.#at + this.#buffer[at]! * 256 + this.#buffer[at + 1]!
    const value = read(this)
    if (this.#at !== end) throw new BadRecord('has a block of another length')
    return value
  }

  /** The value that was read last, if the same bytes come again; they tell where they end, so nothing can follow. */
  again<T>(last: Last<T>, read: Read<T>): T {
    const start = this.#at
    if (last.length > 0 && last.isAt(this.#buffer, start)) {
      this.#take(last.length)
      return last.value as T
    }
    const value = read(this)
    last.take(this.#buffer, start, this.#at, value)
    return value
  }

  end(): void {
    if (this.#at !== this.#end) throw new BadRecord('has bytes left over')
  }
}

export interface Codec<T> {
  write(to: Writer, value: T): void
  read(from: Reader): T
  /** Passes over a value without making anything of it. */
  skip(from: Reader): void
}

export const uint: Codec<number> = { write: (w, v) => w.uint(v), read: r => r.uint(), skip: r => void r.uint() }
export const text: Codec<string> = { write: (w, v) => w.text(v), read: r => r.text(), skip: r => r.pass(r.uint()) }
export const flag: Codec<boolean> = {
  write: (w, v) => w.byte(v ? 1 : 0),
  read: r => r.byte() === 1,
  skip: r => r.pass(1),
}

/** Bytes that know their length. */
export const bytes: Codec<Buffer> = {
  write(w, v) {
    w.uint(v.length)
    w.raw(v)
  },
  read: r => r.raw(r.uint()),
  skip: r => r.pass(r.uint()),
}

/** Bytes whose length both sides know. */
export function fixed(length: number): Codec<Buffer> {
  return {
    write(w, v) {
      if (v.length !== length) throw new Error(`expected ${length} bytes, not ${v.length}`)
      w.raw(v)
    },
    read: r => r.raw(length),
    skip: r => r.pass(length),
  }
}

/** Reads what `optional` wrote. */
export function perhaps<T>(read: Read<T>): Read<T | undefined> {
  return r => (r.byte() === 0 ? undefined : read(r))
}

export function optional<T>(inner: Codec<T>): Codec<T | undefined> {
  return {
    write(w, v) {
      w.byte(v === undefined ? 0 : 1)
      if (v !== undefined) inner.write(w, v)
    },
    read: perhaps(inner.read),
    skip(r) {
      if (r.byte() !== 0) inner.skip(r)
    },
  }
}

/** A field that an older shape did not have. */
export const absent: Codec<undefined> = { write: () => {}, read: () => undefined, skip: () => {} }

/** Makes a value of the bytes that come next. */
export type Read<T> = (from: Reader) => T

/**
 * For what one record after the other has in common, as the owner in a listing: made once, while the same bytes come.
 * So all who get it share it, and nobody may change it.
 */
export function repeated<T>(read: Read<T>): Read<T> {
  const last = new Last<T>()
  return r => r.again(last, read)
}

export function list<T>(inner: Codec<T>): Codec<readonly T[]> {
  return {
    write(w, v) {
      w.uint(v.length)
      for (const item of v) inner.write(w, item)
    },
    read(r) {
      const length = r.uint()
      const out: T[] = []
      for (let i = 0; i < length; i++) out.push(inner.read(r))
      return out
    },
    skip(r) {
      const length = r.uint()
      for (let i = 0; i < length; i++) inner.skip(r)
    },
  }
}

export function pair<A, B>(first: Codec<A>, second: Codec<B>): Codec<readonly [A, B]> {
  return {
    write(w, [a, b]) {
      first.write(w, a)
      second.write(w, b)
    },
    read: r => [first.read(r), second.read(r)],
    skip(r) {
      first.skip(r)
      second.skip(r)
    },
  }
}

/** One of a fixed list of words, stored as its place in the list: new words go to the end. */
export function word<const W extends readonly string[]>(...words: W): Codec<W[number]> {
  return {
    write(w, v) {
      w.byte(words.indexOf(v))
    },
    read(r) {
      const found = words[r.byte()]
      if (found === undefined) throw new BadRecord('holds an unknown word')
      return found
    },
    skip: r => r.pass(1),
  }
}

type Fields<T> = { readonly [K in keyof T]-?: Codec<T[K]> }

/**
 * Compiled from the names, once for each struct. In a loop over them every object would change its shape with every
 * name, and all structs would share one place at which codecs are called: that takes a third more time.
 */
function readerOf<T>(names: readonly string[], codecs: readonly Codec<unknown>[]): Codec<T>['read'] {
  const fields = names.map((name, i) => `${JSON.stringify(name)}: codecs[${i}].read(r)`)
  return new Function('codecs', `return r => ({ ${fields.join(', ')} })`)(codecs) as Codec<T>['read']
}

export function struct<T extends object>(fields: Fields<T>): Codec<T> {
  const names = Object.keys(fields) as (keyof T & string)[]
  const codecs = names.map(name => fields[name] as Codec<unknown>)
  return {
    write(w, v) {
      for (let i = 0; i < names.length; i++) codecs[i]!.write(w, v[names[i]!])
    },
    read: readerOf(names, codecs),
    skip(r) {
      for (const codec of codecs) codec.skip(r)
    },
  }
}

/** Values that differ by their `kind`. The order of the cases is part of the format. */
export function variants<T extends { readonly kind: string }>(
  cases: {
    readonly [K in T['kind']]: Codec<Omit<Extract<T, { kind: K }>, 'kind'>>
  },
): Codec<T> {
  const kinds = Object.keys(cases) as T['kind'][]
  const readKind = (r: Reader): T['kind'] => {
    const kind = kinds[r.byte()]
    if (kind === undefined) throw new BadRecord('has an unknown kind')
    return kind
  }
  return {
    write(w, v) {
      w.byte(kinds.indexOf(v.kind))
      ;(cases[v.kind as T['kind']] as Codec<unknown>).write(w, v)
    },
    read(r) {
      const kind = readKind(r)
      // Just made, and nobody else's: told what it is in place.
      const value = cases[kind].read(r) as { kind?: T['kind'] }
      value.kind = kind
      return value as unknown as T
    },
    skip: r => cases[readKind(r)].skip(r),
  }
}

export interface Decodes<T> {
  /** Of all of a buffer, or of a stretch of it. */
  decode(bytes: Buffer, start?: number, end?: number): T
}

export interface RecordFormat<T> extends Decodes<T> {
  encode(value: T): Buffer
}

/** Encoding never waits and never nests, so one writer serves all. */
const writer = new Writer()

export function encoded<T>(marker: Buffer, write: (to: Writer, value: T) => void, value: T): Buffer {
  writer.begin()
  writer.raw(marker)
  write(writer, value)
  return writer.done()
}

/** Reads records that have this marker. */
export function decoder<T>(marker: string, read: Read<T>, older?: Decodes<T>): Decodes<T>['decode'] {
  const [first, second] = Buffer.from(marker, 'latin1')
  return (bytes, start = 0, end = bytes.length) => {
    if (end - start < 2 || bytes[start] !== first || bytes[start + 1] !== second) {
      const record = bytes.subarray(start, end)
      if (older !== undefined) return older.decode(record)
      throw new BadRecord(`expected format ${marker}, found ${JSON.stringify(record.toString('latin1', 0, 2))}`)
    }
    const r = new Reader(bytes, start + 2, end)
    const value = read(r)
    r.end()
    return value
  }
}

/** A stored shape with its two-character marker; a later one names its predecessor and how to lift it. */
export function format<T>(marker: string, codec: Codec<T>, older?: RecordFormat<T>): RecordFormat<T> {
  const mark = Buffer.from(marker, 'latin1')
  if (mark.length !== 2) throw new Error('a format marker has two characters')
  return {
    encode: value => encoded(mark, codec.write, value),
    decode: decoder(marker, r => codec.read(r), older),
  }
}
