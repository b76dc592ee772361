/** Finds out before a copy whether it can have the ACL of its source. */

import { readAcl } from '../access/acl.ts'
import type { Grant } from '../access/acl-document.ts'
import { call } from '../api/client.ts'
import { permissionOf } from '../api/permissions.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { keptAclTexts as t } from '../texts/copies.ts'
import { grantsToKeep } from './grant-headers.ts'

export interface KeptAcl {
  readonly grants: readonly Grant[]
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
  const read = from.versionId === undefined ? 's3:GetObjectAcl' : 's3:GetObjectVersionAcl'
  const questions = [
    { action: read, ...from },
    { action: 's3:PutObjectAcl', ...to },
  ]
  const { answers } = await call('GetPermissions', { questions }, { signal })
  const [reading, writing] = answers.map(permissionOf)
  if (reading?.isRefused) return { grants: [], loss: t.unreadable(reading.reason ?? ''), owner: undefined }
  const acl = await readAcl(from, signal)
  const owner = acl.owner.name || undefined
  const grants = grantsToKeep(acl)
  if (grants.length > 0 && writing?.isRefused) {
    return { grants: [], loss: t.notSettable(grants.length, writing.reason ?? ''), owner }
  }
  return { grants, loss: undefined, owner }
}
