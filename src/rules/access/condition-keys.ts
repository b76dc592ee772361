/**
 * The condition keys that policies may ask about, by their neutral names. The edge fills in those that describe the
 * request; those that follow from the caller, the bucket and the object are filled in by the evaluator itself, so that
 * nobody can forget or forge them.
 */

/** Neutral key → its values in this request. A key that does not apply is absent. */
export type Context = ReadonlyMap<string, readonly string[]>

export const REQUEST_KEYS = [
  'acl',
  'authtype',
  'content-sha256',
  'copy-source',
  'currenttime',
  'delimiter',
  'epochtime',
  'grant-full-control',
  'grant-read',
  'grant-read-acp',
  'grant-write',
  'grant-write-acp',
  'if-match',
  'if-none-match',
  'locationconstraint',
  'max-keys',
  'metadata-directive',
  'object-lock-legal-hold',
  'object-lock-mode',
  'object-lock-remaining-retention-days',
  'object-lock-retain-until-date',
  'object-ownership',
  'prefix',
  'referer',
  'requestobjecttagkeys',
  'securetransport',
  'server-side-encryption',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-kms-key-id',
  'signatureversion',
  'sourceip',
  'storage-class',
  'useragent',
  'versionid',
  'website-redirect-location',
] as const

/** Filled in by the evaluator from the caller and the bucket. */
export const DERIVED_KEYS = [
  'principalaccount',
  'principalarn',
  'principaltype',
  'resourceaccount',
  'userid',
  'username',
] as const

/** A tag's name follows these: `existingobjecttag/colour`. The first kind is filled in from the object. */
export const EXISTING_TAG = 'existingobjecttag/'
export const REQUEST_TAG = 'requestobjecttag/'

const KNOWN: ReadonlySet<string> = new Set([...REQUEST_KEYS, ...DERIVED_KEYS])

export function isConditionKey(key: string): boolean {
  if (KNOWN.has(key)) return true
  return [EXISTING_TAG, REQUEST_TAG].some(prefix => key.startsWith(prefix) && key.length > prefix.length)
}

/** Keys that may stand as `${…}` inside a pattern or a value: each has at most one value. */
const VARIABLES: ReadonlySet<string> = new Set([
  'prefix',
  'principalaccount',
  'principalarn',
  'principaltype',
  'sourceip',
  'userid',
  'username',
])

export const isVariable = (key: string): boolean => VARIABLES.has(key)
