/**
 * A row of the second copy: one write of one key, with its place in the order of all writes. Journals hold rows in the
 * order of commits, snapshots and sorted runs in the order of keys.
 */

/** Generations count the starts on a folder; within one, LMDB's transactions are the order. */
export interface CommitOrder {
  readonly generation: number
  readonly txn: number
  /** Counts the commits of one process: what tells those apart that share a transaction. */
  readonly seq: number
}

export interface CopyRow extends CommitOrder {
  readonly key: Buffer
  /** Undefined: the key was deleted. */
  readonly value: Buffer | undefined
  /** As the engine has it; zero for a deletion. */
  readonly stamp: number
}

/** generation 4, txn 8, seq 8, stamp 8, bytes of key 2, bytes of value plus one 4 (zero: a deletion). */
export const ROW_HEAD_BYTES = 34
const KEY_LENGTH_AT = 28

export const compareOrder = (a: CommitOrder, b: CommitOrder): number =>
  a.generation - b.generation || a.txn - b.txn || a.seq - b.seq

export const rowBytes = (key: Buffer, value: Buffer | undefined): number =>
  ROW_HEAD_BYTES + key.length + (value?.length ?? 0)

/** Lays a row out at `at`; where the next one goes. */
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

/** The rows of a frame, whose checksum was right; they stay parts of it. */
export function readRows(frame: Buffer): CopyRow[] {
  const rows: CopyRow[] = []
  for (let at = 0; at < frame.length; ) {
    const keyEnd = at + ROW_HEAD_BYTES + frame.readUInt16BE(at + KEY_LENGTH_AT)
    const size = frame.readUInt32BE(at + 30)
    const end = size === 0 ? keyEnd : keyEnd + size - 1
    if (end > frame.length) throw new RangeError('a row goes beyond its frame')
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
 * True when something that was a frame once still shows the deletion of this key, later than what is known of it. So
 * much of a row is not made by chance.
 */
export function showsDeletion(wreck: Buffer, { key, ...known }: CommitOrder & { readonly key: Buffer }): boolean {
  const row = Buffer.alloc(ROW_HEAD_BYTES + key.length)
  row.writeUInt16BE(key.length, KEY_LENGTH_AT)
  row.set(key, ROW_HEAD_BYTES)
  // From the length of the key on: what stands before it is different in each row.
  const shown = row.subarray(KEY_LENGTH_AT)
  for (let at = wreck.indexOf(shown); at >= 0; at = wreck.indexOf(shown, at + 1)) {
    if (at >= KEY_LENGTH_AT && compareOrder(orderAt(wreck, at - KEY_LENGTH_AT), known) > 0) return true
  }
  return false
}

const orderAt = (frame: Buffer, at: number): CommitOrder => ({
  generation: frame.readUInt32BE(at),
  txn: frame.readDoubleBE(at + 4),
  seq: frame.readDoubleBE(at + 12),
})
