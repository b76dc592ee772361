/**
 * The rows of objects in a listing, as bytes copied from their records: building strings of keys and entity tags takes
 * most of the time of a page. Keys that need escaping go through `objectRow`.
 */
import { type ByteSpan, EMPTY, textOf } from '../../lib/bytes.ts'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { ShownRecord } from '../../model/shown-version.ts'
import { TIMESTAMP_BYTES_MAX, writeTimestamp } from '../../rules/http-date.ts'
import { checksumKind, type OwnerRow, objectRow, stored } from './listing-rows.ts'
import { speller } from './listings.ts'

/** Fits most pages. A larger buffer is allocated when needed, and not kept. */
const SPARE_BYTES = 512 * 1024
/** The longest UTF-8 encoding of one UTF-16 unit. */
const UNIT_BYTES_MAX = 3
const DIGITS_MAX = 16

const BEFORE_KEY = Buffer.from('<Contents><Key>')
const BEFORE_DATE = Buffer.from('</Key><LastModified>')
const BEFORE_ETAG = Buffer.from('</LastModified><ETag>&quot;')
const FIXED_BYTES = BEFORE_KEY.length + BEFORE_DATE.length + BEFORE_ETAG.length + TIMESTAMP_BYTES_MAX + DIGITS_MAX

/** Marks the bytes that need no escaping in this form of listing. */
const tableOf = (plain: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (byte < 0x80 && plain.test(String.fromCharCode(byte)) ? 1 : 0))
const IN_XML = tableOf(/[ !#-%'-;=?-~]/)
const IN_URL = tableOf(/[A-Za-z0-9_.~/-]/)

/** Pieces that many rows share. */
interface Pieces {
  readonly afterEtag: Buffer
  readonly afterSize: Buffer
}

class Row {
  readonly #bytes: Buffer
  readonly #from: number
  readonly #to: number
  readonly end: number

  constructor(bytes: Buffer, from: number, to: number, end: number) {
    this.#bytes = bytes
    this.#from = from
    this.#to = to
    this.end = end
  }

  get key(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to)
  }
}

export type ObjectRow = Pick<Row, 'key' | 'end'>

let spare: Buffer | undefined

export class ObjectRows {
  #bytes: Buffer
  #at = 0
  readonly #form: 'url' | undefined
  readonly #plain: Uint8Array
  readonly #owner: OwnerRow
  readonly #pieces = new Map<ShownRecord['common'], Pieces>()

  constructor(form: 'url' | undefined, owner: OwnerRow) {
    this.#form = form
    this.#plain = form === 'url' ? IN_URL : IN_XML
    this.#owner = owner
    this.#bytes = spare ?? Buffer.allocUnsafeSlow(SPARE_BYTES)
    spare = undefined
  }

  /** Appends a row; its key can be read as long as this object is in use. */
  readonly add = (name: ByteSpan, shown: ShownRecord): ObjectRow => {
    const { afterEtag, afterSize } = this.#piecesOf(shown)
    const { etagStart, etagEnd } = shown
    const texts = name.end - name.start + etagEnd - etagStart
    this.#makeRoom(FIXED_BYTES + afterEtag.length + afterSize.length + texts)
    const start = this.#at
    const bytes = this.#bytes
    this.#put(BEFORE_KEY)
    const from = this.#at
    if (!this.#copyPlain(this.#plain, name.bytes, name.start, name.end)) return this.#addText(start, name, shown)
    const to = this.#at
    this.#put(BEFORE_DATE)
    this.#at = writeTimestamp(shown.modifiedAt, bytes, this.#at)
    this.#put(BEFORE_ETAG)
    if (!this.#copyPlain(IN_XML, shown.bytes, etagStart, etagEnd)) return this.#addText(start, name, shown)
    this.#put(afterEtag)
    this.#putCount(shown.size)
    this.#put(afterSize)
    return new Row(bytes, from, to, this.#at)
  }

  /** Writes the rows up to this one and releases the buffer for reuse. */
  writeTo(to: XmlWriter, last: ObjectRow | undefined): void {
    to.addBytes(this.#bytes.subarray(0, last?.end ?? 0))
    if (this.#bytes.length === SPARE_BYTES) spare = this.#bytes
    this.#bytes = EMPTY
  }

  #addText(start: number, name: ByteSpan, shown: ShownRecord): ObjectRow {
    const key = textOf(name)
    const row: string = objectRow(speller(this.#form)(key), shown.version(), this.#owner)
    this.#at = start
    this.#makeRoom(row.length * UNIT_BYTES_MAX)
    this.#at += this.#bytes.write(row, start, 'utf8')
    return { key, end: this.#at }
  }

  #piecesOf({ common: alike }: ShownRecord): Pieces {
    const known = this.#pieces.get(alike)
    if (known !== undefined) return known
    const { checksum, storageClass, owner } = alike
    const pieces = {
      afterEtag: Buffer.from(`&quot;</ETag>${checksumKind(checksum)}<Size>`),
      afterSize: Buffer.from(`${stored(storageClass)}${this.#owner(owner)}</Contents>`),
    }
    this.#pieces.set(alike, pieces)
    return pieces
  }

  #put(piece: Buffer): void {
    this.#bytes.set(piece, this.#at)
    this.#at += piece.length
  }

  #putCount(value: number): void {
    const digits = String(value)
    for (let i = 0; i < digits.length; i++) this.#bytes[this.#at++] = digits.charCodeAt(i)
  }

  /** Returns false at the first byte that needs escaping. */
  #copyPlain(plain: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    const to = this.#bytes
    let at = this.#at
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!
      if (plain[byte] === 0) return false
      to[at++] = byte
    }
    this.#at = at
    return true
  }

  #makeRoom(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + count))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}
