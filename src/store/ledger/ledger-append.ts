/**
 * Appends to a bucket's ledger inside the commit that does what is noted. The chain belongs to the bucket's name and is
 * never begun anew: whoever removes a bucket and makes it again goes on where the old one ended.
 */
import type { Keyring } from '../../crypto/keyring.ts'
import type { Entry } from '../../meta/meta.ts'
import {
  type Actor,
  changesVersion,
  type LedgerNote,
  ledgerEntryFormat,
  ledgerHeadFormat,
  ledgerIndexFormat,
} from '../../model/ledger.ts'
import { checkpointText, entryText, genesisHash, hashOf, type LedgerName } from '../../rules/ledger.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction, TransactionContext } from '../commit/transaction.ts'

/** What appending to a ledger needs of the store. */
export interface LedgerContext extends TransactionContext {
  readonly keyring: Pick<Keyring, 'id' | 'signing'>
  /** On whose behalf everything is done. */
  readonly actor: Actor
}

/** A note and who caused it. */
export interface AttributedNote {
  readonly note: LedgerNote
  readonly by: Actor
}

export const ledgerName = ({ keyring }: Pick<LedgerContext, 'keyring'>, bucket: string): LedgerName => ({
  store: keyring.id.toString('hex'),
  bucket,
})

/** An end that was put back or is gone would let new entries take the places of old ones: they are evidence. */
async function refuseToOverwrite(tx: Transaction, bucket: string, head: Entry | undefined): Promise<void> {
  const entries = head === undefined ? 0 : ledgerHeadFormat.decode(head.value).entries
  if ((await tx.get(recordKey.ledgerEntry(bucket, entries + 1))) === undefined) return
  // Somebody may have appended since the end was read; then the commit fails, and all is read again.
  const now = await tx.get(recordKey.ledgerHead(bucket))
  if (now?.stamp === head?.stamp) throw new Error(`the ledger of ${bucket} goes on behind its signed end`)
}

/** The decision depends on the end of the chain: two that append at once cannot both be next. */
export async function appendToLedger(
  context: LedgerContext,
  tx: Transaction,
  bucket: string,
  noted: readonly AttributedNote[],
): Promise<void> {
  if (noted.length === 0) return
  const name = ledgerName(context, bucket)
  const stored = await tx.get(recordKey.ledgerHead(bucket))
  const head = stored && ledgerHeadFormat.decode(stored.value)
  await refuseToOverwrite(tx, bucket, stored)
  const time = context.clock.now()
  let entries = head?.entries ?? 0
  let last = head?.last ?? genesisHash(name)
  for (const { note, by } of noted) {
    const text = entryText({ sequence: ++entries, time, previous: last }, by, note)
    last = hashOf(text)
    tx.put(recordKey.ledgerEntry(bucket, entries), ledgerEntryFormat.encode(text))
    // What changed a lock is found by its version, however many deletes the lock has refused since.
    if (changesVersion(note)) {
      tx.put(recordKey.ledgerIndex(bucket, note.key, note.versionId, entries), ledgerIndexFormat.encode({}))
    }
  }
  const signature = context.keyring.signing.sign(checkpointText(name, { entries, last, time }))
  tx.put(recordKey.ledgerHead(bucket), ledgerHeadFormat.encode({ entries, last, time, signature }))
}
