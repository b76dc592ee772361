/**
 * A row of the second copy: one write of one key, with its position in the order of all writes. Journals contain rows
 * in commit order, snapshots and sorted runs in key order.
 */

/** A generation is one start on a folder; within it, LMDB's transaction numbers are the order. */
export interface CommitOrder {
  readonly generation: number
  readonly txn: number
  /** Numbers the commits of one process, which orders those that share a transaction. */
  readonly seq: number
}

export interface CopyRow extends CommitOrder {
  readonly key: Buffer
  /** Undefined: the key was deleted. */
  readonly value: Buffer | undefined
  /** The engine's stamp; zero for a deletion. */
  readonly stamp: number
}

/** generation 4, txn 8, seq 8, stamp 8, key length 2, value length plus one 4 (zero: a deletion). */
export const ROW_HEAD_BYTES = 34
const KEY_LENGTH_AT = 28

export const compareOrder = (a: CommitOrder, b: CommitOrder): number =>
  a.generation - b.generation || a.txn - b.txn || a.seq - b.seq

export const rowBytes = (key: Buffer, value: Buffer | undefined): number =>
  ROW_HEAD_BYTES + key.length + (value?.length ?? 0)

/** Encodes a row at `at`; returns the end. */
export function writeRow(
  into: Buffer,
  at: number,
  order: CommitOrder,
  row: Pick<CopyRow, 'key' | 'value' | 'stamp'>,
): number {
  const { key, value, stamp } = row
  into.writeUInt32BE(order.generation, at)
  into.writeDoubleBE(order.txn, at + 4)
  into.writeDoubleBE(order.seq, at + 12)
  into.writeDoubleBE(stamp, at + 20)
  into.writeUInt16BE(key.length, at + KEY_LENGTH_AT)
  into.writeUInt32BE(value === undefined ? 0 : value.length + 1, at + 30)
  into.set(key, at + ROW_HEAD_BYTES)
  const end = at + ROW_HEAD_BYTES + key.length
  if (value === undefined) return end
  into.set(value, end)
  return end + value.length
}

/** Decodes the rows of a verified frame; they reference its memory. */
export function readRows(frame: Buffer): CopyRow[] {
  const rows: CopyRow[] = []
  for (let at = 0; at < frame.length; ) {
    const keyEnd = at + ROW_HEAD_BYTES + frame.readUInt16BE(at + KEY_LENGTH_AT)
    const size = frame.readUInt32BE(at + 30)
    const end = size === 0 ? keyEnd : keyEnd + size - 1
    if (end > frame.length) throw new RangeError('a row exceeds its frame')
    rows.push({
      ...orderAt(frame, at),
      stamp: frame.readDoubleBE(at + 20),
      key: frame.subarray(at + ROW_HEAD_BYTES, keyEnd),
      value: size === 0 ? undefined : frame.subarray(keyEnd, end),
    })
    at = end
  }
  return rows
}

/**
 * True when a damaged frame still contains a later deletion of this key. Such a long match does not occur by chance.
 */
export function showsDeletion(
  damagedFrame: Buffer,
  { key, ...known }: CommitOrder & { readonly key: Buffer },
): boolean {
  const row = Buffer.alloc(ROW_HEAD_BYTES + key.length)
  row.writeUInt16BE(key.length, KEY_LENGTH_AT)
  row.set(key, ROW_HEAD_BYTES)
  // From the key length on: the bytes before it differ between rows.
  const pattern = row.subarray(KEY_LENGTH_AT)
  for (let at = damagedFrame.indexOf(pattern); at >= 0; at = damagedFrame.indexOf(pattern, at + 1)) {
    if (at >= KEY_LENGTH_AT && compareOrder(orderAt(damagedFrame, at - KEY_LENGTH_AT), known) > 0) return true
  }
  return false
}

const orderAt = (frame: Buffer, at: number): CommitOrder => ({
  generation: frame.readUInt32BE(at),
  txn: frame.readDoubleBE(at + 4),
  seq: frame.readDoubleBE(at + 12),
})
