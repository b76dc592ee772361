/**
 * Writes the XML that clients get: elements and text, escaped so that every key comes back as it went in. Text is put
 * together in pieces of some KiB before it becomes bytes: the runtimes join strings faster than we could bytes, but
 * only as long as they are short.
 */

/** R1. Every document of a response begins with it. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** What an operation answers: a root, and a function that fills it. Which namespace it stands in, the edge says. */
export interface XmlDocument {
  readonly root: string
  write(to: XmlWriter): void
}

export type XmlValue = string | number | boolean

/** So many characters become bytes together. */
const PIECE_CHARACTERS = 8 * 1024
/** Room for a page of a listing; more is made when needed, and only this much is kept from one answer to the next. */
const SPARE_BYTES = 512 * 1024
/** What one UTF-16 unit takes at most in UTF-8. */
const UNIT_BYTES_MAX = 3

/** What does not stand for itself in one byte. */
const SPECIAL = /[^ !#-%'-;=?-~]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const REFERRED_TO = /[\0-\x1f&<>"\ufffe\uffff]|\p{Surrogate}/gu

const REPLACEMENT = '\ufffd'
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/**
 * Line ends and other control characters go as references, so that no parser normalises them; those that XML 1.0 cannot
 * name go so too, as S3 sends them. Zero and half a character have no name at all: no key has them, but an error may
 * quote what a client sent.
 */
function reference(character: string): string {
  const unit = character.charCodeAt(0)
  if (unit === 0 || (unit >= 0xd800 && unit < 0xe000)) return REPLACEMENT
  return NAMED[character] ?? `&#x${unit.toString(16).toUpperCase()};`
}

/** A text as it stands in an element or an attribute. */
export const xmlText = (text: string): string => (SPECIAL.test(text) ? text.replace(REFERRED_TO, reference) : text)

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OUTSIDE_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u

/** Whether every XML 1.0 parser takes this text. A listing with a key that is not so had better use URL encoding. */
export function isXmlText(text: string): boolean {
  return !OUTSIDE_XML.test(text)
}

declare const isMarkup: unique symbol

/** Text that is XML already. */
export type Markup = string & { readonly [isMarkup]: true }

/** For whoever has passed everything that came from outside through `xmlText`. */
export const asMarkup = (xml: string): Markup => xml as Markup

let spare: Buffer | undefined

export class XmlWriter {
  /** What has been written and is not among the bytes yet. */
  #text: string
  /** None until there is more than one piece. */
  #bytes: Buffer | undefined
  #at = 0
  readonly #open: string[] = []

  /** `lead` goes out as it is, before the root. */
  constructor(lead = '') {
    this.#text = lead
  }

  /** Starts an element; attributes by name. */
  open(name: string, attributes?: Readonly<Record<string, string>>): this {
    this.#open.push(name)
    if (attributes === undefined) {
      this.#text += `<${name}>`
      return this
    }
    this.#text += `<${name}`
    for (const [attribute, value] of Object.entries(attributes)) this.#text += ` ${attribute}="${xmlText(value)}"`
    this.#text += '>'
    return this
  }

  close(): this {
    const name = this.#open.pop()
    if (name === undefined) throw new Error('no element is open')
    this.#text += `</${name}>`
    return this
  }

  /** An element with text; nothing at all for undefined. */
  leaf(name: string, value: XmlValue | undefined): this {
    if (value === undefined) return this
    return this.#add(`<${name}>${typeof value === 'string' ? xmlText(value) : value}</${name}>`)
  }

  /** Text inside the element that is open. */
  text(value: string): this {
    return this.#add(xmlText(value))
  }

  /** What is written a thousand times over takes half as long in one piece as element by element. */
  add(markup: Markup): this {
    return this.#add(markup)
  }

  /** Markup that is bytes already. */
  addBytes(markup: Buffer): this {
    if (markup.length < PIECE_CHARACTERS) return this.#add(markup.toString())
    this.#flush()
    const bytes = this.#roomFor(markup.length)
    bytes.set(markup, this.#at)
    this.#at += markup.length
    return this
  }

  #add(xml: string): this {
    this.#text += xml
    if (this.#text.length >= PIECE_CHARACTERS) this.#flush()
    return this
  }

  /** The bytes written; the writer is of no use afterwards. */
  end(): Buffer {
    if (this.#open.length > 0) throw new Error(`${this.#open.at(-1)} is still open`)
    if (this.#bytes === undefined) return Buffer.from(this.#text)
    this.#flush()
    const written = Buffer.from(this.#bytes.subarray(0, this.#at))
    if (this.#bytes.length === SPARE_BYTES) spare = this.#bytes
    this.#bytes = undefined
    return written
  }

  #flush(): void {
    const bytes = this.#roomFor(this.#text.length * UNIT_BYTES_MAX)
    this.#at += bytes.write(this.#text, this.#at, 'utf8')
    this.#text = ''
  }

  #roomFor(count: number): Buffer {
    if (this.#bytes === undefined) {
      this.#bytes = spare ?? Buffer.allocUnsafeSlow(SPARE_BYTES)
      spare = undefined
    }
    if (this.#at + count > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + count))
      this.#bytes.copy(larger, 0, 0, this.#at)
      this.#bytes = larger
    }
    return this.#bytes
  }
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
