/** A document that was read and found right, written again: its elements, without namespaces and layout. */
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

export const sameDocument = (root: XmlNode): XmlDocument => ({
  root: root.name,
  write(to) {
    for (const child of root.children) writeNode(to, child)
  },
})

/** As it is stored. */
export const documentText = (document: XmlDocument): string => renderRoot(document).toString('utf8')
