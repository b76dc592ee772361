/** Lifecycle rules: what a form shows of one, and the element that it writes. */
import { ElementReader, type FormReading, reading, type Unknown } from './element-reader.ts'
import { element, leaf, type XmlElement } from './xml-text.ts'

export type TagPairs = readonly (readonly [string, string])[]

/** Numbers and dates are kept as typed; the server judges them. An empty text means that there is none. */
export interface LifecycleRuleForm {
  readonly id: string
  readonly isEnabled: boolean
  readonly prefix: string
  readonly tags: TagPairs
  readonly largerThan: string
  readonly smallerThan: string
  readonly expiry: 'never' | 'days' | 'date' | 'markers'
  readonly days: string
  /** As `2030-12-31`: rules run at midnight UTC. */
  readonly date: string
  readonly hasNoncurrent: boolean
  readonly noncurrentDays: string
  readonly keepNewest: string
  readonly abortDays: string
}

export const NEW_LIFECYCLE_RULE: LifecycleRuleForm = {
  id: '',
  isEnabled: true,
  prefix: '',
  tags: [],
  largerThan: '',
  smallerThan: '',
  expiry: 'days',
  days: '30',
  date: '',
  hasNoncurrent: false,
  noncurrentDays: '30',
  keepNewest: '',
  abortDays: '',
}

const PREDICATES = ['Prefix', 'Tag', 'ObjectSizeGreaterThan', 'ObjectSizeLessThan']
const MIDNIGHT = /^(\d{4}-\d\d-\d\d)(T00:00:00(\.0+)?Z)?$/

export function readTagElements(tags: readonly XmlElement[], unknown: Unknown): TagPairs {
  return tags.map(tag => {
    const reader = new ElementReader(tag, unknown, ['Key', 'Value'])
    return [reader.text('Key'), reader.text('Value')] as const
  })
}

export const tagElements = (tags: TagPairs): XmlElement[] =>
  tags.map(([key, value]) => element('Tag', leaf('Key', key), leaf('Value', value)))

type Filter = Pick<LifecycleRuleForm, 'prefix' | 'tags' | 'largerThan' | 'smallerThan'>

function readFilter(rule: ElementReader, unknown: Unknown): Filter {
  const filter = rule.one('Filter')
  if (filter === undefined) return { prefix: rule.text('Prefix'), tags: [], largerThan: '', smallerThan: '' }
  const outer = new ElementReader(filter, unknown, ['And', ...PREDICATES])
  const and = outer.one('And')
  const inner = and === undefined ? outer : new ElementReader(and, unknown, PREDICATES)
  return {
    prefix: inner.text('Prefix'),
    tags: readTagElements(inner.all('Tag'), unknown),
    largerThan: inner.text('ObjectSizeGreaterThan').trim(),
    smallerThan: inner.text('ObjectSizeLessThan').trim(),
  }
}

type Expiration = Pick<LifecycleRuleForm, 'expiry' | 'days' | 'date'>

function readExpiration(node: XmlElement | undefined, unknown: Unknown): Expiration {
  if (node === undefined) return { expiry: 'never', days: '', date: '' }
  const reader = new ElementReader(node, unknown, ['Days', 'Date', 'ExpiredObjectDeleteMarker'])
  if (node.children.length !== 1) unknown.add('Expiration')
  if (reader.flag('ExpiredObjectDeleteMarker')) return { expiry: 'markers', days: '', date: '' }
  const days = reader.text('Days').trim()
  if (!reader.has('Date')) return { expiry: 'days', days, date: '' }
  const [, date] = MIDNIGHT.exec(reader.text('Date').trim()) ?? []
  if (date === undefined) unknown.add('Date')
  return { expiry: 'date', days, date: date ?? '' }
}

export const readLifecycleRule = (rule: XmlElement): FormReading<LifecycleRuleForm> =>
  reading(unknown => {
    const actions = ['Expiration', 'NoncurrentVersionExpiration', 'AbortIncompleteMultipartUpload']
    const reader = new ElementReader(rule, unknown, ['ID', 'Status', 'Filter', 'Prefix', ...actions])
    const [, noncurrentNode, abortNode] = actions.map(name => reader.one(name))
    const noncurrent = new ElementReader(noncurrentNode ?? element(''), unknown, [
      'NoncurrentDays',
      'NewerNoncurrentVersions',
    ])
    const abort = new ElementReader(abortNode ?? element(''), unknown, ['DaysAfterInitiation'])
    return {
      id: reader.text('ID'),
      isEnabled: reader.word('Status', ['Enabled', 'Disabled']) === 'Enabled',
      ...readFilter(reader, unknown),
      ...readExpiration(reader.one('Expiration'), unknown),
      hasNoncurrent: noncurrentNode !== undefined,
      noncurrentDays: noncurrent.text('NoncurrentDays').trim(),
      keepNewest: noncurrent.text('NewerNoncurrentVersions').trim(),
      abortDays: abort.text('DaysAfterInitiation').trim(),
    }
  })

const given = (name: string, text: string): XmlElement[] => (text === '' ? [] : [leaf(name, text)])

function filterElement({ prefix, tags, largerThan, smallerThan }: Filter): XmlElement {
  const predicates = [
    ...given('Prefix', prefix),
    ...tagElements(tags),
    ...given('ObjectSizeGreaterThan', largerThan),
    ...given('ObjectSizeLessThan', smallerThan),
  ]
  if (predicates.length === 0) return element('Filter', leaf('Prefix', ''))
  return element('Filter', ...(predicates.length === 1 ? predicates : [element('And', ...predicates)]))
}

function expirationElements({ expiry, days, date }: Expiration): XmlElement[] {
  if (expiry === 'never') return []
  if (expiry === 'markers') return [element('Expiration', leaf('ExpiredObjectDeleteMarker', 'true'))]
  return [element('Expiration', expiry === 'days' ? leaf('Days', days) : leaf('Date', `${date}T00:00:00Z`))]
}

export function lifecycleRuleElement(form: LifecycleRuleForm): XmlElement {
  const { id, isEnabled, hasNoncurrent, noncurrentDays, keepNewest, abortDays } = form
  const noncurrent = [...given('NoncurrentDays', noncurrentDays), ...given('NewerNoncurrentVersions', keepNewest)]
  const abort = given('DaysAfterInitiation', abortDays)
  return element(
    'Rule',
    ...given('ID', id),
    filterElement(form),
    leaf('Status', isEnabled ? 'Enabled' : 'Disabled'),
    ...expirationElements(form),
    ...(hasNoncurrent ? [element('NoncurrentVersionExpiration', ...noncurrent)] : []),
    ...(abort.length === 0 ? [] : [element('AbortIncompleteMultipartUpload', ...abort)]),
  )
}

/** Works for every rule, also one that has elements which the form does not show. */
export function withStatus(rule: XmlElement, isEnabled: boolean): XmlElement {
  const status = leaf('Status', isEnabled ? 'Enabled' : 'Disabled')
  return { ...rule, children: rule.children.map(child => (child.name === 'Status' ? status : child)) }
}
