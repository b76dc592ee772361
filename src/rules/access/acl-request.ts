/**
 * A request that sets an ACL has a canned name, grant headers, or a document, and never two of them. Grantees are
 * resolved through a directory that the caller passes in, so that this stays pure.
 */
import { Fault } from '../../model/faults.ts'
import type { Grant, Permission } from '../../model/version.ts'
import { groupOf, headerName } from './names.ts'

export const GRANTS_MAX = 100

export interface RequestedGrant {
  readonly by: 'id' | 'uri' | 'email'
  readonly value: string
  readonly permission: Permission
}

/** Looks up the accounts that a request names. */
export interface GranteeDirectory {
  readonly isCanonicalId: (id: string) => boolean
  /** Canonical ids of all accounts with this address. */
  readonly canonicalIdsOf: (email: string) => readonly string[]
}

interface AclSources {
  /** Value of the canned header. */
  readonly canned: string | undefined
  /** Whether any grant header was sent. */
  readonly hasGrantHeaders: boolean
  readonly hasBody: boolean
}

/** R56. For requests where an ACL is optional and comes in headers only. */
export function checkOneHeaderKind({ canned, hasGrantHeaders }: Omit<AclSources, 'hasBody'>): void {
  if (canned === undefined || !hasGrantHeaders) return
  throw new Fault('InvalidRequest', {
    reason: 'Specifying both Canned ACLs and Header Grants is not allowed',
  })
}

/** R102. For requests that set an ACL: exactly one of the three sources. */
export function chooseSource(sources: AclSources): 'canned' | 'headers' | 'body' {
  checkOneHeaderKind(sources)
  const hasHeader = sources.canned !== undefined || sources.hasGrantHeaders
  if (hasHeader && sources.hasBody) throw new Fault('UnexpectedContent')
  if (sources.canned !== undefined) return 'canned'
  if (sources.hasGrantHeaders) return 'headers'
  if (sources.hasBody) return 'body'
  throw new Fault('MissingSecurityHeader', { MissingHeaderName: headerName('acl') })
}

/** Argument names in faults, by the source of the grant. */
const ARGUMENTS = {
  body: { id: 'CanonicalUser/ID', uri: 'Group/URI' },
  header: { id: 'id', uri: 'uri' },
} as const

/** R56, G10. Resolves names to accounts and groups; keeps order and duplicates as sent. */
export function resolveGrants(
  requested: readonly RequestedGrant[],
  directory: GranteeDirectory,
  from: keyof typeof ARGUMENTS,
): Grant[] {
  if (requested.length > GRANTS_MAX) throw new Fault('MalformedACLError')
  return requested.map(({ by, value, permission }) => {
    if (by === 'uri') return { grantee: knownGroup(value, ARGUMENTS[from].uri), group: true, permission }
    const grantee = by === 'id' ? knownId(value, directory, ARGUMENTS[from].id) : idOfEmail(value, directory)
    return { grantee, group: false, permission }
  })
}

/** G10. An ACL never changes the owner of the resource. */
export function checkSameOwner(ownerId: string, currentOwner: string, directory: GranteeDirectory): void {
  if (ownerId === currentOwner) return
  knownId(ownerId, directory, ARGUMENTS.body.id)
  throw new Fault('AccessDenied')
}

function knownId(id: string, directory: GranteeDirectory, argument: string): string {
  if (directory.isCanonicalId(id)) return id
  throw new Fault('InvalidArgument', { reason: 'Invalid id', ArgumentName: argument, ArgumentValue: id })
}

function knownGroup(uri: string, argument: string): string {
  const group = groupOf(uri)
  if (group !== undefined) return group
  throw new Fault('InvalidArgument', { reason: 'Invalid group uri', ArgumentName: argument, ArgumentValue: uri })
}

function idOfEmail(email: string, directory: GranteeDirectory): string {
  const [id, another] = directory.canonicalIdsOf(email)
  if (id === undefined) throw new Fault('UnresolvableGrantByEmailAddress')
  if (another !== undefined) throw new Fault('AmbiguousGrantByEmailAddress')
  return id
}
