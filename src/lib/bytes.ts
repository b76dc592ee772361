/** Byte strings compare as memcmp does: that order is the order of every key in the store. */
export const EMPTY: Buffer = Buffer.alloc(0)

/** The smallest byte string greater than every string that starts with `prefix`; undefined when there is none. */
export function afterPrefix(prefix: Uint8Array): Buffer | undefined {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === 0xff) end--
  if (end === 0) return undefined
  const out = Buffer.from(prefix.subarray(0, end))
  out[end - 1] = out[end - 1]! + 1
  return out
}

/** The smallest byte string greater than `bytes`. */
export function justAfter(bytes: Uint8Array): Buffer {
  const out = Buffer.alloc(bytes.length + 1)
  out.set(bytes)
  return out
}

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false
  return true
}
