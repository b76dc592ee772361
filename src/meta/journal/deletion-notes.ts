/**
 * Notes about deletions, in the engine itself. A journal is synced after its commits, so a crash may take the end of it
 * along, and then a record that was deleted looks like one that damage made vanish. A commit that deletes therefore
 * leaves the keys in a record beside, until the journal that tells the same is on stable storage.
 */
import { startsWith } from '../../lib/bytes.ts'
import type { Entry, Meta, Write } from '../meta.ts'
import { ENGINE_KEYS } from '../meta.ts'

/** They share a transaction. */
const NOTES_AT_ONCE = 64

export interface DeletionNote {
  readonly generation: number
  /** Of the process, in hexadecimal. */
  readonly writer: string
  /** The commit, as its journal counts. */
  readonly seq: number
  readonly keys: readonly Buffer[]
}

/** Kind of record, generation 4, writer 6, place 4. */
export function deletionNoteKey(generation: number, writer: Buffer, place: number): Buffer {
  const key = Buffer.allocUnsafe(ENGINE_KEYS.length + 14)
  ENGINE_KEYS.copy(key)
  key.writeUInt32BE(generation, ENGINE_KEYS.length)
  writer.copy(key, ENGINE_KEYS.length + 4)
  key.writeUInt32BE(place, ENGINE_KEYS.length + 10)
  return key
}

export const isDeletionNote = (key: Buffer): boolean => startsWith(key, ENGINE_KEYS)

/** The commit's number 8, then each key with its length 2. */
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

/** A place that was used again meanwhile stays. */
export async function removeNotes(engine: Meta, notes: readonly Entry[]): Promise<void> {
  for (let from = 0; from < notes.length; from += NOTES_AT_ONCE) {
    const some = notes.slice(from, from + NOTES_AT_ONCE)
    await Promise.all(
      some.map(({ key, stamp }) => engine.commit({ checks: [{ key, stamp }], writes: [{ key, value: undefined }] })),
    )
  }
}
