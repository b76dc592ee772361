/**
 * Access control lists: what a canned ACL stands for, which permission gives which actions, who owns a new object,
 * and what of a list counts under the bucket's ownership mode.
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

/** Canned ACLs of an object; `exec-read` is apart, since not every operation takes it. */
export const OBJECT_CANNED: readonly Canned[] = [
  'private',
  'public-read',
  'public-read-write',
  'authenticated-read',
  'bucket-owner-read',
  'bucket-owner-full-control',
]

export const BUCKET_CANNED: readonly Canned[] = [...OBJECT_CANNED, 'log-delivery-write']

export { EXEC_CANONICAL_ID }

/** R32. The canned ACL that a header names, among those that the operation takes. */
export function readCanned(value: string, allowed: readonly Canned[]): Canned {
  const canned = value === EXEC_READ_NAME ? 'exec-read' : value
  const found = allowed.find(name => name === canned)
  // The neutral name of exec-read is ours alone: a client that sends it has made it up.
  if (found !== undefined && value !== 'exec-read') return found
  throw new Fault('InvalidArgument', { ArgumentName: headerName('acl'), ArgumentValue: value })
}

export interface Owners {
  /** Canonical id of whoever owns the resource that the list is for. */
  readonly owner: string
  readonly bucketOwner: string
}

const group = (grantee: Group, permission: Permission): Grant => ({ grantee, group: true, permission })
const account = (grantee: string, permission: Permission): Grant => ({ grantee, group: false, permission })

/** G9. On a bucket both owners are the same, so that the two bucket-owner lists fall together with `private`. */
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

/** Which single permission gives an action, by what the list stands on. FULL_CONTROL gives every one of them. */
const ON_BUCKET: ReadonlyMap<Action, Permission> = new Map<Action, Permission>([
  ['ListBucket', 'READ'],
  ['ListBucketVersions', 'READ'],
  ['ListBucketMultipartUploads', 'READ'],
  ['PutObject', 'WRITE'],
  ['DeleteObject', 'WRITE'],
  ['GetBucketAcl', 'READ_ACP'],
  ['PutBucketAcl', 'WRITE_ACP'],
])

/** WRITE on an object is kept and shown, and gives nothing (R31). */
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

/** Where the list that can give this action stands, and the permission it takes; undefined when no list can. */
export function permissionFor(action: Action) {
  const onBucket = ON_BUCKET.get(action)
  if (onBucket !== undefined) return { on: 'bucket', permission: onBucket } as const
  const onObject = ON_OBJECT.get(action)
  return onObject === undefined ? undefined : ({ on: 'object', permission: onObject } as const)
}

const PUBLIC_GROUPS: readonly string[] = ['AllUsers', 'AuthenticatedUsers'] satisfies readonly Group[]

/** Whether a grant reaches people whom nobody has named. */
export const isPublicGrant = (grant: Grant): boolean => grant.group && PUBLIC_GROUPS.includes(grant.grantee)

export const isPublicAcl = (grants: readonly Grant[]): boolean => grants.some(isPublicGrant)

export interface Writing {
  readonly ownership: ObjectOwnership
  readonly bucketOwner: string
  /** Canonical id of whoever writes. */
  readonly writer: string
  readonly canned: Canned | undefined
}

/** G6. The owner of a new object. */
export function ownerOfNew({ ownership, bucketOwner, writer, canned }: Writing): string {
  switch (ownership) {
    case 'ObjectWriter':
      return writer
    case 'BucketOwnerPreferred':
      return canned === 'bucket-owner-full-control' ? bucketOwner : writer
    case 'BucketOwnerEnforced':
      return bucketOwner
  }
}

/** What is stored, shown and owned counts only as far as the bucket's mode lets it. */
export interface EffectiveAclInput {
  readonly ownerCanonicalId: string
  readonly grants: readonly Grant[]
}

/** G6. Under BucketOwnerEnforced everything is the bucket owner's and every list reads "owner FULL_CONTROL". */
export function effectiveAcl(
  listed: EffectiveAclInput,
  ownership: ObjectOwnership,
  bucketOwner: string,
): EffectiveAclInput {
  if (ownership !== 'BucketOwnerEnforced') return listed
  return { ownerCanonicalId: bucketOwner, grants: [account(bucketOwner, 'FULL_CONTROL')] }
}

/** A list as a request asks for it. */
export interface RequestedAcl {
  /** Undefined for one that lists its grants. */
  readonly canned: Canned | undefined
  readonly grants: readonly Grant[]
}

/**
 * G6, G10. Whether an ACL may be set at all. Where lists do not count, the only one is what every list reads there:
 * by its canned name, or in so many words, as it is shown.
 */
export function checkAclSupported(
  ownership: ObjectOwnership,
  bucketOwner: string,
  { canned, grants }: RequestedAcl,
): void {
  if (ownership !== 'BucketOwnerEnforced' || canned === 'bucket-owner-full-control') return
  const isSameInWords = canned === undefined && grants.length > 0 && grants.every(grant => isOwners(grant, bucketOwner))
  if (!isSameInWords) throw new Fault('AccessControlListNotSupported')
}

const isOwners = ({ group: isGroup, grantee, permission }: Grant, owner: string): boolean =>
  !isGroup && grantee === owner && permission === 'FULL_CONTROL'

/** G10. BlockPublicAcls refuses a list that would reach everyone, wherever it comes in. */
export function checkNotPublic(grants: readonly Grant[], blockPublicAcls: boolean): void {
  if (blockPublicAcls && isPublicAcl(grants)) throw new Fault('AccessDenied')
}
