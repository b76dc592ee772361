/** Parses the lifecycle rules of a bucket. `../lifecycle.ts` evaluates them for an object or upload. */
import { createHash } from 'node:crypto'
import {
  BadXml,
  child,
  childFlag,
  childInteger,
  children,
  childText,
  childWord,
  onlyChildren,
  requiredText,
  rootNamed,
  type XmlNode,
} from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import type { Pairs } from '../../model/version.ts'
import { parseTimestamp } from '../http-date.ts'
import type { LifecycleFilter, LifecycleRule } from '../lifecycle.ts'

const LIFECYCLE_RULES_MAX = 1000
const ID_CHARACTERS_MAX = 255
const NEWER_VERSIONS_MAX = 100
const DAY_MS = 86_400_000
const DAYS_MAX = 0x7fffffff

const ACTIONS = ['Expiration', 'NoncurrentVersionExpiration', 'AbortIncompleteMultipartUpload'] as const
/** No storage class has a tier of its own: transitions are stored and shown, and never carried out. */
const IGNORED = ['Transition', 'NoncurrentVersionTransition'] as const

const refused = (reason: string): Fault => new Fault('InvalidRequest', { reason })
const invalid = (reason: string, name: string, value: string | number): Fault =>
  new Fault('InvalidArgument', { reason, ArgumentName: name, ArgumentValue: value })

export function readLifecycle(root: XmlNode): LifecycleRule[] {
  onlyChildren(rootNamed(root, 'LifecycleConfiguration'), 'Rule')
  const count = root.children.length
  if (count === 0 || count > LIFECYCLE_RULES_MAX)
    throw new BadXml(`the document must have 1 to ${LIFECYCLE_RULES_MAX} rules`)
  const rules = root.children.map(readRule)
  const ids = new Set<string>()
  for (const { id } of rules) {
    if (ids.has(id)) {
      throw invalid('Rule ID must be unique. Found same ID for more than one rule', 'ID', id)
    }
    ids.add(id)
  }
  return rules
}

/** A rule without an ID gets one derived from its content, so that parsing it again gives the same. */
function nameOf(rule: XmlNode, index: number): string {
  const hash = createHash('sha256').update(`${index}`)
  const walk = (node: XmlNode): void => {
    hash.update(`<${node.name}>${node.text}`)
    node.children.forEach(walk)
    hash.update('/')
  }
  walk(rule)
  return hash.digest('base64url').slice(0, 32)
}

function readRule(rule: XmlNode, index: number): LifecycleRule {
  onlyChildren(rule, 'ID', 'Status', 'Filter', 'Prefix', ...ACTIONS, ...IGNORED)
  const id = childText(rule, 'ID') ?? ''
  if (id.length > ID_CHARACTERS_MAX) {
    throw invalid(`ID length should not exceed allowed limit of ${ID_CHARACTERS_MAX}`, 'ID', id.slice(0, 300))
  }
  const status = childWord(rule, 'Status', ['Enabled', 'Disabled'])
  if (status === undefined) throw new BadXml('a rule has no Status')
  const filter = readFilter(rule)
  const read: LifecycleRule = {
    id: id === '' ? nameOf(rule, index) : id,
    enabled: status === 'Enabled',
    filter,
    ...readExpiration(child(rule, 'Expiration')),
    noncurrent: readNoncurrent(child(rule, 'NoncurrentVersionExpiration')),
    abortAfterDays: readAbort(child(rule, 'AbortIncompleteMultipartUpload')),
    hasTransitions: IGNORED.some(action => children(rule, action).length > 0),
  }
  if (![...ACTIONS, ...IGNORED].some(action => children(rule, action).length > 0)) {
    throw refused('At least one action needs to be specified in a rule')
  }
  checkTogether(read)
  return read
}

/** Uploads have no tags and no size yet, and delete markers never do: such a filter would never match. */
function checkTogether({ filter, removesLoneMarkers, abortAfterDays }: LifecycleRule): void {
  const narrows = filter.tags.length > 0 || filter.largerThan !== undefined || filter.smallerThan !== undefined
  if (!narrows) return
  if (abortAfterDays !== undefined) {
    throw refused('AbortIncompleteMultipartUpload cannot be specified with Tags or object sizes.')
  }
  if (removesLoneMarkers) throw refused('ExpiredObjectDeleteMarker cannot be specified with Tags or object sizes.')
}

const EVERYTHING: LifecycleFilter = { prefix: '', tags: [], largerThan: undefined, smallerThan: undefined }
const PREDICATES = ['Prefix', 'Tag', 'ObjectSizeGreaterThan', 'ObjectSizeLessThan']

function readFilter(rule: XmlNode): LifecycleFilter {
  const filter = child(rule, 'Filter')
  const prefix = childText(rule, 'Prefix')
  if (filter === undefined) {
    if (prefix === undefined) throw new BadXml('a rule has neither Filter nor Prefix')
    return { ...EVERYTHING, prefix }
  }
  if (prefix !== undefined) throw refused('Filter and Prefix cannot be used in the same Lifecycle Rule')
  onlyChildren(filter, 'And', ...PREDICATES)
  if (filter.children.length > 1) throw new BadXml('a Filter must have one predicate or one And')
  const and = child(filter, 'And')
  if (and === undefined) return readPredicates(filter)
  onlyChildren(and, ...PREDICATES)
  if (and.children.length === 0) throw new BadXml('And is empty')
  return readPredicates(and)
}

function readPredicates(node: XmlNode): LifecycleFilter {
  const tags: Pairs = children(node, 'Tag').map(tag => {
    onlyChildren(tag, 'Key', 'Value')
    const [key, value] = [requiredText(tag, 'Key'), requiredText(tag, 'Value')]
    if (key === '' || key.length > 128) throw new Fault('InvalidTag', { TagKey: key.slice(0, 300) })
    if (value.length > 256) throw new Fault('InvalidTag', { TagKey: key, TagValue: value.slice(0, 300) })
    return [key, value]
  })
  if (new Set(tags.map(([key]) => key)).size < tags.length) throw refused('Duplicate Tag Keys are not allowed.')
  const largerThan = readSize(node, 'ObjectSizeGreaterThan')
  const smallerThan = readSize(node, 'ObjectSizeLessThan')
  if (largerThan !== undefined && smallerThan !== undefined && largerThan >= smallerThan) {
    throw refused("'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'.")
  }
  return { prefix: childText(node, 'Prefix') ?? '', tags, largerThan, smallerThan }
}

function readSize(node: XmlNode, name: string): number | undefined {
  const size = childInteger(node, name)
  if (size !== undefined && size < 0) throw invalid(`'${name}' must not be negative`, name, size)
  return size
}

function readDays(node: XmlNode, name: string, action: string): number | undefined {
  const days = childInteger(node, name)
  if (days !== undefined && (days < 1 || days > DAYS_MAX)) {
    throw invalid(`'${name}' for ${action} action must be a positive integer`, name, days)
  }
  return days
}

type Expiration = Pick<LifecycleRule, 'expireAfterDays' | 'expireAt' | 'removesLoneMarkers'>

function readExpiration(node: XmlNode | undefined): Expiration {
  if (node === undefined) return { expireAfterDays: undefined, expireAt: undefined, removesLoneMarkers: false }
  onlyChildren(node, 'Days', 'Date', 'ExpiredObjectDeleteMarker')
  if (node.children.length !== 1)
    throw new BadXml('Expiration must have exactly one of Days, Date and ExpiredObjectDeleteMarker')
  const date = childText(node, 'Date')
  return {
    expireAfterDays: readDays(node, 'Days', 'Expiration'),
    expireAt: date === undefined ? undefined : readMidnight(date),
    removesLoneMarkers: childFlag(node, 'ExpiredObjectDeleteMarker') ?? false,
  }
}

function readMidnight(date: string): number {
  const at = parseTimestamp(date)
  if (at === undefined) throw new BadXml('Date is not a valid date')
  if (at % DAY_MS !== 0) throw invalid("'Date' must be at midnight GMT", 'Date', date)
  return at
}

function readNoncurrent(node: XmlNode | undefined): LifecycleRule['noncurrent'] {
  if (node === undefined) return undefined
  onlyChildren(node, 'NoncurrentDays', 'NewerNoncurrentVersions')
  const days = readDays(node, 'NoncurrentDays', 'NoncurrentVersionExpiration')
  const keepNewest = childInteger(node, 'NewerNoncurrentVersions')
  if (days === undefined && keepNewest === undefined) throw new BadXml('NoncurrentVersionExpiration is empty')
  if (keepNewest !== undefined && (keepNewest < 1 || keepNewest > NEWER_VERSIONS_MAX)) {
    throw invalid("'NewerNoncurrentVersions' must be from 1 to 100", 'NewerNoncurrentVersions', keepNewest)
  }
  return { days: days ?? 0, keepNewest: keepNewest ?? 0 }
}

function readAbort(node: XmlNode | undefined): number | undefined {
  if (node === undefined) return undefined
  onlyChildren(node, 'DaysAfterInitiation')
  const days = readDays(node, 'DaysAfterInitiation', 'AbortIncompleteMultipartUpload')
  if (days === undefined) throw new BadXml('AbortIncompleteMultipartUpload has no DaysAfterInitiation')
  return days
}
