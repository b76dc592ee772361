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

interface PendingRefusal {
  times: number
  done: Promise<void> | undefined
}

/** Refusals of the same kind that wait for one commit become one entry with a count. */
export class RefusalEntries {
  readonly #pending = new Map<string, PendingRefusal>()
  /** Refusals of this process since its start. */
  total = 0

  async note(refusal: LedgerRefusal): Promise<void> {
    this.total++
    const { context, bucket, what, key, versionId, reason } = refusal
    const { request: _, ...who } = context.actor
    const name = JSON.stringify([bucket, what, key, versionId, reason, who])
    const same = this.#pending.get(name)
    if (same !== undefined) {
      same.times++
      return same.done
    }
    const first: PendingRefusal = { times: 1, done: undefined }
    this.#pending.set(name, first)
    const close = (): void => {
      if (this.#pending.get(name) === first) this.#pending.delete(name)
    }
    const recorded = context.ledgerCommits.transact(context, bucket, async (_d, note) => {
      // Later refusals start a new entry: a refusal is reported only once an entry includes it.
      close()
      note({ what, key, versionId, reason, ...(first.times > 1 ? { times: first.times } : {}) })
    })
    // The request may expire before its attempt begins; later refusals must not share that failure.
    first.done = recorded.finally(close)
    return first.done
  }
}
