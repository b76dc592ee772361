/**
 * Reads the XML that clients send: small documents of elements and text. Other features of XML are rejected, since only
 * attackers use them here: no document types, no custom entities, no processing instructions. One pass, no recursion,
 * and a limit on everything that can repeat.
 */
import { BadXml, type XmlNode } from './xml.ts'

export const XML_LIMITS = {
  depthMax: 32,
  /** Elements, attributes, comments and CDATA sections together; 10,000 parts of five elements fit. */
  nodesMax: 60_000,
  /** A grantee needs two; serializers repeat namespaces. */
  attributesPerElementMax: 32,
  /** Enough for one on each of 10,000 parts. */
  attributesMax: 12_000,
  nameCharactersMax: 256,
  /** `&quot;` twice around each of 10,000 tags fits, and long keys written as references. */
  referencesMax: 100_000,
} as const

const NAME_START =
  ':A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F' +
  '\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}'
const NAME = new RegExp(`[${NAME_START}][-.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040${NAME_START}]*`, 'uy')
const SPACE = /[ \t\n]*/y
const EQUALS = '[ \\t\\n]*=[ \\t\\n]*'
const DECLARATION = new RegExp(
  `<\\?xml[ \\t\\n]+version${EQUALS}["']1\\.\\d["']` +
    `(?:[ \\t\\n]+encoding${EQUALS}["']([A-Za-z0-9._-]+)["'])?` +
    `(?:[ \\t\\n]+standalone${EQUALS}["'](?:yes|no)["'])?[ \\t\\n]*\\?>`,
  'y',
)
const ENCODINGS = ['utf-8', 'utf8', 'us-ascii']
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/
const LONE_SURROGATE = /\p{Surrogate}/u
const NOT_SPACE = /[^ \t\n]/
const REFERENCE_CHARACTERS_MAX = 12

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map()
const NO_CHILDREN: XmlNode[] = []
Object.freeze(NO_CHILDREN)

/** The root of the document. Throws BadXml unless the input is a well-formed, harmless document in UTF-8. */
export function parseXml(input: Uint8Array | string, nodesMax: number = XML_LIMITS.nodesMax): XmlNode {
  return new Reader(decode(input), nodesMax).document()
}

function decode(input: Uint8Array | string): string {
  let text: string
  if (typeof input === 'string') {
    if (LONE_SURROGATE.test(input)) throw new BadXml('not Unicode')
    text = input.startsWith('\ufeff') ? input.slice(1) : input
  } else {
    try {
      // Removes a byte order mark. UTF-16 is either invalid UTF-8 or contains zeros.
      text = new TextDecoder('utf-8', { fatal: true }).decode(input)
    } catch {
      throw new BadXml('not UTF-8')
    }
  }
  if (FORBIDDEN.test(text)) throw new BadXml('a character that XML does not have')
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

interface OpenElement extends XmlNode {
  /** Including its prefix: an end tag must repeat it exactly. */
  readonly tagName: string
  children: XmlNode[]
  text: string
}

class Reader {
  readonly #source: string
  readonly #nodesMax: number
  #at = 0
  #nodes = 0
  #attributeCount = 0

  constructor(source: string, nodesMax: number) {
    this.#source = source
    this.#nodesMax = nodesMax
  }

  document(): XmlNode {
    // Counting costs a hundredth of building a tree that is then rejected. A node has at most two tags.
    if (occursMoreOften(this.#source, '&', XML_LIMITS.referencesMax)) throw this.#bad('too many references')
    if (occursMoreOften(this.#source, '<', 2 * this.#nodesMax)) throw this.#bad('too many nodes')
    this.#declaration()
    const source = this.#source
    const open: OpenElement[] = []
    let parent: OpenElement | undefined
    let root: XmlNode | undefined
    while (this.#at < source.length) {
      if (source.charCodeAt(this.#at) !== 0x3c) {
        this.#characters(parent)
        continue
      }
      const next = source.charCodeAt(this.#at + 1)
      if (next === 0x2f) {
        this.#endTag(parent)
        open.pop()
        parent = open[open.length - 1]
      } else if (next === 0x21) {
        this.#commentOrData(parent)
      } else {
        if (parent === undefined && root !== undefined) throw this.#bad('a second root')
        const element = this.#startTag()
        root ??= element
        if (parent !== undefined) append(parent, element)
        if (this.#emptyElement()) continue
        if (open.push(element) > XML_LIMITS.depthMax) throw this.#bad('too deep')
        parent = element
      }
    }
    if (root === undefined || parent !== undefined) throw this.#bad('the document ends too early')
    return root
  }

  #declaration(): void {
    if (!this.#source.startsWith('<?xml')) return
    DECLARATION.lastIndex = 0
    const match = DECLARATION.exec(this.#source)
    if (match === null) throw this.#bad('not an XML declaration')
    const encoding = match[1]?.toLowerCase()
    if (encoding !== undefined && !ENCODINGS.includes(encoding)) throw this.#bad('an encoding other than UTF-8')
    this.#at = DECLARATION.lastIndex
  }

  /** Character data up to the next tag. */
  #characters(parent: OpenElement | undefined): void {
    const next = this.#source.indexOf('<', this.#at)
    const end = next < 0 ? this.#source.length : next
    const raw = this.#source.slice(this.#at, end)
    if (parent === undefined) {
      if (NOT_SPACE.test(raw)) throw this.#bad('text outside the root')
    } else {
      if (raw.includes(']]>')) throw this.#bad(']]> in text')
      parent.text += this.#expand(raw)
    }
    this.#at = end
  }

  /** After `<!`: a comment, or inside an element a CDATA section. Document types are rejected. */
  #commentOrData(parent: OpenElement | undefined): void {
    this.#count()
    const source = this.#source
    if (source.startsWith('<!--', this.#at)) {
      const end = source.indexOf('--', this.#at + 4)
      if (end < 0 || source.charCodeAt(end + 2) !== 0x3e) throw this.#bad('a comment that does not end')
      this.#at = end + 3
      return
    }
    if (parent === undefined || !source.startsWith('<![CDATA[', this.#at)) throw this.#bad('markup that is not allowed')
    const end = source.indexOf(']]>', this.#at + 9)
    if (end < 0) throw this.#bad('a CDATA section that does not end')
    parent.text += source.slice(this.#at + 9, end)
    this.#at = end + 3
  }

  #endTag(parent: OpenElement | undefined): void {
    if (parent === undefined || !this.#source.startsWith(parent.tagName, this.#at + 2))
      throw this.#bad('a stray end tag')
    this.#at += 2 + parent.tagName.length
    this.#space()
    this.#expect('>')
  }

  /** `<name attributes`; the caller reads the end of the tag. */
  #startTag(): OpenElement {
    this.#count()
    this.#at++
    const tagName = this.#name()
    const colon = tagName.indexOf(':')
    const name = tagName.slice(colon + 1)
    if (name === '' || colon === 0 || name.includes(':')) throw this.#bad('a name with an odd colon')
    return { name, tagName, attributes: this.#attributes(), children: NO_CHILDREN, text: '' }
  }

  #attributes(): ReadonlyMap<string, string> {
    let attributes: Map<string, string> | undefined
    for (;;) {
      const separated = this.#space()
      const next = this.#source.charCodeAt(this.#at)
      if (next === 0x3e || next === 0x2f || Number.isNaN(next)) return attributes ?? NO_ATTRIBUTES
      if (!separated) throw this.#bad('an attribute without a space before it')
      this.#count()
      const isTooMany = ++this.#attributeCount > XML_LIMITS.attributesMax
      if (isTooMany || attributes?.size === XML_LIMITS.attributesPerElementMax) {
        throw this.#bad('too many attributes')
      }
      const name = this.#name()
      this.#space()
      this.#expect('=')
      this.#space()
      attributes ??= new Map()
      if (attributes.has(name)) throw this.#bad('an attribute twice')
      attributes.set(name, this.#attributeValue())
    }
  }

  #attributeValue(): string {
    const quote = this.#source[this.#at]
    if (quote !== '"' && quote !== "'") throw this.#bad('an attribute without quotes')
    const end = this.#source.indexOf(quote, this.#at + 1)
    if (end < 0) throw this.#bad('an attribute that does not end')
    const raw = this.#source.slice(this.#at + 1, end)
    if (raw.includes('<')) throw this.#bad('< in an attribute')
    this.#at = end + 1
    return this.#expand(raw.replace(/[\t\n]/g, ' '))
  }

  /** Reads the end of a start tag; true for `/>`. */
  #emptyElement(): boolean {
    const empty = this.#source.charCodeAt(this.#at) === 0x2f
    if (empty) this.#at++
    this.#expect('>')
    return empty
  }

  /** Resolves references: numeric ones and the five predefined by XML. */
  #expand(raw: string): string {
    let ampersand = raw.indexOf('&')
    if (ampersand < 0) return raw
    let out = ''
    let from = 0
    while (ampersand >= 0) {
      const end = endOfReference(raw, ampersand)
      const character = end < 0 ? undefined : referenced(raw.slice(ampersand + 1, end))
      if (character === undefined) throw this.#bad('a reference to nothing')
      out += raw.slice(from, ampersand) + character
      from = end + 1
      ampersand = raw.indexOf('&', from)
    }
    return out + raw.slice(from)
  }

  #name(): string {
    NAME.lastIndex = this.#at
    if (!NAME.test(this.#source)) throw this.#bad('no name')
    if (NAME.lastIndex - this.#at > XML_LIMITS.nameCharactersMax) throw this.#bad('a name that is too long')
    const name = this.#source.slice(this.#at, NAME.lastIndex)
    this.#at = NAME.lastIndex
    return name
  }

  #space(): boolean {
    const first = this.#source.charCodeAt(this.#at)
    if (first !== 0x20 && first !== 0x0a && first !== 0x09) return false
    SPACE.lastIndex = this.#at
    SPACE.test(this.#source)
    this.#at = SPACE.lastIndex
    return true
  }

  #expect(character: string): void {
    if (this.#source[this.#at] !== character) throw this.#bad(`no ${character}`)
    this.#at++
  }

  #count(): void {
    if (++this.#nodes > this.#nodesMax) throw this.#bad('too many nodes')
  }

  #bad(reason: string): BadXml {
    return new BadXml(`${reason}, at character ${this.#at}`)
  }
}

/** Stops as soon as the result is known. */
function occursMoreOften(text: string, character: string, max: number): boolean {
  let count = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    if (++count > max) return true
  }
  return false
}

/** Position of the semicolon; -1 when none is near enough. */
function endOfReference(text: string, ampersand: number): number {
  const last = Math.min(ampersand + REFERENCE_CHARACTERS_MAX, text.length)
  for (let at = ampersand + 1; at < last; at++) if (text.charCodeAt(at) === 0x3b) return at
  return -1
}

function append(parent: OpenElement, element: XmlNode): void {
  if (parent.children === NO_CHILDREN) parent.children = [element]
  else parent.children.push(element)
}

/**
 * The character a reference stands for. A number may denote any character but zero, including those XML 1.0 excludes:
 * keys contain them, our listings write them so, and a client must be able to name every listed key.
 */
function referenced(reference: string): string | undefined {
  switch (reference) {
    case 'amp':
      return '&'
    case 'lt':
      return '<'
    case 'gt':
      return '>'
    case 'quot':
      return '"'
    case 'apos':
      return "'"
  }
  const number = /^#(?:x([0-9A-Fa-f]+)|([0-9]+))$/.exec(reference)
  if (number === null) return undefined
  const code = number[1] === undefined ? Number.parseInt(number[2]!, 10) : Number.parseInt(number[1], 16)
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined
  return String.fromCodePoint(code)
}
