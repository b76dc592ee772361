/** Grants of an ACL as headers, so that a copy has them from its first moment on. */
import type { Acl } from '../access/acl.ts'
import { GROUPS, type Grant } from '../access/acl-document.ts'

const granteeText = ({ kind, value }: Grant): string =>
  kind === 'group' ? `uri="${GROUPS[value] ?? value}"` : `id="${value}"`

export function grantHeaders(grants: readonly Grant[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const grant of grants) {
    const name = `x-amz-grant-${grant.permission.toLowerCase().replaceAll('_', '-')}`
    headers[name] = headers[name] === undefined ? granteeText(grant) : `${headers[name]}, ${granteeText(grant)}`
  }
  return headers
}

/** The grants that a new object would not have by itself; none where only the owner has access. */
export function grantsToKeep({ owner, grants }: Acl): readonly Grant[] {
  const isOwners = ({ kind, value, permission }: Grant): boolean =>
    kind === 'account' && value === owner.id && permission === 'FULL_CONTROL'
  return grants.every(isOwners) ? [] : grants
}
