/**
 * Appends to a bucket's ledger inside the commit that makes the recorded change. The chain belongs to the bucket's name
 * and never restarts: a recreated bucket continues where the removed one ended.
 */
import type { Keyring } from '../../crypto/keyring.ts'
import type { Entry } from '../../meta/meta.ts'
import {
  type Actor,
  isLockChange,
  type LedgerNote,
  ledgerEntryFormat,
  ledgerHeadFormat,
  ledgerIndexFormat,
} from '../../model/ledger.ts'
import { checkpointText, entryText, genesisHash, hashOf, type LedgerName } from '../../rules/ledger.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction, TransactionContext } from '../commit/transaction.ts'

/** The part of the store that appending to a ledger needs. */
export interface LedgerContext extends TransactionContext {
  readonly keyring: Pick<Keyring, 'id' | 'signing'>
  /** On whose behalf everything is done. */
  readonly actor: Actor
}

/** A note and the actor that caused it. */
export interface AttributedNote {
  readonly note: LedgerNote
  readonly by: Actor
}

export const ledgerName = ({ keyring }: Pick<LedgerContext, 'keyring'>, bucket: string): LedgerName => ({
  store: keyring.id.toString('hex'),
  bucket,
})

/** Refuses to append after a missing or rolled-back head: new entries would overwrite old ones, which are evidence. */
async function refuseToOverwrite(tx: Transaction, bucket: string, head: Entry | undefined): Promise<void> {
  const entries = head === undefined ? 0 : ledgerHeadFormat.decode(head.value).entries
  if ((await tx.get(recordKey.ledgerEntry(bucket, entries + 1))) === undefined) return
  // Another process may have appended since the head was read; the commit then fails and the attempt is repeated.
  const now = await tx.get(recordKey.ledgerHead(bucket))
  if (now?.stamp === head?.stamp) throw new Error(`the ledger of ${bucket} has entries after its signed head`)
}

/** The transaction checks the head of the chain, so that concurrent appends cannot take the same sequence number. */
export async function appendToLedger(
  context: LedgerContext,
  tx: Transaction,
  bucket: string,
  notes: readonly AttributedNote[],
): Promise<void> {
  if (notes.length === 0) return
  const name = ledgerName(context, bucket)
  const headEntry = await tx.get(recordKey.ledgerHead(bucket))
  const head = headEntry && ledgerHeadFormat.decode(headEntry.value)
  await refuseToOverwrite(tx, bucket, headEntry)
  const time = context.clock.now()
  let entries = head?.entries ?? 0
  let last = head?.last ?? genesisHash(name)
  for (const { note, by } of notes) {
    const text = entryText({ sequence: ++entries, time, previous: last }, by, note)
    last = hashOf(text)
    tx.put(recordKey.ledgerEntry(bucket, entries), ledgerEntryFormat.encode(text))
    // Lock changes are indexed by version, so they are found however many refused deletes follow.
    if (isLockChange(note)) {
      tx.put(recordKey.ledgerIndex(bucket, note.key, note.versionId, entries), ledgerIndexFormat.encode({}))
    }
  }
  const signature = context.keyring.signing.sign(checkpointText(name, { entries, last, time }))
  tx.put(recordKey.ledgerHead(bucket), ledgerHeadFormat.encode({ entries, last, time, signature }))
}
