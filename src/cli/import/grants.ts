/** Translates ACLs for a server with other accounts. */
import { attribute, child, children, childText, type XmlNode } from '../../lib/xml.ts'
import { GRANT_HEADERS } from '../../rules/access/grant-headers.ts'

interface SourceGrant {
  readonly by: 'id' | 'uri' | 'emailAddress'
  readonly grantee: string
  readonly permission: string
}

export interface AccessList {
  readonly owner: string
  readonly grants: readonly SourceGrant[]
}

function grantOf(node: XmlNode): SourceGrant[] {
  const grantee = child(node, 'Grantee')
  const permission = childText(node, 'Permission')?.trim()
  if (grantee === undefined || permission === undefined) return []
  const uri = childText(grantee, 'URI')
  if (uri !== undefined || attribute(grantee, 'type') === 'Group') {
    return [{ by: 'uri', grantee: uri ?? '', permission }]
  }
  const id = childText(grantee, 'ID')
  if (id !== undefined) return [{ by: 'id', grantee: id, permission }]
  return [{ by: 'emailAddress', grantee: childText(grantee, 'EmailAddress') ?? '', permission }]
}

export function readAccessList(root: XmlNode): AccessList {
  const owner = child(root, 'Owner')
  const list = child(root, 'AccessControlList')
  return {
    owner: (owner && childText(owner, 'ID')) ?? '',
    grants: list === undefined ? [] : children(list, 'Grant').flatMap(grantOf),
  }
}

/** The default ACL: full control for the owner alone. */
const isPrivate = ({ owner, grants }: AccessList): boolean =>
  grants.length === 1 && grants[0]!.grantee === owner && grants[0]!.permission === 'FULL_CONTROL'

/**
 * Grant headers with the same permissions at the target; the source's owner becomes the target's. Grantees that the
 * target is known to reject are left out.
 */
export function grantHeaders(
  list: AccessList,
  newOwner: string,
  isUnknown: (grantee: string) => boolean,
): (readonly [string, string])[] {
  if (isPrivate(list)) return []
  const headers: [string, string][] = []
  for (const [header, permission] of GRANT_HEADERS) {
    const grantees = list.grants
      .filter(grant => grant.permission === permission)
      .map(grant => (grant.grantee === list.owner ? { ...grant, grantee: newOwner } : grant))
      .filter(({ grantee }) => !isUnknown(grantee))
    if (grantees.length === 0) continue
    headers.push([`:${header}`, grantees.map(({ by, grantee }) => `${by}="${grantee}"`).join(', ')])
  }
  return headers
}
