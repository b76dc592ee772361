/**
 * Documents of a bucket as plain trees of elements and texts. The browser's own parser builds a page with styles for a
 * malformed text, which the page's policy forbids, and it does not name the line.
 */
import { characterOf } from '../objects/xml-entities.ts'

export interface XmlElement {
  /** As written, with its prefix. */
  readonly name: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly children: readonly XmlElement[]
  /** Empty for an element that has children. */
  readonly text: string
}

export type XmlProblem = 'token' | 'unclosed' | 'end' | 'mixed' | 'entity' | 'root'

/** The text is not well-formed, or uses what the server does not accept anyway. */
export class BadXmlText extends Error {
  readonly problem: XmlProblem
  /** Counted from 1. */
  readonly line: number

  constructor(problem: XmlProblem, line: number) {
    super(`${problem} in line ${line}`)
    this.problem = problem
    this.line = line
  }
}

export const element = (name: string, ...children: readonly XmlElement[]): XmlElement => ({
  name,
  attributes: [],
  children,
  text: '',
})

export const leaf = (name: string, text: string): XmlElement => ({ name, attributes: [], children: [], text })

const ATTRIBUTE = /\s+([^\s=<>/"']+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/
const ALL_ATTRIBUTES = new RegExp(ATTRIBUTE, 'g')
/** Comments are dropped, as the server drops them when it stores a document. */
const SKIPPED = String.raw`<!--[\s\S]*?-->|<\?xml\s[\s\S]*?\?>`
const TOKEN = new RegExp(
  `(?<skipped>${SKIPPED})|<!\\[CDATA\\[(?<raw>[\\s\\S]*?)\\]\\]>|</(?<end>[^\\s<>/]+)\\s*>` +
    `|<(?<start>[^\\s<>/!?]+)(?<attributes>(?:${ATTRIBUTE.source})*)\\s*(?<empty>/?)>|(?<text>[^<]+)`,
  'y',
)

interface OpenElement {
  readonly name: string
  readonly attributes: (readonly [string, string])[]
  readonly children: XmlElement[]
  text: string
}

class Parser {
  readonly #source: string
  readonly #open: OpenElement[] = []
  #root: XmlElement | undefined
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  document(): XmlElement {
    while (this.#at < this.#source.length) {
      TOKEN.lastIndex = this.#at
      const found = TOKEN.exec(this.#source)
      if (found === null) throw this.#bad('token')
      this.#take(found.groups!)
      this.#at = TOKEN.lastIndex
    }
    if (this.#open.length > 0) throw this.#bad('unclosed')
    if (this.#root === undefined) throw this.#bad('root')
    return this.#root
  }

  #take({ raw, end, start, attributes, empty, text }: Record<string, string | undefined>): void {
    if (start !== undefined) this.#begin(start, attributes ?? '', empty === '/')
    else if (end !== undefined) this.#finish(end)
    else if (raw !== undefined) this.#say(raw)
    else if (text !== undefined) this.#say(this.#decoded(text))
  }

  #begin(name: string, attributes: string, isEmpty: boolean): void {
    if (this.#open.length === 0 && this.#root !== undefined) throw this.#bad('root')
    const given = [...attributes.matchAll(ALL_ATTRIBUTES)].map(
      ([, key, double, single]) => [key!, this.#decoded(double ?? single ?? '')] as const,
    )
    this.#open.push({ name, attributes: given, children: [], text: '' })
    if (isEmpty) this.#finish(name)
  }

  #finish(name: string): void {
    const closed = this.#open.pop()
    if (closed?.name !== name) throw this.#bad('end')
    const isParent = closed.children.length > 0
    if (isParent && closed.text.trim() !== '') throw this.#bad('mixed')
    const done: XmlElement = { ...closed, text: isParent ? '' : closed.text }
    const parent = this.#open.at(-1)
    if (parent === undefined) this.#root = done
    else parent.children.push(done)
  }

  #say(text: string): void {
    const parent = this.#open.at(-1)
    if (parent !== undefined) parent.text += text
    else if (text.replace('\ufeff', '').trim() !== '') throw this.#bad('root')
  }

  #decoded(text: string): string {
    return text.replaceAll('\r\n', '\n').replace(/&([^;&\s]{0,12};)?/g, (_, reference: string | undefined) => {
      const character = reference === undefined ? undefined : characterOf(reference.slice(0, -1))
      if (character === undefined) throw this.#bad('entity')
      return character
    })
  }

  #bad(problem: XmlProblem): BadXmlText {
    return new BadXmlText(problem, this.#source.slice(0, this.#at).split('\n').length)
  }
}

export const parseXmlText = (text: string): XmlElement => new Parser(text).document()

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, char => ESCAPED[char]!).replace(/\p{Cc}/gu, char => `&#x${char.charCodeAt(0).toString(16)};`)

/** One element per line, so that a person can read and edit it. */
export function xmlText(root: XmlElement): string {
  const lines: string[] = []
  const write = ({ name, attributes, children, text }: XmlElement, indent: string): void => {
    const start = `${indent}<${name}${attributes.map(([key, value]) => ` ${key}="${escaped(value)}"`).join('')}`
    if (children.length > 0) {
      lines.push(`${start}>`)
      for (const child of children) write(child, `${indent}  `)
      lines.push(`${indent}</${name}>`)
    } else if (text === '') lines.push(`${start}/>`)
    else lines.push(`${start}>${escaped(text)}</${name}>`)
  }
  write(root, '')
  return `${lines.join('\n')}\n`
}
