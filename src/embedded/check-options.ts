/** Checks the options of an embedded store before anything is opened. */
import { OPERATIONS } from '../operations/index.ts'
import type { Credentials, FaultMatch, FaultRule, HoldfastOptions, Span } from './api.ts'
import {
  aFlag,
  aFunction,
  aListOf,
  anInteger,
  anObject,
  aText,
  aTextLike,
  aTextOr,
  aTextOrPattern,
  aWordOf,
  type OptionCheck,
} from './checks.ts'

const PORT_MAX = 65_535

type BucketOption = Exclude<NonNullable<HoldfastOptions['buckets']>[number], string>

const aBucket = aTextOr(anObject<BucketOption>({ name: aText, objectLock: aFlag }, ['name']))

const credentials = anObject<Credentials>(
  {
    accessKeyId: aTextLike(/^[!-+\-.0-~]{1,128}$/, '1 to 128 visible ASCII characters, without comma and slash'),
    secretAccessKey: aTextLike(/^[^\p{Cc}]{1,256}$/u, '1 to 256 characters without control characters'),
  },
  ['accessKeyId', 'secretAccessKey'],
)

/** Accounts are checked by the reader of the accounts file. */
const aList: OptionCheck = aListOf(() => {})

const options = anObject<HoldfastOptions>({
  folder: aText,
  durability: aWordOf(['fsync', 'os']),
  buckets: aListOf(aBucket),
  accounts: aList,
  credentials,
  region: aTextLike(/^[\w.-]{1,64}$/, '1 to 64 letters, digits, - and .'),
  baseHost: aTextLike(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i, 'a host name without protocol and port'),
  port: anInteger(0, PORT_MAX),
  log: aFunction,
})

const match = anObject<FaultMatch>({
  operation: aWordOf(OPERATIONS.map(({ name }) => name)),
  method: (value, where) =>
    aWordOf(['GET', 'HEAD', 'PUT', 'POST', 'DELETE'])(typeof value === 'string' ? value.toUpperCase() : value, where),
  bucket: aTextOrPattern,
  key: aTextOrPattern,
})

type Numbered = { readonly delay: number; readonly cutAfter: number }

const named = aWordOf(['slow-down', 'internal-error', 'disk-full', 'lost-answer'])
const numbered = anObject<Numbered>({ delay: anInteger(0), cutAfter: anInteger(0) })

const fault: OptionCheck = (value, where) => {
  if (typeof value === 'string') return named(value, where)
  numbered(value, where)
  if (Object.values(value as Numbered).filter(number => number !== undefined).length !== 1) {
    throw new TypeError(`${where} must have either delay or cutAfter`)
  }
}

const rule = anObject<FaultRule>({ match, times: anInteger(1), fault }, ['fault'])

const aDuration: OptionCheck = (value, where) => {
  if (!Number.isFinite(value) || (value as number) < 0) throw new TypeError(`${where} must be a number of at least 0`)
}

const span = anObject<Span>({
  days: aDuration,
  hours: aDuration,
  minutes: aDuration,
  seconds: aDuration,
  milliseconds: aDuration,
})

/** A bucket listed twice could have conflicting options, of which only the first would apply. */
function checkOnce(buckets: HoldfastOptions['buckets'] = []): void {
  const seen = new Set<string>()
  for (const bucket of buckets) {
    const name = typeof bucket === 'string' ? bucket : bucket.name
    if (seen.has(name)) throw new TypeError(`options.buckets: ${name} is given twice`)
    seen.add(name)
  }
}

export function checkOptions(given: HoldfastOptions): void {
  options(given, 'options')
  checkOnce(given.buckets)
}

export const checkCredentials = (given: Credentials): void => credentials(given, 'credentials')
export const checkRule = (given: FaultRule): void => rule(given, 'rule')
export const checkSpan = (given: Span): void => span(given, 'span')

export function checkMoment(given: Date | string | number): void {
  const isDate = Object.prototype.toString.call(given) === '[object Date]'
  const isMoment = isDate || typeof given === 'string' || typeof given === 'number'
  if (!isMoment || Number.isNaN(new Date(given).getTime())) {
    throw new TypeError(`moment must be a Date, a date string or milliseconds: ${String(given)}`)
  }
}
