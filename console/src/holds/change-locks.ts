/** Changes the locks of many versions, a few at a time. */
import { ApiFailure } from '../api/failure.ts'
import type { LockOrder, Target } from './lock-plan.ts'
import { putHold, putRetention } from './lock-requests.ts'

interface RefusedChange {
  readonly target: Target
  readonly message: string
}

export interface LockReport {
  readonly changed: number
  readonly refused: readonly RefusedChange[]
  readonly isStopped: boolean
}

interface Work {
  readonly bucket: string
  readonly todo: readonly Target[]
  readonly order: LockOrder
  readonly signal: AbortSignal
  readonly onProgress: (done: number) => void
}

const AT_ONCE = 8

function change(bucket: string, { key, versionId }: Target, { action, wanted, bypass }: LockOrder): Promise<void> {
  const place = { bucket, key, versionId }
  if (action === 'hold' || action === 'release') return putHold(place, action === 'hold')
  return putRetention(place, wanted, { bypass: bypass || action === 'lift' })
}

/** The signal stops it between two versions: no request is cut off, so that the report is right. */
export async function changeLocks({ bucket, todo, order, signal, onProgress }: Work): Promise<LockReport> {
  const left = todo.values()
  const refused: RefusedChange[] = []
  let changed = 0
  const changeNext = async (): Promise<void> => {
    for (const target of left) {
      if (signal.aborted) return
      try {
        await change(bucket, target, order)
        changed++
      } catch (error) {
        // Without a session every further one would fail, too.
        if (!(error instanceof ApiFailure) || error.status === 401) throw error
        refused.push({ target, message: error.message })
      }
      onProgress(changed + refused.length)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, changeNext))
  return { changed, refused, isStopped: changed + refused.length < todo.length }
}
