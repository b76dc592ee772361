/**
 * Writes the XML that clients get: elements and text, escaped so that every key comes back as it went in. Text is put
 * together in pieces of some KiB before it becomes bytes: the runtimes join strings faster than we could bytes, but
 * only as long as they are short.
 */

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
const BEYOND_ASCII = /[^\0-\x7f]/

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

const escaped = (text: string): string => text.replace(REFERRED_TO, reference)

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OUTSIDE_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u

/** Whether every XML 1.0 parser takes this text. A listing with a key that is not so had better use URL encoding. */
export function isXmlText(text: string): boolean {
  return !OUTSIDE_XML.test(text)
}

/** Text that is XML already. */
export class Markup {
  readonly text: string
  /** Then its characters are its bytes. */
  readonly isAscii: boolean

  constructor(text: string, isAscii: boolean) {
    this.text = text
    this.isAscii = isAscii
  }
}

/**
 * XML as it stands, with values in it that are escaped; undefined is nothing. For what is written a thousand times
 * over: that takes half as long as element by element.
 */
export function markup(literal: TemplateStringsArray, ...values: readonly (XmlValue | Markup | undefined)[]): Markup {
  let text = literal[0]!
  let isAscii = true
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'string') {
      if (!SPECIAL.test(value)) {
        text += value
      } else {
        const written = escaped(value)
        isAscii &&= !BEYOND_ASCII.test(written)
        text += written
      }
    } else if (value instanceof Markup) {
      text += value.text
      isAscii &&= value.isAscii
    } else if (value !== undefined) {
      text += value
    }
    text += literal[i + 1]
  }
  return new Markup(text, isAscii)
}

let spare: Buffer | undefined

export class XmlWriter {
  /** What has been written and is not among the bytes yet. */
  #text: string
  #isAscii = true
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
    for (const [attribute, value] of Object.entries(attributes)) this.add(markup` ${attribute}="${value}"`)
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
    this.#text += `<${name}>`
    this.add(markup`${value}`)
    this.#text += `</${name}>`
    return this
  }

  /** Text inside the element that is open. */
  text(value: string): this {
    return this.add(markup`${value}`)
  }

  add({ text, isAscii }: Markup): this {
    this.#text += text
    this.#isAscii &&= isAscii
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
    const bytes = this.#roomFor(this.#text.length * (this.#isAscii ? 1 : UNIT_BYTES_MAX))
    this.#at += bytes.write(this.#text, this.#at, this.#isAscii ? 'latin1' : 'utf8')
    this.#text = ''
    this.#isAscii = true
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
