/**
 * Deletion notes in the engine itself. A journal is synced after its commits, so a crash may lose its end, and a
 * deleted record would then look like one lost to damage. A commit that deletes therefore also stores the deleted keys
 * in a note, until the journal with the same deletion is on stable storage.
 */
import { startsWith } from '../../lib/bytes.ts'
import type { Entry, Meta, Write } from '../meta.ts'
import { ENGINE_KEYS } from '../meta.ts'

/** Notes removed in one transaction. */
const NOTES_PER_BATCH = 64

export interface DeletionNote {
  readonly generation: number
  /** Writer id of the process in hexadecimal. */
  readonly writer: string
  /** Number of the commit in its journal. */
  readonly seq: number
  readonly keys: readonly Buffer[]
}

/** Key prefix, generation 4, writer 6, slot 4. */
export function deletionNoteKey(generation: number, writer: Buffer, slot: number): Buffer {
  const key = Buffer.allocUnsafe(ENGINE_KEYS.length + 14)
  ENGINE_KEYS.copy(key)
  key.writeUInt32BE(generation, ENGINE_KEYS.length)
  writer.copy(key, ENGINE_KEYS.length + 4)
  key.writeUInt32BE(slot, ENGINE_KEYS.length + 10)
  return key
}

export const isDeletionNote = (key: Buffer): boolean => startsWith(key, ENGINE_KEYS)

/** Commit number 8, then each key with its length 2. */
export function noteValue(seq: number, writes: readonly Write[]): Buffer {
  let bytes = 8
  for (const { key, value } of writes) if (value === undefined) bytes += 2 + key.length
  const out = Buffer.allocUnsafe(bytes)
  out.writeDoubleBE(seq, 0)
  let at = 8
  for (const { key, value } of writes) {
    if (value !== undefined) continue
    out.writeUInt16BE(key.length, at)
    out.set(key, at + 2)
    at += 2 + key.length
  }
  return out
}

export function readNote({ key, value }: Pick<Entry, 'key' | 'value'>): DeletionNote {
  const at = ENGINE_KEYS.length
  const keys: Buffer[] = []
  for (let from = 8; from + 2 <= value.length; ) {
    const end = from + 2 + value.readUInt16BE(from)
    keys.push(value.subarray(from + 2, end))
    from = end
  }
  return {
    generation: key.readUInt32BE(at),
    writer: key.toString('hex', at + 4, at + 10),
    seq: value.readDoubleBE(0),
    keys,
  }
}

/** A slot that was reused meanwhile is kept. */
export async function removeNotes(engine: Meta, notes: readonly Entry[]): Promise<void> {
  for (let from = 0; from < notes.length; from += NOTES_PER_BATCH) {
    const batch = notes.slice(from, from + NOTES_PER_BATCH)
    await Promise.all(
      batch.map(({ key, stamp }) => engine.commit({ checks: [{ key, stamp }], writes: [{ key, value: undefined }] })),
    )
  }
}
