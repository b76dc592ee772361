/** Evaluates lifecycle rules for one object or upload: when it expires, and by which rule. */
import { percentEncoded } from '../lib/percent-encoding.ts'
import type { Pairs } from '../model/version.ts'
import { formatHttpDate } from './http-date.ts'

export interface LifecycleFilter {
  readonly prefix: string
  /** All of them must match. */
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
  /** Removes delete markers that no longer hide a version. */
  readonly removesLoneMarkers: boolean
  /** Noncurrent versions expire after `days`, except the newest `keepNewest` of them. */
  readonly noncurrent: { readonly days: number; readonly keepNewest: number } | undefined
  readonly abortAfterDays: number | undefined
  /** The rule has transitions, which are stored but never carried out. */
  readonly hasTransitions: boolean
}

/** An action that a rule makes due at a time. */
export interface Due {
  readonly at: number
  readonly ruleId: string
}

export const isDue = (due: Due | undefined, now: number): boolean => due !== undefined && due.at <= now

export interface ExpiringObject {
  readonly key: string
  readonly size: number
  readonly tags: Pairs
  readonly modifiedAt: number
}

const DAY_MS = 86_400_000
/** The end of the year 9999, the last date that the formats can express. */
const DATE_MAX = 253_402_300_799_999

/** R67. Whole days after a time, rounded up to the next midnight UTC. */
export const afterDays = (from: number, days: number): number => Math.ceil((from + days * DAY_MS) / DAY_MS) * DAY_MS

function matchesFilter({ prefix, tags, largerThan, smallerThan }: LifecycleFilter, of: ExpiringObject): boolean {
  return (
    of.key.startsWith(prefix) &&
    (largerThan === undefined || of.size > largerThan) &&
    (smallerThan === undefined || of.size < smallerThan) &&
    tags.every(([key, value]) => of.tags.some(([k, v]) => k === key && v === value))
  )
}

/** Only objects have tags and sizes: an upload has neither yet, and a delete marker never does. */
const filtersByPrefixOnly = ({ tags, largerThan, smallerThan }: LifecycleFilter): boolean =>
  tags.length === 0 && largerThan === undefined && smallerThan === undefined

const matchesName = (filter: LifecycleFilter, key: string): boolean =>
  key.startsWith(filter.prefix) && filtersByPrefixOnly(filter)

function earliest(all: readonly Due[]): Due | undefined {
  return all
    .filter(({ at }) => at <= DATE_MAX)
    .reduce<Due | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined)
}

/** R89. When the object expires, by the rule that applies first. */
export function expirationOf(rules: readonly LifecycleRule[], of: ExpiringObject): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, expireAfterDays, expireAt } of rules) {
    if (!enabled || !matchesFilter(filter, of)) continue
    if (expireAfterDays !== undefined) due.push({ at: afterDays(of.modifiedAt, expireAfterDays), ruleId: id })
    if (expireAt !== undefined) due.push({ at: expireAt, ruleId: id })
  }
  return earliest(due)
}

/** R67. When an incomplete upload is aborted. Filters on tags and sizes never match an upload. */
export function abortOf(rules: readonly LifecycleRule[], key: string, initiatedAt: number): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, abortAfterDays } of rules) {
    if (!enabled || abortAfterDays === undefined || !matchesName(filter, key)) continue
    due.push({ at: afterDays(initiatedAt, abortAfterDays), ruleId: id })
  }
  return earliest(due)
}

/** A noncurrent version or delete marker. */
interface NoncurrentVersion extends ExpiringObject {
  readonly marker: boolean
  /** When the next newer version was written, which made this one noncurrent. */
  readonly since: number
  /** How many noncurrent versions are newer than this one. */
  readonly newer: number
}

/** When a noncurrent version expires. */
export function noncurrentExpirationOf(rules: readonly LifecycleRule[], of: NoncurrentVersion): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, noncurrent } of rules) {
    if (!enabled || noncurrent === undefined || of.newer < noncurrent.keepNewest) continue
    if (of.marker ? !matchesName(filter, of.key) : !matchesFilter(filter, of)) continue
    due.push({ at: afterDays(of.since, noncurrent.days), ruleId: id })
  }
  return earliest(due)
}

/** How many newer noncurrent versions must be counted before the rules can be evaluated for one. */
export const newerVersionsNeeded = (rules: readonly LifecycleRule[]): number =>
  rules.reduce((most, { noncurrent }) => Math.max(most, noncurrent?.keepNewest ?? 0), 0)

/** When a lone delete marker expires: at once by a rule on markers, otherwise like an object of its age. */
export function loneMarkerExpirationOf(
  rules: readonly LifecycleRule[],
  key: string,
  modifiedAt: number,
): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, removesLoneMarkers, expireAfterDays, expireAt } of rules) {
    if (!enabled || !matchesName(filter, key)) continue
    if (removesLoneMarkers) due.push({ at: modifiedAt, ruleId: id })
    if (expireAfterDays !== undefined) due.push({ at: afterDays(modifiedAt, expireAfterDays), ruleId: id })
    if (expireAt !== undefined) due.push({ at: expireAt, ruleId: id })
  }
  return earliest(due)
}

type Concern = 'current' | 'noncurrent' | 'marker' | 'upload'

function isAbout(rule: LifecycleRule, what: Concern): boolean {
  const { filter, expireAfterDays, expireAt, removesLoneMarkers, noncurrent, abortAfterDays } = rule
  const expires = expireAfterDays !== undefined || expireAt !== undefined
  if (what === 'current') return expires
  if (what === 'noncurrent') return noncurrent !== undefined
  return (
    filtersByPrefixOnly(filter) && (what === 'upload' ? abortAfterDays !== undefined : expires || removesLoneMarkers)
  )
}

/** The prefixes to scan for candidates of the rules, none of which is a prefix of another. */
export function prefixesOf(rules: readonly LifecycleRule[], what: Concern): string[] {
  const found: string[] = []
  const wanted = rules.filter(rule => rule.enabled && isAbout(rule, what)).map(({ filter }) => filter.prefix)
  // After sorting, a longer prefix follows the shorter one that covers it.
  for (const prefix of wanted.sort()) {
    if (found.length === 0 || !prefix.startsWith(found.at(-1)!)) found.push(prefix)
  }
  return found
}

/** R89. The value of the expiration header. */
export const expirationText = ({ at, ruleId }: Due): string =>
  `expiry-date="${formatHttpDate(at)}", rule-id="${percentEncoded(ruleId)}"`

/** R67. A rule's id as a header value: verbatim when it is printable ASCII, otherwise percent-encoded. */
export const ruleIdText = (ruleId: string): string => (/^[\x20-\x7e]*$/.test(ruleId) ? ruleId : percentEncoded(ruleId))
