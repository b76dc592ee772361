/**
 * Reads the elements of a listing from its text. The browser's parser takes longer than a frame for a page of 1,000
 * keys, which would stop the scrolling that asked for it. The server writes listings without attributes on these
 * elements, without comments and with every `<` of a text escaped.
 */
import { characterOf } from './xml-entities.ts'

export interface ListedElement {
  readonly name: string
  readonly content: string
}

/** All elements of these names, in their order. Such elements do not contain each other. */
export function elementsOf(text: string, ...names: readonly string[]): ListedElement[] {
  const start = new RegExp(`<(${names.join('|')})>`, 'g')
  const found: ListedElement[] = []
  for (let tag = start.exec(text); tag !== null; tag = start.exec(text)) {
    const end = text.indexOf(`</${tag[1]}>`, start.lastIndex)
    if (end === -1) break
    found.push({ name: tag[1]!, content: text.slice(start.lastIndex, end) })
    start.lastIndex = end
  }
  return found
}

const unescaped = (text: string): string =>
  text.includes('&') ? text.replace(/&([^;&]+);/g, (whole, name: string) => characterOf(name) ?? whole) : text

/** The text of the first element of this name. */
export function firstText(text: string, name: string): string | undefined {
  const start = `<${name}>`
  const from = text.indexOf(start)
  if (from === -1) return undefined
  const to = text.indexOf('<', from + start.length)
  return to === -1 ? undefined : unescaped(text.slice(from + start.length, to))
}

/** Listings encode keys, because XML cannot carry every character. */
export function firstDecoded(text: string, name: string): string | undefined {
  const found = firstText(text, name)
  return found === undefined ? undefined : decodeURIComponent(found.replaceAll('+', ' '))
}
