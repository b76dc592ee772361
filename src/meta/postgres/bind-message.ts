/** The messages that run a prepared statement, as one buffer: Bind, Execute, Sync. All values are binary. */

const BIND = 'B'.charCodeAt(0)
const BINARY = 1
const NULL = -1
/** The unnamed portal, all rows; then the end of the transaction. */
const EXECUTE_AND_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1')

/** Length, names with their zeros, one format for all parameters, their count, one format for all columns. */
const fixedBytes = (nameBytes: number): number => 4 + 1 + nameBytes + 1 + 4 + 2 + 4

/** A parameter in its type's binary format; undefined is NULL. */
export type BinaryValue = Buffer | undefined

export function runMessages(statement: string, values: readonly BinaryValue[]): Buffer {
  const nameBytes = Buffer.byteLength(statement)
  let length = fixedBytes(nameBytes)
  for (const value of values) length += 4 + (value?.length ?? 0)
  const out = Buffer.allocUnsafe(1 + length + EXECUTE_AND_SYNC.length)
  out[0] = BIND
  let at = out.writeInt32BE(length, 1)
  out[at++] = 0
  at += out.write(statement, at)
  out[at++] = 0
  at = out.writeInt16BE(1, at)
  at = out.writeInt16BE(BINARY, at)
  at = out.writeInt16BE(values.length, at)
  for (const value of values) {
    at = out.writeInt32BE(value?.length ?? NULL, at)
    if (value !== undefined) at += value.copy(out, at)
  }
  at = out.writeInt16BE(1, at)
  at = out.writeInt16BE(BINARY, at)
  EXECUTE_AND_SYNC.copy(out, at)
  return out
}
