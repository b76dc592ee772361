/** The lifecycle rules of a bucket, and the minimum object size for transitions. */
import type { XmlNode } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import { readLifecycle } from '../../rules/documents/lifecycle.ts'
import { checkTransitions } from '../../rules/documents/transitions.ts'
import { documentFromTree, documentText } from '../../rules/documents/tree.ts'
import type { Header, OperationContext } from '../context.ts'
import { maybe, oneOf } from '../operation.ts'
import { asStored, type DocumentKind, keptAsSent, storedAs } from './document.ts'

const leaf = (name: string, text: string): XmlNode => ({ name, text, attributes: new Map(), children: [] })

/** Every rule is stored with an id, the client's or a generated one: clients find rules by it. */
function named(root: XmlNode): XmlNode {
  const rules = readLifecycle(root)
  checkTransitions(root)
  const children = root.children.map((rule, index) => {
    const rest = rule.children.filter(({ name }) => name !== 'ID')
    return { ...rule, children: [leaf('ID', rules[index]!.id), ...rest] }
  })
  const document = { ...root, children }
  readLifecycle(asStored(document))
  return document
}

/**
 * No object changes its storage class here, so the size has no effect. But clients poll until they read back the value
 * they set, or the first of these as the default. It is stored with the rules as a private attribute.
 */
const SIZES = ['all_storage_classes_128K', 'varies_by_storage_class'] as const
const SIZE = ':transition-default-minimum-object-size'
const ATTRIBUTE = 'smallest'

const sizeSent = maybe.header(SIZE, oneOf(...SIZES))
const sizeHeader = (size: string = SIZES[0]): readonly Header[] => [[SIZE, size]]

const stored = storedAs('lifecycle')

async function sizeStored(ctx: OperationContext): Promise<readonly Header[]> {
  const text = await stored.text(ctx)
  return sizeHeader(text === undefined ? undefined : parseXml(text).attributes.get(ATTRIBUTE))
}

function keep(ctx: OperationContext, root: XmlNode): Promise<void> {
  const size = sizeSent.decode(ctx.request)
  const text = documentText(documentFromTree(root))
  const opening = `<${root.name}`
  return stored.put(ctx, size === undefined ? text : text.replace(opening, `${opening} ${ATTRIBUTE}="${size}"`))
}

export const lifecycle: DocumentKind<XmlNode> = {
  query: 'lifecycle',
  get: { name: 'GetBucketLifecycleConfiguration', needs: 'GetLifecycleConfiguration', headers: sizeStored },
  put: {
    name: 'PutBucketLifecycleConfiguration',
    needs: 'PutLifecycleConfiguration',
    headers: ({ request }) => sizeHeader(sizeSent.decode(request)),
  },
  remove: { name: 'DeleteBucketLifecycle', needs: 'PutLifecycleConfiguration' },
  absent: 'NoSuchLifecycleConfiguration',
  ...keptAsSent('lifecycle', readLifecycle),
  read: named,
  keep,
}
