/**
 * Combinators that validate options. Types protect neither JavaScript nor options assembled elsewhere, and a misspelt
 * name would be ignored silently. No message quotes a string, which may be a secret, except from a fixed set of words.
 */
import { suggestion } from '../lib/did-you-mean.ts'

/** Throws a `TypeError` whose message begins with `where`. */
export type OptionCheck = (value: unknown, where: string) => void

const kindOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'number' ? String(value) : `a value of type ${typeof value}`
}

function refuse(where: string, wanted: string, value: unknown): never {
  throw new TypeError(`${where} must be ${wanted}, not ${kindOf(value)}`)
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Also accepts an instance of another realm, since test runners use several. */
const isPattern = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object RegExp]'

export const aText: OptionCheck = (value, where) => {
  if (typeof value !== 'string') refuse(where, 'a text', value)
  if (value === '') throw new TypeError(`${where} must not be empty`)
}

export const aTextLike =
  (shape: RegExp, wanted: string): OptionCheck =>
  (value, where) => {
    if (typeof value !== 'string') refuse(where, wanted, value)
    if (!shape.test(value)) throw new TypeError(`${where} must be ${wanted}`)
  }

export const aFlag: OptionCheck = (value, where) => {
  if (typeof value !== 'boolean') refuse(where, 'true or false', value)
}

export const aFunction: OptionCheck = (value, where) => {
  if (typeof value !== 'function') refuse(where, 'a function', value)
}

export const aTextOrPattern: OptionCheck = (value, where) => {
  if (typeof value !== 'string' && !isPattern(value)) refuse(where, 'a text or a regular expression', value)
}

export const anInteger =
  (least: number, most = Number.MAX_SAFE_INTEGER): OptionCheck =>
  (value, where) => {
    const wanted = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
      refuse(where, `a whole number ${wanted}`, value)
    }
  }

/** One of these words. */
export const aWordOf =
  (words: readonly string[]): OptionCheck =>
  (value, where) => {
    if (typeof value !== 'string') refuse(where, words.length > 8 ? 'a text' : words.join(' or '), value)
    if (words.includes(value)) return
    const near = suggestion(value, words)
    const known = near === '' && words.length <= 8 ? `: ${words.join(', ')}` : ''
    throw new TypeError(`${where}: there is no ${JSON.stringify(value)}${near}${known}`)
  }

export const aListOf =
  (check: OptionCheck): OptionCheck =>
  (value, where) => {
    if (!Array.isArray(value)) refuse(where, 'a list', value)
    for (const [index, item] of value.entries()) check(item, `${where}[${index}]`)
  }

export const aTextOr =
  (check: OptionCheck): OptionCheck =>
  (value, where) =>
    typeof value === 'string' ? aText(value, where) : check(value, where)

/** One check per field of the type; the compiler rejects missing and extra ones. */
type FieldsOf<T> = { readonly [K in keyof Required<T>]: OptionCheck }

/** An object with these fields only. An undefined field counts as omitted. */
export function anObject<T>(fields: FieldsOf<T>, required: readonly (keyof T & string)[] = []): OptionCheck {
  const names = Object.keys(fields)
  return (value, where) => {
    if (!isPlain(value)) refuse(where, 'an object', value)
    for (const name of Object.keys(value)) {
      if (names.includes(name)) continue
      const near = suggestion(name, names)
      throw new TypeError(`${where} has no ${name}${near === '' ? `: there are ${names.join(', ')}` : near}`)
    }
    for (const name of required) if (value[name] === undefined) throw new TypeError(`${where}.${name} is missing`)
    for (const name of names) {
      if (value[name] !== undefined) fields[name as keyof T](value[name], `${where}.${name}`)
    }
  }
}
