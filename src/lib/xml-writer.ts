/**
 * Writes the XML of responses: elements and text, escaped so that every key round-trips. Text is collected in pieces of
 * some KiB before it is encoded: runtimes concatenate short strings faster than we could concatenate bytes.
 */

/** R1. Every XML response begins with it. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** The body of a response: a root, and a function that writes its content. The edge chooses the namespace. */
export interface XmlDocument {
  readonly root: string
  write(to: XmlWriter): void
}

type XmlValue = string | number | boolean

/** Characters encoded at a time. */
const PIECE_CHARACTERS = 8 * 1024
/** Room for a page of a listing; a larger buffer is allocated when needed and not kept. */
const SPARE_BYTES = 512 * 1024
/** The maximum UTF-8 length of one UTF-16 unit. */
const UNIT_BYTES_MAX = 3

/** Characters that are not written as one plain byte. */
const SPECIAL = /[^ !#-%'-;=?-~]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const ESCAPED = /[\0-\x1f&<>"\ufffe\uffff]|\p{Surrogate}/gu

const REPLACEMENT = '\ufffd'
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/**
 * Line ends and other control characters are written as references, so that no parser normalizes them, including those
 * that XML 1.0 excludes, as S3 does. Zero and lone surrogates cannot be referenced: no key contains them, but an error
 * may quote client input.
 */
function reference(character: string): string {
  const unit = character.charCodeAt(0)
  if (unit === 0 || (unit >= 0xd800 && unit < 0xe000)) return REPLACEMENT
  return NAMED[character] ?? `&#x${unit.toString(16).toUpperCase()};`
}

/** A text as written in an element or an attribute. */
export const xmlText = (text: string): string => (SPECIAL.test(text) ? text.replace(ESCAPED, reference) : text)

declare const isMarkup: unique symbol

/** Text that is already XML. */
export type Markup = string & { readonly [isMarkup]: true }

/** The caller must have escaped all external input with `xmlText`. */
export const asMarkup = (xml: string): Markup => xml as Markup

let spare: Buffer | undefined

export class XmlWriter {
  /** Text that is not encoded yet. */
  #text: string
  /** Undefined until there is more than one piece. */
  #bytes: Buffer | undefined
  #at = 0
  readonly #open: string[] = []

  /** `lead` is written as is before the root. */
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

  /** An element with text; nothing for undefined. */
  leaf(name: string, value: XmlValue | undefined): this {
    if (value === undefined) return this
    return this.#add(`<${name}>${typeof value === 'string' ? xmlText(value) : value}</${name}>`)
  }

  /** Text inside the open element. */
  text(value: string): this {
    return this.#add(xmlText(value))
  }

  /** Precomposed markup: half the time of separate elements, for items that repeat a thousand times. */
  add(markup: Markup): this {
    return this.#add(markup)
  }

  /** Encoded markup. */
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

  /** The encoded document; the writer must not be used afterwards. */
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

/** The document without its declaration, for a response that has already begun. */
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
