/**
 * Binary records: combinators that encode a value to bytes and decode it. Every stored record begins with a
 * two-character marker, so that a decoder knows its format and can convert older ones.
 */

import { Writer } from './record-writer.ts'

export type { Writer } from './record-writer.ts'

/** Longer fields are unlikely to repeat. */
const LAST_BYTES_MAX = 256

/** The bytes do not have the expected format: a damaged or foreign record. */
export class BadRecord extends Error {
  constructor(what: string) {
    super(`stored record: ${what}`)
    this.name = 'BadRecord'
  }
}

/** The last value of a field and its encoded bytes. */
class LastValue<T> {
  readonly #bytes = new Uint8Array(LAST_BYTES_MAX)
  /** 0 while nothing is cached. */
  length = 0
  value: T | undefined

  matches(bytes: Uint8Array, at: number): boolean {
    const own = this.#bytes
    for (let i = 0; i < this.length; i++) if (own[i] !== bytes[at + i]) return false
    return true
  }

  set(bytes: Uint8Array, start: number, end: number, value: T): void {
    this.length = end - start <= LAST_BYTES_MAX ? end - start : 0
    this.value = value
    for (let i = 0; i < this.length; i++) this.#bytes[i] = bytes[start + i]!
  }
}

export class Reader {
  readonly #buffer: Buffer
  readonly #end: number
  #at: number

  /** Reads a whole buffer, or a range of it. */
  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.#buffer = buffer
    this.#at = start
    this.#end = end
  }

  #advance(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#end) throw new BadRecord('is truncated')
    this.#at = at + bytes
    return at
  }

  /** Current position in the buffer. */
  get at(): number {
    return this.#at
  }

  byte(): number {
    return this.#buffer[this.#advance(1)]!
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
    const at = this.#advance(length)
    return this.#buffer.subarray(at, at + length)
  }

  skip(length: number): void {
    this.#advance(length)
  }

  text(): string {
    const length = this.uint()
    const at = this.#advance(length)
    return this.#buffer.toString('utf8', at, at + length)
  }

  /** Reads the content of a block to its end. */
  block<T>(read: ReadValue<T>): T {
    const at = this.#advance(2)
    const end = this.#at + this.#buffer[at]! * 256 + this.#buffer[at + 1]!
    const value = read(this)
    if (this.#at !== end) throw new BadRecord('has a block of another length')
    return value
  }

  /**
   * The previous value, if the same bytes follow. An encoding contains its own length, so equal bytes are a complete
   * value.
   */
  memoized<T>(last: LastValue<T>, read: ReadValue<T>): T {
    const start = this.#at
    if (last.length > 0 && last.matches(this.#buffer, start)) {
      this.#advance(last.length)
      return last.value as T
    }
    const value = read(this)
    last.set(this.#buffer, start, this.#at, value)
    return value
  }

  end(): void {
    if (this.#at !== this.#end) throw new BadRecord('has bytes left over')
  }
}

export interface Codec<T> {
  write(to: Writer, value: T): void
  read(from: Reader): T
  /** Skips a value without decoding it. */
  skip(from: Reader): void
}

export const uint: Codec<number> = { write: (w, v) => w.uint(v), read: r => r.uint(), skip: r => void r.uint() }
export const text: Codec<string> = { write: (w, v) => w.text(v), read: r => r.text(), skip: r => r.skip(r.uint()) }
export const flag: Codec<boolean> = {
  write: (w, v) => w.byte(v ? 1 : 0),
  read: r => r.byte() === 1,
  skip: r => r.skip(1),
}

/** Length-prefixed bytes. */
export const bytes: Codec<Buffer> = {
  write(w, v) {
    w.uint(v.length)
    w.raw(v)
  },
  read: r => r.raw(r.uint()),
  skip: r => r.skip(r.uint()),
}

/** Bytes of a length known to both sides. */
export function fixed(length: number): Codec<Buffer> {
  return {
    write(w, v) {
      if (v.length !== length) throw new Error(`expected ${length} bytes, not ${v.length}`)
      w.raw(v)
    },
    read: r => r.raw(length),
    skip: r => r.skip(length),
  }
}

/** Reads a value written by `optional`. */
export function readOptional<T>(read: ReadValue<T>): ReadValue<T | undefined> {
  return r => (r.byte() === 0 ? undefined : read(r))
}

export function optional<T>(inner: Codec<T>): Codec<T | undefined> {
  return {
    write(w, v) {
      w.byte(v === undefined ? 0 : 1)
      if (v !== undefined) inner.write(w, v)
    },
    read: readOptional(inner.read),
    skip(r) {
      if (r.byte() !== 0) inner.skip(r)
    },
  }
}

/** A field that an older format lacks. */
export const absent: Codec<undefined> = { write: () => {}, read: () => undefined, skip: () => {} }

/** Decodes the next value. */
type ReadValue<T> = (from: Reader) => T

/**
 * For fields that consecutive records have in common, such as the owner in a listing: decoded once while the same bytes
 * repeat. The value is shared and must not be modified.
 */
export function memoizeRead<T>(read: ReadValue<T>): ReadValue<T> {
  const last = new LastValue<T>()
  return r => r.memoized(last, read)
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

/** One of a fixed list of words, stored as its index: new words are appended. */
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
    skip: r => r.skip(1),
  }
}

type Fields<T> = { readonly [K in keyof T]-?: Codec<T[K]> }

/**
 * Generated per struct. A loop over the names would change the object's shape with every field and share one
 * polymorphic call site between all structs, which takes a third more time.
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

/** Values distinguished by `kind`. The order of the cases is part of the format. */
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
      // The value was just created and is not shared, so it can be modified.
      const value = cases[kind].read(r) as { kind?: T['kind'] }
      value.kind = kind
      return value as unknown as T
    },
    skip: r => cases[readKind(r)].skip(r),
  }
}

export interface RecordDecoder<T> {
  /** Decodes a whole buffer, or a range of it. */
  decode(bytes: Buffer, start?: number, end?: number): T
}

export interface RecordFormat<T> extends RecordDecoder<T> {
  encode(value: T): Buffer
}

/** Encoding is synchronous and never nested, so one writer is enough. */
const writer = new Writer()

export function encodeRecord<T>(marker: Buffer, write: (to: Writer, value: T) => void, value: T): Buffer {
  writer.begin()
  writer.raw(marker)
  write(writer, value)
  return writer.finish()
}

/** Decodes records with this marker. */
export function decoderFor<T>(
  marker: string,
  read: ReadValue<T>,
  older?: RecordDecoder<T>,
): RecordDecoder<T>['decode'] {
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

/** A record format with its two-character marker; a newer one names its predecessor. */
export function format<T>(marker: string, codec: Codec<T>, older?: RecordFormat<T>): RecordFormat<T> {
  const mark = Buffer.from(marker, 'latin1')
  if (mark.length !== 2) throw new Error('a format marker has two characters')
  return {
    encode: value => encodeRecord(mark, codec.write, value),
    decode: decoderFor(marker, r => codec.read(r), older),
  }
}
