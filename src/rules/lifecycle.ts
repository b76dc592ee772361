/** What lifecycle rules mean for one object or one upload: when it goes, and by which rule. */
import type { Pairs } from '../model/version.ts'
import { formatHttpDate } from './http-date.ts'

export interface LifecycleFilter {
  readonly prefix: string
  /** All of them. */
  readonly tags: Pairs
  readonly largerThan: number | undefined
  readonly smallerThan: number | undefined
}

export interface LifecycleRule {
  readonly id: string
  readonly enabled: boolean
  readonly filter: LifecycleFilter
  readonly expireAfterDays: number | undefined
  readonly expireAt: number | undefined
  /** Markers that hide nothing any more are removed. */
  readonly removesLoneMarkers: boolean
  /** Versions that are no longer current go so long after that, but this many of the newest of them stay. */
  readonly noncurrent: { readonly days: number; readonly keepNewest: number } | undefined
  readonly abortAfterDays: number | undefined
}

/** Something is due at a moment, by a rule. */
export interface Due {
  readonly at: number
  readonly ruleId: string
}

export interface ExpiringObject {
  readonly key: string
  readonly size: number
  readonly tags: Pairs
  readonly modifiedAt: number
}

const DAY_MS = 86_400_000
/** The end of the year 9999: no date that is written comes later. */
const DATE_MAX = 253_402_300_799_999

/** R67. Whole days after a moment, then up to the next midnight UTC. */
export const afterDays = (from: number, days: number): number => Math.ceil((from + days * DAY_MS) / DAY_MS) * DAY_MS

export function matchesFilter({ prefix, tags, largerThan, smallerThan }: LifecycleFilter, of: ExpiringObject): boolean {
  return (
    of.key.startsWith(prefix) &&
    (largerThan === undefined || of.size > largerThan) &&
    (smallerThan === undefined || of.size < smallerThan) &&
    tags.every(([key, value]) => of.tags.some(([k, v]) => k === key && v === value))
  )
}

function earliest(all: readonly Due[]): Due | undefined {
  return all
    .filter(({ at }) => at <= DATE_MAX)
    .reduce<Due | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined)
}

/** R89. When the object expires, by the rule that takes it first. */
export function expirationOf(rules: readonly LifecycleRule[], of: ExpiringObject): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, expireAfterDays, expireAt } of rules) {
    if (!enabled || !matchesFilter(filter, of)) continue
    if (expireAfterDays !== undefined) due.push({ at: afterDays(of.modifiedAt, expireAfterDays), ruleId: id })
    if (expireAt !== undefined) due.push({ at: expireAt, ruleId: id })
  }
  return earliest(due)
}

/** R67. When an upload that is neither completed nor aborted is aborted. Filters on tags and sizes never match one. */
export function abortOf(rules: readonly LifecycleRule[], key: string, initiatedAt: number): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, abortAfterDays } of rules) {
    if (!enabled || abortAfterDays === undefined || !key.startsWith(filter.prefix)) continue
    due.push({ at: afterDays(initiatedAt, abortAfterDays), ruleId: id })
  }
  return earliest(due)
}

const encoded = (id: string): string =>
  encodeURIComponent(id).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** R89. The value of the expiration header. */
export const expirationText = ({ at, ruleId }: Due): string =>
  `expiry-date="${formatHttpDate(at)}", rule-id="${encoded(ruleId)}"`

/** R67. A rule's name as a header carries it: as it is where that can be. */
export const ruleIdText = (ruleId: string): string => (/^[\x20-\x7e]*$/.test(ruleId) ? ruleId : encoded(ruleId))
