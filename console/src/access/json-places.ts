/** Where a part of a JSON text is, for marks in an editor. */
import { jsonLanguage } from '@codemirror/lang-json'

interface Range {
  readonly from: number
  readonly to: number
}

type Node = ReturnType<typeof jsonLanguage.parser.parse>['topNode']

function childrenOf(node: Node): Node[] {
  const found: Node[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child)
  return found
}

const VALUES = ['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']
const isValue = ({ name }: Node): boolean => VALUES.includes(name)

function nameOf(property: Node, text: string): string | undefined {
  const name = property.getChild('PropertyName')
  if (name === null) return undefined
  try {
    return String(JSON.parse(text.slice(name.from, name.to)))
  } catch {
    return undefined
  }
}

/** A member of an object is marked with its name. */
function step(node: Node, part: string | number, text: string): { mark: Node; value: Node } | undefined {
  if (typeof part === 'number') {
    // A single item may omit its brackets.
    if (node.name !== 'Array') return part === 0 ? { mark: node, value: node } : undefined
    const item = childrenOf(node).filter(isValue)[part]
    return item === undefined ? undefined : { mark: item, value: item }
  }
  const property = node.getChildren('Property').find(one => nameOf(one, text) === part)
  if (property === undefined) return undefined
  return { mark: property, value: childrenOf(property).find(isValue) ?? property }
}

/** The place of a part, or of the nearest part around it that the text has. */
export function placeOf(text: string, path: readonly (string | number)[]): Range {
  const { topNode } = jsonLanguage.parser.parse(text)
  let value = childrenOf(topNode).find(isValue) ?? topNode
  let mark = value
  for (const part of path) {
    const found = step(value, part, text)
    if (found === undefined) break
    mark = found.mark
    value = found.value
  }
  return { from: mark.from, to: mark.to }
}

/** The first place that is not JSON; undefined for a whole JSON text. */
export function syntaxMistake(text: string): Range | undefined {
  const cursor = jsonLanguage.parser.parse(text).cursor()
  do {
    if (!cursor.type.isError) continue
    const from = Math.min(cursor.from, Math.max(0, text.length - 1))
    return { from, to: Math.max(cursor.to, Math.min(from + 1, text.length)) }
  } while (cursor.next())
  return undefined
}
