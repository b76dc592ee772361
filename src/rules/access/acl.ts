/**
 * Access control lists: the expansion of canned ACLs, the permission that each action needs, the owner of a new
 * object, and the effective ACL under the bucket's ownership mode.
 */
import { EXEC_CANONICAL_ID } from '../../model/account.ts'
import { Fault } from '../../model/faults.ts'
import type { Grant, Permission } from '../../model/version.ts'
import type { Action } from './actions.ts'
import { EXEC_READ_NAME, type Group, headerName } from './names.ts'

export type ObjectOwnership = 'ObjectWriter' | 'BucketOwnerPreferred' | 'BucketOwnerEnforced'

export type Canned =
  | 'private'
  | 'public-read'
  | 'public-read-write'
  | 'authenticated-read'
  | 'bucket-owner-read'
  | 'bucket-owner-full-control'
  | 'exec-read'
  | 'log-delivery-write'

export const PERMISSIONS: readonly Permission[] = ['FULL_CONTROL', 'READ', 'WRITE', 'READ_ACP', 'WRITE_ACP']

/** Canned ACLs of an object, without `exec-read`, which only some operations accept. */
export const OBJECT_CANNED: readonly Canned[] = [
  'private',
  'public-read',
  'public-read-write',
  'authenticated-read',
  'bucket-owner-read',
  'bucket-owner-full-control',
]

export const BUCKET_CANNED: readonly Canned[] = [...OBJECT_CANNED, 'log-delivery-write']

/** R32. The canned ACL that a header names, among those that the operation accepts. */
export function readCanned(value: string, allowed: readonly Canned[]): Canned {
  const canned = value === EXEC_READ_NAME ? 'exec-read' : value
  const found = allowed.find(name => name === canned)
  // The neutral name `exec-read` is internal and not valid on the wire.
  if (found !== undefined && value !== 'exec-read') return found
  throw new Fault('InvalidArgument', { ArgumentName: headerName('acl'), ArgumentValue: value })
}

export interface Owners {
  /** Canonical id of the resource's owner. */
  readonly owner: string
  readonly bucketOwner: string
}

const group = (grantee: Group, permission: Permission): Grant => ({ grantee, group: true, permission })
const account = (grantee: string, permission: Permission): Grant => ({ grantee, group: false, permission })

/** G9. On a bucket both owners are the same, so the two bucket-owner ACLs equal `private`. */
export function expandCanned(canned: Canned, { owner, bucketOwner }: Owners): Grant[] {
  const own = account(owner, 'FULL_CONTROL')
  switch (canned) {
    case 'private':
      return [own]
    case 'public-read':
      return [own, group('AllUsers', 'READ')]
    case 'public-read-write':
      return [own, group('AllUsers', 'READ'), group('AllUsers', 'WRITE')]
    case 'authenticated-read':
      return [own, group('AuthenticatedUsers', 'READ')]
    case 'bucket-owner-read':
      return owner === bucketOwner ? [own] : [own, account(bucketOwner, 'READ')]
    case 'bucket-owner-full-control':
      return owner === bucketOwner ? [own] : [own, account(bucketOwner, 'FULL_CONTROL')]
    case 'exec-read':
      return [own, account(EXEC_CANONICAL_ID, 'READ')]
    case 'log-delivery-write':
      return [own, group('LogDelivery', 'WRITE'), group('LogDelivery', 'READ_ACP')]
  }
}

/** The permission that a bucket's ACL must grant for an action. FULL_CONTROL includes all of them. */
const ON_BUCKET: ReadonlyMap<Action, Permission> = new Map<Action, Permission>([
  ['ListBucket', 'READ'],
  ['ListBucketVersions', 'READ'],
  ['ListBucketMultipartUploads', 'READ'],
  ['PutObject', 'WRITE'],
  ['DeleteObject', 'WRITE'],
  ['GetBucketAcl', 'READ_ACP'],
  ['PutBucketAcl', 'WRITE_ACP'],
])

/** WRITE on an object is stored and shown but grants nothing (R31). */
const ON_OBJECT: ReadonlyMap<Action, Permission> = new Map<Action, Permission>([
  ['GetObject', 'READ'],
  ['GetObjectVersion', 'READ'],
  ['GetObjectAttributes', 'READ'],
  ['GetObjectVersionAttributes', 'READ'],
  ['GetObjectAcl', 'READ_ACP'],
  ['GetObjectVersionAcl', 'READ_ACP'],
  ['PutObjectAcl', 'WRITE_ACP'],
  ['PutObjectVersionAcl', 'WRITE_ACP'],
])

/** The ACL and the permission that can grant this action; undefined when no ACL can. */
export function permissionFor(action: Action) {
  const onBucket = ON_BUCKET.get(action)
  if (onBucket !== undefined) return { on: 'bucket', permission: onBucket } as const
  const onObject = ON_OBJECT.get(action)
  return onObject === undefined ? undefined : ({ on: 'object', permission: onObject } as const)
}

const PUBLIC_GROUPS: readonly string[] = ['AllUsers', 'AuthenticatedUsers'] satisfies readonly Group[]

/** Whether a grant reaches callers beyond named accounts. */
export const isPublicGrant = (grant: Grant): boolean => grant.group && PUBLIC_GROUPS.includes(grant.grantee)

export const isPublicAcl = (grants: readonly Grant[]): boolean => grants.some(isPublicGrant)

interface NewObjectWrite {
  readonly ownership: ObjectOwnership
  readonly bucketOwner: string
  /** Canonical id of the caller that writes. */
  readonly writer: string
  readonly canned: Canned | undefined
}

/** G6. The owner of a new object. */
export function newObjectOwner({ ownership, bucketOwner, writer, canned }: NewObjectWrite): string {
  switch (ownership) {
    case 'ObjectWriter':
      return writer
    case 'BucketOwnerPreferred':
      return canned === 'bucket-owner-full-control' ? bucketOwner : writer
    case 'BucketOwnerEnforced':
      return bucketOwner
  }
}

/** An ACL with the owner of its resource. */
interface OwnedAcl {
  readonly ownerCanonicalId: string
  readonly grants: readonly Grant[]
}

/** G6. Under BucketOwnerEnforced the bucket owner owns everything. */
export function effectiveOwner(stored: string, ownership: ObjectOwnership, bucketOwner: string): string {
  return ownership === 'BucketOwnerEnforced' ? bucketOwner : stored
}

/** G6. Under BucketOwnerEnforced every ACL reads "owner FULL_CONTROL". */
export function effectiveAcl(stored: OwnedAcl, ownership: ObjectOwnership, bucketOwner: string): OwnedAcl {
  if (ownership !== 'BucketOwnerEnforced') return stored
  const ownerCanonicalId = effectiveOwner(stored.ownerCanonicalId, ownership, bucketOwner)
  return { ownerCanonicalId, grants: [account(ownerCanonicalId, 'FULL_CONTROL')] }
}

/** An ACL as a request sets it. */
interface RequestedAcl {
  /** Undefined for an explicit list of grants. */
  readonly canned: Canned | undefined
  readonly grants: readonly Grant[]
}

/**
 * G6, G10. Under BucketOwnerEnforced the only acceptable ACL is the effective one, by its canned name or as the
 * explicit grant that reads show.
 */
export function checkAclSupported(
  ownership: ObjectOwnership,
  bucketOwner: string,
  { canned, grants }: RequestedAcl,
): void {
  if (ownership !== 'BucketOwnerEnforced' || canned === 'bucket-owner-full-control') return
  const isEffective =
    canned === undefined && grants.length > 0 && grants.every(grant => isOwnerFullControl(grant, bucketOwner))
  if (!isEffective) throw new Fault('AccessControlListNotSupported')
}

const isOwnerFullControl = ({ group: isGroup, grantee, permission }: Grant, owner: string): boolean =>
  !isGroup && grantee === owner && permission === 'FULL_CONTROL'

/** G10. BlockPublicAcls refuses a public ACL in every request that can set one. */
export function checkNotPublic(grants: readonly Grant[], blockPublicAcls: boolean): void {
  if (blockPublicAcls && isPublicAcl(grants)) throw new Fault('AccessDenied')
}
