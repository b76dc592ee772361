import assert from 'node:assert/strict'

/** G20. Limits of the API; each name ends in its unit and bound. */
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

// The largest single-PUT object can always be uploaded in parts as well.
assert(LIMITS.partNumberMax * LIMITS.partBytesMin > LIMITS.objectPutBytesMax)
