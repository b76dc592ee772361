/** Reads an element for a form and notes everything in it that the form has no field for. */
import type { XmlElement } from './xml-text.ts'

/** Names of elements that a form cannot show; each once. */
export type Unknown = Set<string>

export class ElementReader {
  readonly #element: XmlElement
  readonly #unknown: Unknown

  /** `known` are the names of children that the form shows. */
  constructor(element: XmlElement, unknown: Unknown, known: readonly string[]) {
    this.#element = element
    this.#unknown = unknown
    for (const { name } of element.children) if (!known.includes(name)) unknown.add(name)
    if (element.text.trim() !== '') unknown.add(element.name)
    for (const [name] of element.attributes) if (!name.startsWith('xmlns')) unknown.add(name)
  }

  all(name: string): readonly XmlElement[] {
    return this.#element.children.filter(child => child.name === name)
  }

  /** A second element of the same name is nothing that a form could show. */
  one(name: string): XmlElement | undefined {
    const [first, second] = this.all(name)
    if (second !== undefined) this.#unknown.add(name)
    return first
  }

  has(name: string): boolean {
    return this.one(name) !== undefined
  }

  /** Empty when there is no such element. */
  text(name: string): string {
    const found = this.one(name)
    return found === undefined ? '' : this.#textOf(found)
  }

  texts(name: string): string[] {
    return this.all(name).map(one => this.#textOf(one))
  }

  /** The text of the element, if it is one of these words. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.text(name).trim()
    const found = words.find(word => word === text)
    if (found === undefined && this.has(name)) this.#unknown.add(name)
    return found
  }

  flag(name: string): boolean {
    return this.word(name, ['true', 'false']) === 'true'
  }

  #textOf({ name, children, attributes, text }: XmlElement): string {
    if (children.length > 0) this.#unknown.add(name)
    for (const [attribute] of attributes) if (!attribute.startsWith('xmlns')) this.#unknown.add(attribute)
    return text
  }
}

/** The part of a document that a form shows, and the names of the elements that it cannot show. */
export interface FormReading<Form> {
  readonly form: Form
  readonly unknown: readonly string[]
}

export function reading<Form>(read: (unknown: Unknown) => Form): FormReading<Form> {
  const unknown: Unknown = new Set()
  const form = read(unknown)
  return { form, unknown: [...unknown] }
}
