/** Access control lists of buckets and objects. */
import { childrenOf, escapeXml, sendDocument, sendForXml, textIn } from '../objects/request.ts'
import { GROUPS, type Grant } from './acl-document.ts'

export interface Acl {
  readonly owner: { readonly id: string; readonly name: string | undefined }
  readonly grants: readonly Grant[]
}

export interface AclPlace {
  readonly bucket: string
  readonly key?: string
  readonly versionId?: string | undefined
}

export const isPublicGrant = ({ kind, value }: Grant): boolean =>
  kind === 'group' && (value === 'AllUsers' || value === 'AuthenticatedUsers')

const requestOf = (method: 'GET' | 'PUT', { bucket, key, versionId }: AclPlace) => ({
  method,
  bucket,
  ...(key === undefined ? {} : { key }),
  query: { acl: '', ...(versionId === undefined ? {} : { versionId }) },
})

function grantOf(element: Element): Grant {
  const [grantee] = childrenOf(element, 'Grantee')
  const permission = textIn(element, 'Permission') ?? ''
  const uri = grantee && textIn(grantee, 'URI')
  if (uri !== undefined) return { kind: 'group', value: uri.slice(uri.lastIndexOf('/') + 1), permission }
  const id = (grantee && textIn(grantee, 'ID')) ?? ''
  return { kind: 'account', value: id, name: grantee && textIn(grantee, 'DisplayName'), permission }
}

export async function readAcl(place: AclPlace, signal: AbortSignal): Promise<Acl> {
  const root = await sendForXml(requestOf('GET', place), { signal })
  const [owner] = childrenOf(root, 'Owner')
  const [list] = childrenOf(root, 'AccessControlList')
  return {
    owner: { id: (owner && textIn(owner, 'ID')) ?? '', name: owner && textIn(owner, 'DisplayName') },
    grants: list === undefined ? [] : childrenOf(list, 'Grant').map(grantOf),
  }
}

const TYPES = { account: 'CanonicalUser', group: 'Group' } as const

function granteeXml({ kind, value }: Grant): string {
  return kind === 'group' ? `<URI>${escapeXml(GROUPS[value] ?? value)}</URI>` : `<ID>${escapeXml(value)}</ID>`
}

export function aclXml({ owner, grants }: Acl): string {
  const lines = grants.flatMap(grant => [
    '    <Grant>',
    `      <Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="${TYPES[grant.kind]}">`,
    `        ${granteeXml(grant)}`,
    '      </Grantee>',
    `      <Permission>${escapeXml(grant.permission)}</Permission>`,
    '    </Grant>',
  ])
  return [
    '<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    `  <Owner><ID>${escapeXml(owner.id)}</ID></Owner>`,
    '  <AccessControlList>',
    ...lines,
    '  </AccessControlList>',
    '</AccessControlPolicy>',
  ].join('\n')
}

export async function writeAcl(place: AclPlace, acl: Acl): Promise<void> {
  await sendDocument(requestOf('PUT', place), aclXml(acl))
}
