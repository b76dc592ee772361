/** Finds out before a copy whether it can have the ACL of its source. */

import { readAcl } from '../access/acl.ts'
import type { Grant } from '../access/acl-document.ts'
import { areAclsOff } from '../access/bucket-documents.ts'
import { call } from '../api/client.ts'
import { permissionOf } from '../api/permissions.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { keptAclTexts as t } from '../texts/copies.ts'
import { grantsToKeep } from './grant-headers.ts'

export interface KeptAcl {
  readonly grants: readonly Grant[]
  /** ACLs do not apply in the bucket of the copy. */
  readonly isOff: boolean
  /** Why grants are lost, where they are. */
  readonly loss: string | undefined
  /** The name of the owner of the source, as far as it is known. */
  readonly owner: string | undefined
}

export async function keptAcl(
  from: ObjectPlace,
  to: { readonly bucket: string; readonly key: string },
  signal: AbortSignal,
): Promise<KeptAcl> {
  const isOff = await areAclsOff(to.bucket, signal)
  const read = from.versionId === undefined ? 's3:GetObjectAcl' : 's3:GetObjectVersionAcl'
  const questions = [
    { action: read, ...from },
    { action: 's3:PutObjectAcl', ...to },
  ]
  const { answers } = await call('GetPermissions', { questions }, { signal })
  const [reading, writing] = answers.map(permissionOf)
  if (reading?.isRefused) {
    const loss = isOff ? undefined : t.unreadable(reading.reason ?? '')
    return { grants: [], isOff, loss, owner: undefined }
  }
  const acl = await readAcl(from, signal)
  const owner = acl.owner.name || undefined
  const grants = grantsToKeep(acl)
  if (grants.length === 0) return { grants, isOff, loss: undefined, owner }
  if (isOff) return { grants: [], isOff, loss: t.off(grants.length), owner }
  if (writing?.isRefused) {
    return { grants: [], isOff, loss: t.notSettable(grants.length, writing.reason ?? ''), owner }
  }
  return { grants, isOff, loss: undefined, owner }
}
