/**
 * An XML document as a plain tree, and accessors for it. Names are local names: clients send any namespace or none.
 * Text and attributes are stored in fields and maps, never as properties named by the document, so that a name such as
 * `__proto__` is harmless.
 */
export interface XmlNode {
  readonly name: string
  /** By name as written, including the prefix; `attribute` finds one by its local name. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlNode[]
  /** All character data directly inside this element, in order, untrimmed. */
  readonly text: string
}

/** Malformed, unsafe, or not the expected document. The caller chooses the fault. */
export class BadXml extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'BadXml'
  }
}

const WHITESPACE_ONLY = /^[ \t\r\n]*$/
const INTEGER = /^[ \t\r\n]*([+-]?\d{1,15})[ \t\r\n]*$/

/** Requires the root to have this name. */
export function rootNamed(root: XmlNode, name: string): XmlNode {
  if (root.name !== name) throw new BadXml(`the root is ${root.name}, not ${name}`)
  return root
}

/** Rejects other elements, and text between elements. */
export function onlyChildren(node: XmlNode, ...names: readonly string[]): void {
  for (const { name } of node.children) {
    if (!names.includes(name)) throw new BadXml(`${node.name} has no ${name}`)
  }
  if (!WHITESPACE_ONLY.test(node.text)) throw new BadXml(`text in ${node.name}`)
}

export function children(node: XmlNode, name: string): XmlNode[] {
  return node.children.filter(child => child.name === name)
}

/** The only child of this name, or undefined; duplicates are rejected. */
export function child(node: XmlNode, name: string): XmlNode | undefined {
  let found: XmlNode | undefined
  for (const candidate of node.children) {
    if (candidate.name !== name) continue
    if (found !== undefined) throw new BadXml(`more than one ${name} in ${node.name}`)
    found = candidate
  }
  return found
}

export function requiredChild(node: XmlNode, name: string): XmlNode {
  const found = child(node, name)
  if (found === undefined) throw new BadXml(`${node.name} lacks ${name}`)
  return found
}

/** The text of the only child of this name, exactly as sent: keys may begin and end with spaces. */
export function childText(node: XmlNode, name: string): string | undefined {
  const found = child(node, name)
  if (found === undefined) return undefined
  if (found.children.length > 0) throw new BadXml(`${name} holds elements`)
  return found.text
}

export function requiredText(node: XmlNode, name: string): string {
  const text = childText(node, name)
  if (text === undefined) throw new BadXml(`${node.name} lacks ${name}`)
  return text
}

/** A child with one of these words. */
export function childWord<Word extends string>(node: XmlNode, name: string, words: readonly Word[]): Word | undefined {
  const text = childText(node, name)
  if (text === undefined) return undefined
  const trimmed = text.trim()
  const found = words.find(word => word === trimmed)
  if (found === undefined) throw new BadXml(`${name} must be one of ${words.join(', ')}`)
  return found
}

export function childInteger(node: XmlNode, name: string): number | undefined {
  const text = childText(node, name)
  if (text === undefined) return undefined
  const match = INTEGER.exec(text)
  if (match === null) throw new BadXml(`${name} is not an integer`)
  return Number(match[1])
}

/** A child with a boolean. */
export function childFlag(node: XmlNode, name: string): boolean | undefined {
  const word = childWord(node, name, ['true', 'false', 'TRUE', 'FALSE', 'True', 'False'])
  return word === undefined ? undefined : word.toLowerCase() === 'true'
}

/** An attribute by its local name, whatever its namespace prefix: `type` finds `xsi:type`. */
export function attribute(node: XmlNode, name: string): string | undefined {
  for (const [written, value] of node.attributes) {
    if (written === name || written.endsWith(`:${name}`)) return value
  }
  return undefined
}
