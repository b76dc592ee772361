/**
 * Validates the transitions of lifecycle rules as S3 documents them. They are stored and shown but never carried out,
 * since no storage class has a tier of its own here. Stored documents are not validated again.
 */
import { BadXml, child, childInteger, children, childText, onlyChildren, type XmlNode } from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import { parseTimestamp } from '../http-date.ts'

/** In the order of permitted transitions. */
const CLASSES = ['STANDARD_IA', 'INTELLIGENT_TIERING', 'ONEZONE_IA', 'GLACIER_IR', 'GLACIER', 'DEEP_ARCHIVE'] as const
type Class = (typeof CLASSES)[number]

/** An object stays at least this long before it enters one of these classes, and before it leaves it. */
const INFREQUENT: readonly Class[] = ['STANDARD_IA', 'ONEZONE_IA']
const INFREQUENT_DAYS_MIN = 30
const DAYS_MAX = 0x7fffffff
const DAY_MS = 86_400_000
const NEWER_VERSIONS_MAX = 100

/** The two kinds of transition and their element names. */
const CURRENT = { action: 'Transition', days: 'Days', expiration: 'Expiration' } as const
const NONCURRENT = {
  action: 'NoncurrentVersionTransition',
  days: 'NoncurrentDays',
  expiration: 'NoncurrentVersionExpiration',
} as const
type Kind = typeof CURRENT | typeof NONCURRENT

interface Transition {
  readonly storageClass: Class
  /** For an action with a date: that date in days since 1970. */
  readonly days: number
  readonly byDate: boolean
}

const refused = (reason: string): Fault => new Fault('InvalidRequest', { reason })
const invalid = (reason: string, name: string, value: string | number): Fault =>
  new Fault('InvalidArgument', { reason, ArgumentName: name, ArgumentValue: value })

/** Refuses rules whose transitions S3 would refuse. The document is a valid lifecycle configuration otherwise. */
export function checkTransitions(root: XmlNode): void {
  for (const rule of root.children) {
    for (const kind of [CURRENT, NONCURRENT]) checkKind(rule, kind)
  }
}

function checkKind(rule: XmlNode, kind: Kind): void {
  const transitions = children(rule, kind.action).map(node => readTransition(node, kind))
  if (new Set(transitions.map(({ storageClass }) => storageClass)).size < transitions.length) {
    throw refused(`'StorageClass' must be different for '${kind.action}' actions in same 'Rule'`)
  }
  const expiration = expirationOf(child(rule, kind.expiration), kind)
  const timed = expiration === undefined ? transitions : [...transitions, expiration]
  if (new Set(timed.map(({ byDate }) => byDate)).size > 1) {
    throw refused(`Found mixed 'Date' and 'Days' based Expiration and Transition actions in lifecycle rule`)
  }
  checkOrder(transitions, kind)
  const late = transitions.find(({ days }) => expiration !== undefined && days >= expiration.days)
  if (late === undefined) return
  const name = late.byDate ? 'Date' : kind.days
  const times = `'${name}' in the ${kind.expiration} action must be greater than '${name}' in the`
  throw invalid(`${times} ${kind.action} action`, name, expiration!.days)
}

function readTransition(node: XmlNode, { action, days: name }: Kind): Transition {
  const isCurrent = action === 'Transition'
  onlyChildren(node, name, 'StorageClass', isCurrent ? 'Date' : 'NewerNoncurrentVersions')
  const text = childText(node, 'StorageClass')?.trim()
  const storageClass = CLASSES.find(one => one === text)
  if (storageClass === undefined) throw new BadXml(`${action} has no valid StorageClass`)
  checkNewer(node)
  const [days, date] = [childInteger(node, name), isCurrent ? childText(node, 'Date') : undefined]
  if ((days === undefined) === (date === undefined)) throw new BadXml(`${action} must have exactly one time`)
  if (date !== undefined) return { storageClass, days: midnight(date), byDate: true }
  if (days! < 0 || days! > DAYS_MAX) throw invalid(`'${name}' in ${action} action must be nonnegative`, name, days!)
  if (INFREQUENT.includes(storageClass) && days! < INFREQUENT_DAYS_MIN) {
    const least = `greater than or equal to ${INFREQUENT_DAYS_MIN} for storageClass '${storageClass}'`
    throw invalid(`'${name}' in ${action} action must be ${least}`, name, days!)
  }
  return { storageClass, days: days!, byDate: false }
}

function checkNewer(node: XmlNode): void {
  const newer = childInteger(node, 'NewerNoncurrentVersions')
  if (newer === undefined || (newer >= 1 && newer <= NEWER_VERSIONS_MAX)) return
  throw invalid("'NewerNoncurrentVersions' must be from 1 to 100", 'NewerNoncurrentVersions', newer)
}

/** In days since 1970. */
function midnight(date: string): number {
  const at = parseTimestamp(date)
  if (at === undefined) throw new BadXml('Date is not a valid date')
  if (at % DAY_MS !== 0) throw invalid("'Date' must be at midnight GMT", 'Date', date)
  return at / DAY_MS
}

/** The time of the rule's expiration; undefined when it has none or only removes markers. */
function expirationOf(node: XmlNode | undefined, { days: name }: Kind): Omit<Transition, 'storageClass'> | undefined {
  if (node === undefined) return undefined
  const date = childText(node, 'Date')
  if (date !== undefined) return { days: midnight(date), byDate: true }
  const days = childInteger(node, name)
  return days === undefined ? undefined : { days, byDate: false }
}

/** Transitions go to a later class only at a later time. */
function checkOrder(transitions: readonly Transition[], { action, days: name }: Kind): void {
  const ordered = [...transitions].sort((a, b) => CLASSES.indexOf(a.storageClass) - CLASSES.indexOf(b.storageClass))
  for (const [index, { storageClass, days, byDate }] of ordered.entries()) {
    const before = ordered[index - 1]
    if (before === undefined) continue
    const least = INFREQUENT.includes(before.storageClass) ? INFREQUENT_DAYS_MIN : 1
    if (days - before.days >= least) continue
    const [time, more] = [byDate ? 'Date' : name, least === 1 ? 'greater' : `${least} days more`]
    const reason = `'${time}' in the '${action}' action for StorageClass '${storageClass}' must be ${more} than for`
    throw invalid(`${reason} StorageClass '${before.storageClass}'`, time, days)
  }
}
