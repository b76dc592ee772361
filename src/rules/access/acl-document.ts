/** Reads an AccessControlPolicy document (R30, R31, G10). `acl-request.ts` resolves the grantees' names. */
import {
  attribute,
  BadXml,
  child,
  childWord,
  onlyChildren,
  requiredChild,
  requiredText,
  rootNamed,
  type XmlNode,
} from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import { PERMISSIONS } from './acl.ts'
import { GRANTS_MAX, type RequestedGrant } from './acl-request.ts'
import { GRANTEE_TYPES } from './names.ts'

/** Differences between the dialects (D14, D16, D21). */
export interface AclDocumentForm {
  readonly mayHaveNoGrants: boolean
  /** A grantee without a type attribute has the type of its child. */
  readonly infersType: boolean
  /** The grants element may be called `Grants`. */
  readonly acceptsGrantsAsList: boolean
}

interface AclDocument {
  readonly ownerId: string
  readonly grants: readonly RequestedGrant[]
}

/** The child element that names the grantee. */
const CHILD = { id: 'ID', uri: 'URI', email: 'EmailAddress' } as const

/** R107. A document that does not validate is refused as a whole. */
export function readAclDocument(root: XmlNode, form: AclDocumentForm): AclDocument {
  try {
    return readDocument(root, form)
  } catch (error) {
    if (error instanceof BadXml) throw new Fault('MalformedACLError')
    throw error
  }
}

function readDocument(root: XmlNode, form: AclDocumentForm): AclDocument {
  const lists = form.acceptsGrantsAsList ? ['AccessControlList', 'Grants'] : ['AccessControlList']
  onlyChildren(rootNamed(root, 'AccessControlPolicy'), 'Owner', ...lists)
  const owner = requiredChild(root, 'Owner')
  onlyChildren(owner, 'ID', 'DisplayName')
  const [list, another] = root.children.filter(({ name }) => lists.includes(name))
  if (list === undefined || another !== undefined)
    throw new BadXml('the document must have exactly one AccessControlList')
  onlyChildren(list, 'Grant')
  if (list.children.length === 0 && !form.mayHaveNoGrants) throw new BadXml('the AccessControlList is empty')
  if (list.children.length > GRANTS_MAX) throw new BadXml(`the AccessControlList has more than ${GRANTS_MAX} grants`)
  return { ownerId: named(owner, 'ID'), grants: list.children.map(grant => readGrant(grant, form)) }
}

function readGrant(grant: XmlNode, form: AclDocumentForm): RequestedGrant {
  onlyChildren(grant, 'Grantee', 'Permission')
  const grantee = requiredChild(grant, 'Grantee')
  const permission = childWord(grant, 'Permission', PERMISSIONS)
  if (permission === undefined) throw new BadXml('a grant has no Permission')
  const by = granteeKind(grantee, form)
  // A display name may accompany any of them and is ignored.
  onlyChildren(grantee, CHILD[by], 'DisplayName')
  return { by, value: named(grantee, CHILD[by]), permission }
}

function granteeKind(grantee: XmlNode, { infersType }: AclDocumentForm): RequestedGrant['by'] {
  const type = attribute(grantee, 'type')
  if (type !== undefined) {
    const by = GRANTEE_TYPES.get(type)
    if (by === undefined) throw new BadXml('a grantee has an unknown type')
    return by
  }
  if (!infersType) throw new BadXml('a grantee has no type')
  const kinds = (['id', 'uri', 'email'] as const).filter(by => child(grantee, CHILD[by]) !== undefined)
  if (kinds.length !== 1) throw new BadXml('a grantee must have exactly one of ID, URI and EmailAddress')
  return kinds[0]!
}

function named(element: XmlNode, name: string): string {
  const text = requiredText(element, name).trim()
  if (text === '') throw new BadXml(`${name} is empty`)
  return text
}
