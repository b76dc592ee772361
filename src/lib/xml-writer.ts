/**
 * Writes the XML that clients get: elements and text, escaped so that every key comes back as it went in. Writes bytes,
 * not strings: a page of a listing is ten thousand small pieces, and joining strings and encoding them afterwards costs
 * more than putting each byte where it belongs.
 */

export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** What an operation answers: a root, and a function that fills it. Which namespace it stands in, the edge says. */
export interface XmlDocument {
  readonly root: string
  write(to: XmlWriter): void
}

export type XmlValue = string | number | boolean

/** Room for a page of a listing; more is made when needed, and only this much is kept from one answer to the next. */
const SPARE_BYTES = 256 * 1024
/** `&#xFFFE;` is the longest that one UTF-16 unit becomes. */
const UNIT_BYTES_MAX = 8
const REPLACEMENT = 0xfffd

/** 1 for the ASCII characters that stand for themselves. */
const PLAIN = new Uint8Array(128)
for (let code = 0x20; code < 0x80; code++) PLAIN[code] = '&<>"'.includes(String.fromCharCode(code)) ? 0 : 1

interface Tag {
  readonly start: Uint8Array
  readonly end: Uint8Array
}

/** Names come from our own code, so there are few. */
const tags = new Map<string, Tag>()

function tagOf(name: string): Tag {
  let tag = tags.get(name)
  if (tag === undefined) {
    tag = { start: Buffer.from(`<${name}>`), end: Buffer.from(`</${name}>`) }
    tags.set(name, tag)
  }
  return tag
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OUTSIDE_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u

/** Whether every XML 1.0 parser takes this text. A listing with a key that is not so had better use URL encoding. */
export function isXmlText(text: string): boolean {
  return !OUTSIDE_XML.test(text)
}

let spare: Uint8Array | undefined

export class XmlWriter {
  #bytes: Uint8Array
  #at = 0
  readonly #open: string[] = []

  /** `lead` goes out as it is, before the root. */
  constructor(lead = '') {
    this.#bytes = spare ?? new Uint8Array(SPARE_BYTES)
    spare = undefined
    this.#copy(Buffer.from(lead))
  }

  /** Starts an element; attributes by name. */
  open(name: string, attributes?: Readonly<Record<string, string>>): this {
    this.#open.push(name)
    if (attributes === undefined) {
      this.#copy(tagOf(name).start)
      return this
    }
    this.#copy(Buffer.from(`<${name}`))
    for (const [attribute, value] of Object.entries(attributes)) {
      this.#copy(Buffer.from(` ${attribute}="`))
      this.#text(value)
      this.#copy(Buffer.from('"'))
    }
    this.#copy(Buffer.from('>'))
    return this
  }

  close(): this {
    const name = this.#open.pop()
    if (name === undefined) throw new Error('no element is open')
    this.#copy(tagOf(name).end)
    return this
  }

  /** An element with text; nothing at all for undefined. */
  leaf(name: string, value: XmlValue | undefined): this {
    if (value === undefined) return this
    const tag = tagOf(name)
    this.#copy(tag.start)
    this.#text(typeof value === 'string' ? value : String(value))
    this.#copy(tag.end)
    return this
  }

  /** Text inside the element that is open. */
  text(value: string): this {
    this.#text(value)
    return this
  }

  /** The bytes written; the writer is of no use afterwards. */
  end(): Buffer {
    if (this.#open.length > 0) throw new Error(`${this.#open.at(-1)} is still open`)
    const written = Buffer.from(this.#bytes.subarray(0, this.#at))
    if (this.#bytes.length === SPARE_BYTES) spare = this.#bytes
    this.#bytes = new Uint8Array(0)
    this.#at = 0
    return written
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + count))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }

  #copy(piece: Uint8Array): void {
    this.#reserve(piece.length)
    const bytes = this.#bytes
    const at = this.#at
    // Pieces are a dozen bytes: a loop costs less than a call of set.
    for (let i = 0; i < piece.length; i++) bytes[at + i] = piece[i]!
    this.#at = at + piece.length
  }

  /** Text of an element or an attribute, escaped, in UTF-8. */
  #text(text: string): void {
    this.#reserve(text.length * UNIT_BYTES_MAX)
    const bytes = this.#bytes
    let at = this.#at
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) {
        if (PLAIN[unit] === 1) bytes[at++] = unit
        else at = writeReference(bytes, at, unit)
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6)
        bytes[at++] = 0x80 | (unit & 0x3f)
      } else if (unit < 0xd800 || (unit >= 0xe000 && unit < 0xfffe)) {
        at = threeBytes(bytes, at, unit)
      } else if (unit >= 0xfffe) {
        at = writeReference(bytes, at, unit)
      } else {
        const point = text.codePointAt(i)!
        if (point > 0xffff) i++
        at = point > 0xffff ? fourBytes(bytes, at, point) : threeBytes(bytes, at, REPLACEMENT)
      }
    }
    this.#at = at
  }
}

function threeBytes(bytes: Uint8Array, at: number, point: number): number {
  bytes[at] = 0xe0 | (point >> 12)
  bytes[at + 1] = 0x80 | ((point >> 6) & 0x3f)
  bytes[at + 2] = 0x80 | (point & 0x3f)
  return at + 3
}

function fourBytes(bytes: Uint8Array, at: number, point: number): number {
  bytes[at] = 0xf0 | (point >> 18)
  bytes[at + 1] = 0x80 | ((point >> 12) & 0x3f)
  bytes[at + 2] = 0x80 | ((point >> 6) & 0x3f)
  bytes[at + 3] = 0x80 | (point & 0x3f)
  return at + 4
}

/**
 * Line ends and other control characters go as references, so that no parser normalises them; those that XML 1.0 cannot
 * name go so too, as S3 sends them. Zero has no name at all: no key has it, but an error may quote what a client sent.
 */
function reference(unit: number): string {
  switch (unit) {
    case 0x26:
      return '&amp;'
    case 0x3c:
      return '&lt;'
    case 0x3e:
      return '&gt;'
    case 0x22:
      return '&quot;'
  }
  return `&#x${unit.toString(16).toUpperCase()};`
}

function writeReference(bytes: Uint8Array, at: number, unit: number): number {
  if (unit === 0) return threeBytes(bytes, at, REPLACEMENT)
  const written = reference(unit)
  for (let i = 0; i < written.length; i++) bytes[at + i] = written.charCodeAt(i)
  return at + written.length
}

/** The document without its declaration: for an answer whose beginning is on its way already. */
export function renderRoot(document: XmlDocument, namespace?: string): Buffer {
  return render(new XmlWriter(), document, namespace)
}

export function renderXml(document: XmlDocument, namespace?: string): Buffer {
  return render(new XmlWriter(XML_DECLARATION), document, namespace)
}

function render(writer: XmlWriter, document: XmlDocument, namespace: string | undefined): Buffer {
  writer.open(document.root, namespace === undefined ? undefined : { xmlns: namespace })
  document.write(writer)
  return writer.close().end()
}
