import assert from 'node:assert/strict'

/** G20. A limit on everything, named once, the unit last. */
export const LIMITS = {
  keyBytesMax: 1024,
  partNumberMax: 10_000,
  partBytesMin: 5 * 2 ** 20,
  partBytesMax: 5 * 2 ** 30,
  objectPutBytesMax: 5 * 2 ** 30,
  copyBytesMax: 5 * 2 ** 30,
  listKeysMax: 1000,
  keyContextBytesMax: 8192,
  keyNameCharactersMax: 2048,
} as const

// A whole object of the largest single size fits the part count many times over.
assert(LIMITS.partNumberMax * LIMITS.partBytesMin > LIMITS.objectPutBytesMax)
