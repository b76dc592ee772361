/**
 * The condition keys that policies may use, by their neutral names. The edge provides those that describe the request;
 * the evaluator derives those of the caller, the bucket and the object itself, so that a request cannot forge them.
 */

import { ABSENT_KEYS, ABSENT_LISTS, ABSENT_TAGS } from './absent-keys.ts'

/** Neutral key to its values in this request. A key without a value is absent. */
export type ConditionContext = ReadonlyMap<string, readonly string[]>

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
  'objectcreationoperation',
  'prefix',
  'referer',
  'requestedregion',
  'requestobjecttagkeys',
  'securetransport',
  'server-side-encryption',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-kms-key-id',
  'signatureage',
  'signatureversion',
  'sourceip',
  'storage-class',
  'tagkeys',
  'tlsversion',
  'useragent',
  'versionid',
  'website-redirect-location',
] as const

/** Derived by the evaluator from the caller and the bucket. */
export const DERIVED_KEYS = [
  'principalaccount',
  'principalarn',
  'principalisawsservice',
  'principaltype',
  'resourceaccount',
  'userid',
  'username',
  'viaawsservice',
] as const

/** Prefixes of tag keys, as in `existingobjecttag/colour`. The evaluator derives existing tags from the object. */
export const EXISTING_TAG = 'existingobjecttag/'
export const REQUEST_TAG = 'requestobjecttag/'
/** Tags of a bucket in CreateBucket. */
export const BUCKET_TAG = 'requesttag/'

const TAGS: readonly string[] = [EXISTING_TAG, REQUEST_TAG, BUCKET_TAG, ...ABSENT_TAGS]

const KNOWN: ReadonlySet<string> = new Set([...REQUEST_KEYS, ...DERIVED_KEYS, ...ABSENT_KEYS])

export function isConditionKey(key: string): boolean {
  if (KNOWN.has(key)) return true
  return TAGS.some(prefix => key.startsWith(prefix) && key.length > prefix.length)
}

const SEVERAL_VALUES: ReadonlySet<string> = new Set(['requestobjecttagkeys', 'tagkeys', ...ABSENT_LISTS])

/** Keys that may be used as a policy variable `${…}`: those with at most one value. */
export const isVariable = (key: string): boolean => isConditionKey(key) && !SEVERAL_VALUES.has(key)
