/**
 * Limits that every driver checks first: a commit that one engine accepts and another rejects would make drivers
 * differ. Violations are caller errors, so they throw and nothing is written.
 */
import { META_LIMITS, type Minitransaction, type Write } from './meta.ts'

export function checkKeyLimits(key: Buffer): void {
  if (key.length === 0 || key.length > META_LIMITS.keyBytesMax) {
    throw new RangeError(`a metadata key has 1 to ${META_LIMITS.keyBytesMax} bytes, this one has ${key.length}`)
  }
}

/** A key as a Map key: one character per byte, so that text order is byte order. */
export const keyText = (key: Buffer): string => key.toString('latin1')

/** Up to this many keys pairwise comparison is faster than a set. */
const PAIRWISE_MAX = 6

function hasDuplicateKey(writes: readonly Write[]): boolean {
  if (writes.length > PAIRWISE_MAX) return new Set(writes.map(write => keyText(write.key))).size !== writes.length
  for (let i = 1; i < writes.length; i++) {
    const { key } = writes[i]!
    for (let j = 0; j < i; j++) {
      const other = writes[j]!.key
      // Most keys differ in their first byte, which is the kind, or in length.
      if (key[0] === other[0] && key.length === other.length && key.equals(other)) return true
    }
  }
  return false
}

export function checkCommitLimits({ checks, writes }: Minitransaction): void {
  let bytes = 0
  for (const { key } of checks) {
    checkKeyLimits(key)
    bytes += key.length
  }
  for (const { key, value } of writes) {
    checkKeyLimits(key)
    const length = value?.length ?? 0
    if (length > META_LIMITS.valueBytesMax) {
      throw new RangeError(`a metadata value has at most ${META_LIMITS.valueBytesMax} bytes, this one has ${length}`)
    }
    bytes += key.length + length
  }
  if (bytes > META_LIMITS.commitBytesMax) {
    throw new RangeError(`a metadata commit has at most ${META_LIMITS.commitBytesMax} bytes, this one has ${bytes}`)
  }
  if (hasDuplicateKey(writes)) throw new RangeError('a metadata commit writes a key at most once')
  if (checks.length + writes.length > META_LIMITS.commitKeysMax) {
    const keys = new Set([...checks, ...writes].map(part => keyText(part.key)))
    if (keys.size > META_LIMITS.commitKeysMax) {
      throw new RangeError(`a metadata commit touches at most ${META_LIMITS.commitKeysMax} keys, this one ${keys.size}`)
    }
  }
}
