/**
 * The input of a route: named fields, each with its location, its decoder and its schema for the API description. An
 * invalid field is refused by its name.
 */
import { Fault } from '../model/faults.ts'

type ParameterLocation = 'path' | 'query' | 'body'

export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly nullable?: boolean
  readonly additionalProperties?: boolean | Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly oneOf?: readonly Schema[]
}

/** An object, so that TypeScript infers the decoded type. */
export interface Field<T> {
  readonly place: ParameterLocation
  readonly schema: Schema
  readonly required: boolean
  /** Undefined when nothing was sent. */
  readonly decode: (value: unknown, name: string) => T
}

export type InputFields = Readonly<Record<string, Field<unknown>>>
export type InputOf<F extends InputFields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

type ValueReader<T> = { readonly schema: Schema; readonly read: (value: unknown, name: string) => T }

const invalidValue = (name: string, wanted: string): Fault =>
  new Fault('InvalidArgument', { ArgumentName: name, reason: `${name} is not ${wanted}` })

export const textField: ValueReader<string> = {
  schema: { type: 'string' },
  read(value, name) {
    // Record keys cannot contain a zero byte.
    if (typeof value !== 'string' || value === '' || value.includes('\0'))
      throw invalidValue(name, 'a non-empty string')
    return value
  },
}

/** Text that may be empty, such as a lifecycle document. */
export const anyText: ValueReader<string> = {
  schema: { type: 'string' },
  read(value, name) {
    if (typeof value !== 'string') throw invalidValue(name, 'a string')
    return value
  },
}

export const booleanField: ValueReader<boolean> = {
  schema: { type: 'boolean' },
  read(value, name) {
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw invalidValue(name, 'true or false')
  },
}

export const positiveInteger: ValueReader<number> = {
  schema: { type: 'integer' },
  read(value, name) {
    const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
    if (!Number.isSafeInteger(number) || (number as number) < 1) throw invalidValue(name, 'a positive integer')
    return number as number
  },
}

export function enumField<const W extends readonly string[]>(...words: W): ValueReader<W[number]> {
  return {
    schema: { type: 'string', enum: words },
    read(value, name) {
      if (typeof value !== 'string' || !words.includes(value)) throw invalidValue(name, words.join(' or '))
      return value
    },
  }
}

/** Names and values, both text. */
export const textMap: ValueReader<Readonly<Record<string, string>>> = {
  schema: { type: 'object', additionalProperties: { type: 'string' } },
  read(value, name) {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isMap || Object.values(value).some(one => typeof one !== 'string')) {
      throw invalidValue(name, 'an object of strings')
    }
    return value as Readonly<Record<string, string>>
  },
}

/** A list of 1 to `max` objects with these fields. */
export function listField<F extends InputFields>(fields: F, max: number): ValueReader<readonly InputOf<F>[]> {
  const items = objectSchema(fields)
  return {
    schema: { type: 'array', items, minItems: 1, maxItems: max },
    read(value, name) {
      if (!Array.isArray(value) || value.length === 0 || value.length > max) {
        throw invalidValue(name, `a list of 1 to ${max} objects`)
      }
      return value.map(one => {
        if (typeof one !== 'object' || one === null || Array.isArray(one)) throw invalidValue(name, 'a list of objects')
        return decodeInput(fields, { path: NONE, query: NONE, body: one }) as InputOf<F>
      })
    },
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

/** The schema of an object with these fields and no others. */
export function objectSchema(fields: InputFields): Schema {
  const required = Object.keys(fields).filter(name => fields[name]!.required)
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  }
}

/** A policy, either as text, which is stored byte for byte, or as an object. */
export const policyDocument: ValueReader<string> = {
  schema: { oneOf: [{ type: 'string' }, { type: 'object' }], description: 'A policy, as JSON text or as an object.' },
  read(value, name) {
    if (typeof value === 'string') return value
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidValue(name, 'a policy')
    return JSON.stringify(value)
  },
}

function field<T>(place: ParameterLocation, { schema, read }: ValueReader<T>, description: string): Field<T> {
  return {
    place,
    schema: { ...schema, description },
    required: true,
    decode(value, name) {
      if (value === undefined) throw new Fault('InvalidArgument', { ArgumentName: name, reason: `${name} is missing` })
      return read(value, name)
    },
  }
}

function optional<T>(place: ParameterLocation, read: ValueReader<T>, description: string): Field<T | undefined> {
  const whole = field(place, read, description)
  return {
    ...whole,
    required: false,
    decode: (value, name) => (value === undefined ? undefined : whole.decode(value, name)),
  }
}

export const path = (description: string): Field<string> => field('path', textField, description)
export const query = <T>(read: ValueReader<T>, description: string): Field<T | undefined> =>
  optional('query', read, description)
export const body = <T>(read: ValueReader<T>, description: string): Field<T> => field('body', read, description)
export const optionalField = <T>(read: ValueReader<T>, description: string): Field<T | undefined> =>
  optional('body', read, description)

export interface AdminInput {
  readonly path: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
  readonly body: Readonly<Record<string, unknown>>
}

/** Decodes every field; unknown names are refused, since a misspelt one would be ignored silently. */
export function decodeInput(fields: InputFields, sent: AdminInput): Record<string, unknown> {
  const known = (place: ParameterLocation): string[] =>
    Object.keys(fields).filter(name => fields[name]!.place === place)
  for (const [place, names] of [
    ['query', [...sent.query.keys()]],
    ['body', Object.keys(sent.body)],
  ] as const) {
    const unknown = names.find(name => !known(place).includes(name))
    if (unknown !== undefined) {
      throw new Fault('InvalidArgument', {
        ArgumentName: unknown,
        reason: `${unknown} is not a parameter of this route`,
      })
    }
  }
  const out: Record<string, unknown> = Object.create(null)
  for (const [name, { place, decode }] of Object.entries(fields)) {
    const value = place === 'body' ? own(sent.body, name) : sent[place].get(name)
    out[name] = decode(value, name)
  }
  return out
}

const own = (object: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined
