/** Condition values for the tags and locks of a request, the same whether they come from a header or a document. */
import type { Lock, Pairs } from '../../model/version.ts'
import { formatTimestamp } from '../http-date.ts'
import { BUCKET_TAG, REQUEST_TAG } from './condition-keys.ts'

export type ConditionValues = readonly (readonly [key: string, values: readonly string[]])[]

/** Keys that a tag document provides; one that ends with a slash stands for all keys with that prefix. */
export const KEYS_FROM_TAGS = [REQUEST_TAG, 'requestobjecttagkeys'] as const

export function conditionsFromTags(tags: Pairs): ConditionValues {
  if (tags.length === 0) return []
  return [
    ...tags.map(([name, value]) => [REQUEST_TAG + name, [value]] as const),
    ['requestobjecttagkeys', tags.map(([name]) => name)],
  ]
}

/** Keys that the tags of a new bucket provide. */
export const KEYS_FROM_BUCKET_TAGS = [BUCKET_TAG, 'tagkeys'] as const

export function conditionsFromBucketTags(tags: Pairs): ConditionValues {
  if (tags.length === 0) return []
  return [
    ...tags.map(([name, value]) => [BUCKET_TAG + name, [value]] as const),
    ['tagkeys', tags.map(([name]) => name)],
  ]
}

export const KEYS_FROM_RETENTION = [
  'object-lock-mode',
  'object-lock-retain-until-date',
  'object-lock-remaining-retention-days',
] as const

const DAY_MS = 86_400_000
/** Condition dates have four-digit years; later dates are clamped. */
const DATE_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A started day counts as a whole one: a client that retains for ten days gets ten, despite the time in transit. */
export const conditionsFromDate = (until: number, now: number): ConditionValues => [
  ['object-lock-retain-until-date', [formatTimestamp(Math.min(until, DATE_MAX))]],
  ['object-lock-remaining-retention-days', [String(Math.ceil((until - now) / DAY_MS))]],
]

export function conditionsFromRetention(retention: Lock['retention'], now: number): ConditionValues {
  if (retention === undefined) return []
  return [['object-lock-mode', [retention.mode.toUpperCase()]], ...conditionsFromDate(retention.until, now)]
}

export const KEYS_FROM_HOLD = ['object-lock-legal-hold'] as const

export const conditionsFromHold = (isOn: boolean): ConditionValues => [
  ['object-lock-legal-hold', [isOn ? 'ON' : 'OFF']],
]
