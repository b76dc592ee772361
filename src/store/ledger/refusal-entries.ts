import type { LockReason } from '../../model/ledger.ts'
import type { LedgerContext } from './ledger-append.ts'
import type { LedgerGroupCommit } from './ledger-group-commit.ts'

interface RefusalContext extends LedgerContext {
  readonly ledgerCommits: LedgerGroupCommit
}

/** A lock that refused a request, on its way into the ledger. */
export interface LedgerRefusal {
  readonly context: RefusalContext
  readonly bucket: string
  readonly what: 'delete refused' | 'retention refused'
  readonly key: string
  readonly versionId: string
  readonly reason: LockReason
}

interface Waiting {
  times: number
  done: Promise<void> | undefined
}

/** Refusals of one kind that wait for the same commit are one entry that counts them. */
export class RefusalEntries {
  readonly #waiting = new Map<string, Waiting>()
  /** In this process since its start. */
  total = 0

  async note(refusal: LedgerRefusal): Promise<void> {
    this.total++
    const { context, bucket, what, key, versionId, reason } = refusal
    const { request: _, ...who } = context.actor
    const name = JSON.stringify([bucket, what, key, versionId, reason, who])
    const same = this.#waiting.get(name)
    if (same !== undefined) {
      same.times++
      return same.done
    }
    const first: Waiting = { times: 1, done: undefined }
    this.#waiting.set(name, first)
    first.done = context.ledgerCommits.append(context, bucket, async (_d, note) => {
      // From the first attempt on nobody joins: whoever waits is told only what is in the commit.
      if (this.#waiting.get(name) === first) this.#waiting.delete(name)
      note({ what, key, versionId, reason, ...(first.times > 1 ? { times: first.times } : {}) })
    })
    return first.done
  }
}
