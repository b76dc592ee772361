/** Conditions of a policy statement: parsing and evaluation. */
import type { SocketAddress } from 'node:net'
import { type AddressRange, contains, readAddress, readRange } from './addresses.ts'
import { type ConditionContext, isConditionKey } from './condition-keys.ts'
import { readDate } from './dates.ts'
import { foldCase } from './fold-case.ts'
import { malformed } from './malformed.ts'
import { neutralArn, neutralConditionValue, neutralKey } from './names.ts'
import { readTemplate, resolve, type Template } from './template.ts'
import { matches } from './wildcard.ts'

type Relation = 'equal' | 'less' | 'less or equal' | 'greater' | 'greater or equal'

interface Operator {
  readonly family: 'string' | 'like' | 'number' | 'date' | 'bool' | 'address' | 'arn' | 'null'
  readonly relation: Relation
  readonly negated: boolean
  /** Case-insensitive. */
  readonly folded: boolean
}

type ConditionValue =
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'arn'; readonly fields: readonly Template[] }
  | { readonly kind: 'amount'; readonly amount: number }
  | { readonly kind: 'bool'; readonly bool: boolean }
  | { readonly kind: 'range'; readonly range: AddressRange }

export interface Condition {
  readonly key: string
  readonly operator: Operator
  /** How a multivalued key is evaluated; `plain` without a quantifier. */
  readonly quantifier: 'plain' | 'any' | 'all'
  readonly ifExists: boolean
  readonly values: readonly ConditionValue[]
}

const row = (family: Operator['family'], more: Partial<Operator> = {}): Operator => ({
  family,
  relation: 'equal',
  negated: false,
  folded: false,
  ...more,
})

const ordered = (name: string, family: 'number' | 'date'): [string, Operator][] => [
  [`${name}Equals`, row(family)],
  [`${name}NotEquals`, row(family, { negated: true })],
  [`${name}LessThan`, row(family, { relation: 'less' })],
  [`${name}LessThanEquals`, row(family, { relation: 'less or equal' })],
  [`${name}GreaterThan`, row(family, { relation: 'greater' })],
  [`${name}GreaterThanEquals`, row(family, { relation: 'greater or equal' })],
]

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['StringEquals', row('string')],
  ['StringNotEquals', row('string', { negated: true })],
  ['StringEqualsIgnoreCase', row('string', { folded: true })],
  ['StringNotEqualsIgnoreCase', row('string', { folded: true, negated: true })],
  ['StringLike', row('like')],
  ['StringNotLike', row('like', { negated: true })],
  ...ordered('Numeric', 'number'),
  ...ordered('Date', 'date'),
  ['Bool', row('bool')],
  ['IpAddress', row('address')],
  ['NotIpAddress', row('address', { negated: true })],
  ['ArnEquals', row('arn')],
  ['ArnNotEquals', row('arn', { negated: true })],
  ['ArnLike', row('arn')],
  ['ArnNotLike', row('arn', { negated: true })],
  ['Null', row('null')],
])

export const CONDITION_OPERATORS: readonly string[] = [...OPERATORS.keys()]

const QUANTIFIERS: ReadonlyMap<string, 'any' | 'all'> = new Map([
  ['ForAnyValue', 'any'],
  ['ForAllValues', 'all'],
])

const ARN_FIELDS = 6

export function readCondition(operatorText: string, keyText: string, texts: readonly string[], variables: boolean) {
  const [, quantifierText, name, exists] = /^(?:([^:]*):)?(.*?)(IfExists)?$/s.exec(operatorText)!
  const operator = OPERATORS.get(name!)
  const quantifier = quantifierText === undefined ? 'plain' : QUANTIFIERS.get(quantifierText)
  if (operator === undefined || quantifier === undefined) {
    throw malformed(`Invalid Condition type : ${operatorText}`)
  }
  const ifExists = exists !== undefined
  if (operator.family === 'null' && (ifExists || quantifier !== 'plain')) {
    throw malformed(`Invalid Condition type : ${operatorText}`)
  }
  const key = neutralKey(keyText)
  if (key === undefined || !isConditionKey(key)) throw malformed(`Policy has an invalid condition key: ${keyText}`)
  const values = texts.map(text => readValue(operator, neutralConditionValue(key, text), variables))
  return { key, operator, quantifier, ifExists, values } satisfies Condition
}

function readValue(operator: Operator, text: string, variables: boolean): ConditionValue {
  const value = READERS[operator.family](text, { operator, variables })
  if (value === undefined) throw malformed(`Invalid condition value: ${text}`)
  return value
}

interface ValueForm {
  readonly operator: Operator
  readonly variables: boolean
}

const READERS: Record<Operator['family'], (text: string, form: ValueForm) => ConditionValue | undefined> = {
  string: (text, { operator, variables }) => {
    const template = readTemplate(operator.folded ? folded(text, variables) : text, { wildcards: false, variables })
    return { kind: 'text', template }
  },
  like: (text, { variables }) => ({ kind: 'text', template: readTemplate(text, { wildcards: true, variables }) }),
  arn: (text, { variables }) => readArn(neutralArn(text), variables),
  number: text => amountOf(readNumber(text)),
  date: text => amountOf(readDate(text)),
  bool: text => boolOf(text),
  null: text => boolOf(text),
  address: text => {
    const range = readRange(text)
    return range === undefined ? undefined : { kind: 'range', range }
  },
}

/** Folds everything but variables: a tag name in a variable is case-sensitive. */
const folded = (text: string, variables: boolean): string =>
  variables ? text.replace(/(\$\{[^}]*\})|[^$]+|\$/g, (piece, variable) => variable ?? foldCase(piece)) : foldCase(text)

const amountOf = (amount: number | undefined): ConditionValue | undefined =>
  amount === undefined ? undefined : { kind: 'amount', amount }

function boolOf(text: string): ConditionValue | undefined {
  const word = foldCase(text)
  return word === 'true' || word === 'false' ? { kind: 'bool', bool: word === 'true' } : undefined
}

function readNumber(text: string): number | undefined {
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined
}

/** Splits an ARN into fields, so that a star in one field never matches a colon; the last field takes the rest. */
function arnFields(text: string): string[] | undefined {
  const all = text.split(':')
  if (all.length < ARN_FIELDS || all[0] !== 'arn') return undefined
  return [...all.slice(0, ARN_FIELDS - 1), all.slice(ARN_FIELDS - 1).join(':')]
}

function readArn(text: string, variables: boolean): ConditionValue | undefined {
  // The colon in a variable's name does not separate fields.
  const covered = text.replace(/\$\{[^}]*\}/g, variable => variable.replaceAll(':', '\0'))
  const fields = arnFields(covered)?.map(field =>
    readTemplate(field.replaceAll('\0', ':'), { wildcards: true, variables }),
  )
  return fields === undefined ? undefined : { kind: 'arn', fields }
}

/**
 * Whether a condition holds. `unknown` is the result of a negated comparison with an unresolved variable: such a
 * condition must not make an Allow apply, and must not keep a Deny from applying.
 */
export function holds(condition: Condition, context: ConditionContext, unknown: boolean): boolean {
  const { operator, values, quantifier } = condition
  const actual = context.get(condition.key) ?? []
  if (operator.family === 'null') {
    return values.some(value => value.kind === 'bool' && value.bool === (actual.length === 0))
  }
  if (actual.length === 0) {
    if (condition.ifExists || quantifier === 'all') return true
    return quantifier === 'plain' && operator.negated
  }
  if (operator.negated && values.some(value => isUnresolved(value, context))) return unknown
  const one = (text: string): boolean => {
    const read = actualOf(text, operator)
    return values.some(value => valueMatches(value, read, { operator, context })) !== operator.negated
  }
  // Without a quantifier a negated comparison is the negation of the plain one: no value may match.
  return quantifier === 'all' || (quantifier === 'plain' && operator.negated) ? actual.every(one) : actual.some(one)
}

const templatesOf = (value: ConditionValue): readonly Template[] =>
  value.kind === 'text' ? [value.template] : value.kind === 'arn' ? value.fields : []

function isUnresolved(value: ConditionValue, context: ConditionContext): boolean {
  return templatesOf(value).some(template => resolve(template, context) === undefined)
}

/** Whether a value is fixed: it has no wildcard and no variable. */
export const isFixed = (value: ConditionValue): boolean =>
  templatesOf(value).every(template => template.pattern?.literal !== undefined)

interface Comparison {
  readonly operator: Operator
  readonly context: ConditionContext
}

/** A value of the request, parsed once for all policy values that it is compared with. */
interface Actual {
  readonly text: string
  readonly fields: readonly string[] | undefined
  readonly amount: number | undefined
  readonly address: SocketAddress | undefined
}

function actualOf(text: string, { family, folded }: Operator): Actual {
  return {
    text: folded || family === 'bool' ? foldCase(text) : text,
    fields: family === 'arn' ? arnFields(neutralArn(text)) : undefined,
    amount: family === 'date' ? readDate(text) : family === 'number' ? readNumber(text) : undefined,
    address: family === 'address' ? readAddress(text) : undefined,
  }
}

function valueMatches(value: ConditionValue, actual: Actual, comparison: Comparison): boolean {
  const { text, fields, amount, address } = actual
  switch (value.kind) {
    case 'text':
      return templateMatches(value.template, text, comparison)
    case 'arn':
      if (fields === undefined) return false
      return value.fields.every((template, index) => templateMatches(template, fields[index]!, comparison))
    case 'amount':
      return amount !== undefined && compare(amount, value.amount, comparison.operator.relation)
    case 'bool':
      return text === String(value.bool)
    case 'range':
      return address !== undefined && contains(value.range, address)
  }
}

function templateMatches(template: Template, text: string, { operator, context }: Comparison): boolean {
  const pattern = resolve(template, context)
  if (pattern === undefined) return false
  // The value of a variable is not folded yet.
  if (operator.folded && template.pattern === undefined) return foldCase(pattern.literal!) === text
  return matches(pattern, text)
}

function compare(actual: number, wanted: number, relation: Relation): boolean {
  switch (relation) {
    case 'equal':
      return actual === wanted
    case 'less':
      return actual < wanted
    case 'less or equal':
      return actual <= wanted
    case 'greater':
      return actual > wanted
    case 'greater or equal':
      return actual >= wanted
  }
}
