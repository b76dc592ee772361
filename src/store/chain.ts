/**
 * Appends to a bucket's ledger inside the commit that does what is noted. The chain belongs to the bucket's name and is
 * never begun anew: whoever removes a bucket and makes it again goes on where the old one ended.
 */
import type { Entry } from '../meta/meta.ts'
import {
  type Actor,
  changesVersion,
  ledgerEntryFormat,
  ledgerHeadFormat,
  ledgerIndexFormat,
  type Note,
} from '../model/ledger.ts'
import { beginning, checkpointText, entryText, hashOf, type LedgerName } from '../rules/ledger.ts'
import { at } from './addresses.ts'
import type { Decision } from './decision.ts'
import type { Engine } from './engine.ts'

/** A note and who caused it. */
export interface Noted {
  readonly note: Note
  readonly by: Actor
}

export const ledgerName = ({ keyring }: Engine, bucket: string): LedgerName => ({
  store: keyring.id.toString('hex'),
  bucket,
})

/** An end that was put back or is gone would let new entries take the places of old ones: they are evidence. */
async function refuseToOverwrite(d: Decision, bucket: string, head: Entry | undefined): Promise<void> {
  const entries = head === undefined ? 0 : ledgerHeadFormat.decode(head.value).entries
  if ((await d.get(at.ledgerEntry(bucket, entries + 1))) === undefined) return
  // Somebody may have appended since the end was read; then the commit fails, and all is read again.
  const now = await d.get(at.ledgerHead(bucket))
  if (now?.stamp === head?.stamp) throw new Error(`the ledger of ${bucket} goes on behind its signed end`)
}

/** The decision depends on the end of the chain: two that append at once cannot both be next. */
export async function append(engine: Engine, d: Decision, bucket: string, noted: readonly Noted[]): Promise<void> {
  if (noted.length === 0) return
  const name = ledgerName(engine, bucket)
  const stored = await d.get(at.ledgerHead(bucket))
  const head = stored && ledgerHeadFormat.decode(stored.value)
  await refuseToOverwrite(d, bucket, stored)
  const time = engine.clock.now()
  let entries = head?.entries ?? 0
  let last = head?.last ?? beginning(name)
  for (const { note, by } of noted) {
    const text = entryText({ sequence: ++entries, time, previous: last }, by, note)
    last = hashOf(text)
    d.put(at.ledgerEntry(bucket, entries), ledgerEntryFormat.encode(text))
    // What changed a lock is found by its version, however many deletes the lock has refused since.
    if (changesVersion(note)) {
      d.put(at.ledgerIndex(bucket, note.key, note.versionId, entries), ledgerIndexFormat.encode({}))
    }
  }
  const signature = engine.keyring.signing.sign(checkpointText(name, { entries, last, time }))
  d.put(at.ledgerHead(bucket), ledgerHeadFormat.encode({ entries, last, time, signature }))
}
