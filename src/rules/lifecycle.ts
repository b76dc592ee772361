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
  /** It asks for another storage class, which is not carried out. */
  readonly hasTransitions: boolean
}

/** Something is due at a moment, by a rule. */
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

/** Tags and sizes are those of objects: an upload has neither yet, a marker never gets them. */
const isByNameAlone = ({ tags, largerThan, smallerThan }: LifecycleFilter): boolean =>
  tags.length === 0 && largerThan === undefined && smallerThan === undefined

const matchesName = (filter: LifecycleFilter, key: string): boolean =>
  key.startsWith(filter.prefix) && isByNameAlone(filter)

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
    if (!enabled || abortAfterDays === undefined || !matchesName(filter, key)) continue
    due.push({ at: afterDays(initiatedAt, abortAfterDays), ruleId: id })
  }
  return earliest(due)
}

/** A version behind a newer one, or a marker there. */
export interface NoncurrentVersion extends ExpiringObject {
  readonly marker: boolean
  /** When the one before it came: since then it has not been the current one. */
  readonly since: number
  /** So many newer ones are not current either. */
  readonly newer: number
}

/** When a version that is no longer current goes. */
export function noncurrentExpirationOf(rules: readonly LifecycleRule[], of: NoncurrentVersion): Due | undefined {
  const due: Due[] = []
  for (const { id, enabled, filter, noncurrent } of rules) {
    if (!enabled || noncurrent === undefined || of.newer < noncurrent.keepNewest) continue
    if (of.marker ? !matchesName(filter, of.key) : !matchesFilter(filter, of)) continue
    due.push({ at: afterDays(of.since, noncurrent.days), ruleId: id })
  }
  return earliest(due)
}

/** So many of the newest versions behind the current one must be known to judge another. */
export const newerThatCount = (rules: readonly LifecycleRule[]): number =>
  rules.reduce((most, { noncurrent }) => Math.max(most, noncurrent?.keepNewest ?? 0), 0)

/** When a marker goes that hides nothing any more: at once by a rule on markers, else as an object of its age would. */
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
  return isByNameAlone(filter) && (what === 'upload' ? abortAfterDays !== undefined : expires || removesLoneMarkers)
}

/** Where to look for what the rules may concern: prefixes of which none begins with another. */
export function prefixesOf(rules: readonly LifecycleRule[], what: Concern): string[] {
  const found: string[] = []
  const wanted = rules.filter(rule => rule.enabled && isAbout(rule, what)).map(({ filter }) => filter.prefix)
  // One that begins with another comes right behind it, or behind others that do.
  for (const prefix of wanted.sort()) {
    if (found.length === 0 || !prefix.startsWith(found.at(-1)!)) found.push(prefix)
  }
  return found
}

const encoded = (id: string): string =>
  encodeURIComponent(id).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** R89. The value of the expiration header. */
export const expirationText = ({ at, ruleId }: Due): string =>
  `expiry-date="${formatHttpDate(at)}", rule-id="${encoded(ruleId)}"`

/** R67. A rule's name as a header carries it: as it is where that can be. */
export const ruleIdText = (ruleId: string): string => (/^[\x20-\x7e]*$/.test(ruleId) ? ruleId : encoded(ruleId))
