/** Parses the policy of a POST form and evaluates it against the form's fields. */
import { Fault } from '../model/faults.ts'

type FormCondition =
  | { readonly kind: 'eq' | 'starts-with'; readonly field: string; readonly value: string }
  | { readonly kind: 'length'; readonly range: LengthRange }

/** Size of the file in bytes, both ends inclusive. */
export interface LengthRange {
  readonly min: number
  readonly max: number
}

interface PolicyDocument {
  /** Milliseconds since 1970. */
  readonly expiration: number
  readonly conditions: readonly FormCondition[]
}

const invalid = (why: string): Fault => new Fault('InvalidPolicyDocument', { reason: `Invalid Policy: ${why}` })

const denied = (why: string): Fault => new Fault('AccessDenied', { reason: `Invalid according to Policy: ${why}` })

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const ISO_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

export function parsePolicy(base64: string): PolicyDocument {
  const document = jsonOf(base64)
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw invalid('Invalid JSON.')
  const { expiration, conditions } = document as { expiration?: unknown; conditions?: unknown }
  if (expiration === undefined) throw invalid('Policy missing expiration.')
  const moment = typeof expiration === 'string' && ISO_DATE.test(expiration) ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(moment)) throw invalid(`Invalid 'expiration' value: '${String(expiration)}'`)
  if (!Array.isArray(conditions)) throw invalid('Policy missing conditions.')
  return { expiration: moment, conditions: conditions.map(parseCondition) }
}

function jsonOf(base64: string): unknown {
  if (!BASE64.test(base64)) throw invalid('Invalid Base64.')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64')))
  } catch {
    throw invalid('Invalid JSON.')
  }
}

function parseCondition(condition: unknown): FormCondition {
  if (Array.isArray(condition)) return parseTriple(condition)
  if (typeof condition !== 'object' || condition === null) throw invalid('Invalid Condition.')
  const entries = Object.entries(condition)
  const [field, value] = entries[0] ?? []
  if (entries.length !== 1 || field === undefined || typeof value !== 'string') {
    throw invalid('Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.')
  }
  return { kind: 'eq', field: field.toLowerCase(), value }
}

function parseTriple(triple: readonly unknown[]): FormCondition {
  const [operator, first, second] = triple
  const kind = typeof operator === 'string' ? operator.toLowerCase() : undefined
  if (triple.length !== 3) throw invalid('Invalid Condition: wrong number of arguments.')
  if (kind === 'content-length-range') {
    const [min, max] = [byteCount(first), byteCount(second)]
    if (min > max) throw invalid('Invalid Condition: an empty content-length-range.')
    return { kind: 'length', range: { min, max } }
  }
  if (kind !== 'eq' && kind !== 'starts-with') throw invalid('Invalid Condition: unknown operation.')
  if (typeof first !== 'string' || !first.startsWith('$') || typeof second !== 'string') {
    throw invalid('Invalid Condition: expecting a field that begins with $ and a text.')
  }
  return { kind, field: first.slice(1).toLowerCase(), value: second }
}

function byteCount(value: unknown): number {
  const isDigits = typeof value === 'string' && /^\d{1,15}$/.test(value)
  const count = isDigits ? Number(value) : value
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw invalid('Invalid Condition: content-length-range needs two counts.')
}

/** By lower-case name. */
export type FormFields = ReadonlyMap<string, string>

interface Coverage {
  readonly fields: FormFields
  /** Fields that need no condition. */
  isExempt(name: string): boolean
}

/**
 * Every condition must hold and every field must be covered by one, so that nothing can be added that the signer did
 * not foresee. Returns the permitted size of the file, if the policy limits it.
 */
export function evaluatePolicy(policy: PolicyDocument, form: Coverage, now: number): LengthRange | undefined {
  if (policy.expiration <= now) throw denied('Policy expired.')
  const covered = new Set<string>()
  let range: LengthRange | undefined
  for (const condition of policy.conditions) {
    if (condition.kind === 'length') {
      range = range === undefined ? condition.range : intersection(range, condition.range)
      continue
    }
    covered.add(condition.field)
    if (!holds(condition, form.fields.get(condition.field))) {
      const shown = JSON.stringify([condition.kind, `$${condition.field}`, condition.value])
      throw denied(`Policy Condition failed: ${shown}`)
    }
  }
  const extra = [...form.fields.keys()].filter(name => !covered.has(name) && !form.isExempt(name))
  if (extra.length > 0) throw denied(`Extra input fields: ${extra.join(', ')}`)
  return range
}

const intersection = (a: LengthRange, b: LengthRange): LengthRange => ({
  min: Math.max(a.min, b.min),
  max: Math.min(a.max, b.max),
})

function holds(condition: Exclude<FormCondition, { kind: 'length' }>, sent: string | undefined): boolean {
  if (sent === undefined) return false
  if (condition.kind === 'eq') return sent === condition.value
  // Otherwise a list of content types could carry an arbitrary second one.
  const values = condition.field === 'content-type' ? sent.split(',').map(value => value.trim()) : [sent]
  return values.every(value => value.startsWith(condition.value))
}
