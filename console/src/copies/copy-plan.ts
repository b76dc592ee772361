/** A copy or move of many objects, and what is done for one of them. */
import { readAcl } from '../access/acl.ts'
import { ApiFailure } from '../api/failure.ts'
import type { ListedObject } from '../objects/changes.ts'
import { isLocked, type ObjectDetails, objectDetails } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { copyManyTexts as t } from '../texts/copies.ts'
import { copyObject, deleteCopied } from './copy-object.ts'
import type { CopyOrder } from './copy-order.ts'
import type { FolderPlace } from './folder-place.ts'
import { grantsToKeep } from './grant-headers.ts'
import { numberedKey } from './numbered-key.ts'
import { targetKey } from './target-key.ts'

export type CopyKind = 'copy' | 'move'

/** Leave it, replace it, or copy under another name. */
export type Existing = 'skip' | 'replace' | 'rename'

export interface CopyPlan {
  readonly kind: CopyKind
  /** The folder that names are taken from: what follows it in a key stays the same. */
  readonly from: FolderPlace
  readonly to: FolderPlace
  readonly objects: readonly ListedObject[]
  /** For names that exist there. */
  readonly existing: Existing
  readonly keepsAcl: boolean
}

/** One object of a plan. */
export interface CopyTask extends ListedObject {
  /** Of a move whose source is still there: as long as the copy is, too, only the source has to be deleted. */
  copied?: Copied
}

interface Copied {
  /** The state that was copied. */
  readonly source: ObjectDetails
  readonly to: ObjectPlace
  /** Of the copy. */
  readonly etag: string
}

/** A held version cannot leave: a delete marker would hide it, and the copy would not be held. */
class NotMoved extends Error {}

const isInTheWay = (error: unknown): boolean => error instanceof ApiFailure && error.condition === 'If-None-Match'

const NAMES_MAX = 100

/** Undefined where the name is taken and nothing was done. A key that stands for a folder gets no other name. */
async function copyTo(
  key: string,
  order: Omit<CopyOrder, 'to'>,
  { to, existing }: CopyPlan,
): Promise<Copied | undefined> {
  const names = existing === 'rename' && !key.endsWith('/') ? NAMES_MAX : 1
  for (let number = 1; number <= names; number++) {
    const target = { bucket: to.bucket, key: numberedKey(key, number) }
    try {
      const etag = await copyObject({ ...order, to: target, isNew: existing !== 'replace' })
      return { source: order.source, to: target, etag }
    } catch (error) {
      if (!isInTheWay(error)) throw error
    }
  }
  return undefined
}

/** A copy that somebody removed or replaced after it was made is no reason to delete its source. */
async function isStillThere({ to, etag }: Copied): Promise<boolean> {
  try {
    return (await objectDetails(to.bucket, to.key)).etag === etag
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return false
    throw error
  }
}

/** False where the name is taken and nothing was done. No request is begun after the signal is aborted. */
export async function runTask(plan: CopyPlan, task: CopyTask, signal: AbortSignal): Promise<boolean> {
  const from = { bucket: plan.from.bucket, key: task.key }
  if (task.copied !== undefined && !(await isStillThere(task.copied))) delete task.copied
  if (task.copied === undefined) {
    const source = await objectDetails(from.bucket, from.key)
    if (plan.kind === 'move' && isLocked(source)) throw new NotMoved(t.notMoved)
    const grants = plan.keepsAcl ? grantsToKeep(await readAcl(from, signal)) : []
    const copied = await copyTo(targetKey(plan, task.key), { from, source, grants, signal }, plan)
    if (copied === undefined) return false
    task.copied = copied
  }
  signal.throwIfAborted()
  if (plan.kind === 'move') await deleteCopied(from, task.copied.source)
  return true
}
