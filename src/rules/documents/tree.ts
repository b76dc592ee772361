/** Renders a validated document again: its elements, without namespaces and whitespace. */
import type { XmlNode } from '../../lib/xml.ts'
import { renderRoot, type XmlDocument, type XmlWriter } from '../../lib/xml-writer.ts'

function writeNode(to: XmlWriter, node: XmlNode): void {
  if (node.children.length === 0) {
    to.leaf(node.name, node.text)
    return
  }
  to.open(node.name)
  for (const child of node.children) writeNode(to, child)
  to.close()
}

export const documentFromTree = (root: XmlNode): XmlDocument => ({
  root: root.name,
  write(to) {
    for (const child of root.children) writeNode(to, child)
  },
})

/** The stored form of a document. */
export const documentText = (document: XmlDocument): string => renderRoot(document).toString('utf8')
