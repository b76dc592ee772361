/** Decoders for the fields of an input. Each validates one value and refuses it with a fault that names it. */
import { Fault } from '../model/faults.ts'
import { headerName } from '../rules/access/names.ts'
import { type Precondition, parseEtags } from '../rules/conditional-requests.ts'
import { LIMITS } from '../rules/limits.ts'
import type { OperationContext } from './context.ts'
import type { Decoder } from './operation.ts'

type Parse<T> = (value: string, name: string) => T

const sentName = (name: string): string => (name.startsWith(':') ? headerName(name.slice(1)) : name)

export const maybe = {
  header: <T>(name: string, parse: Parse<T>): Decoder<T | undefined> => ({
    decode(request) {
      const value = request.header(name)
      return value === undefined ? undefined : parse(value, sentName(name))
    },
  }),
  query: <T>(name: string, parse: Parse<T>): Decoder<T | undefined> => ({
    decode(request) {
      const value = request.query(name)
      return value === undefined ? undefined : parse(value, name)
    },
  }),
}

export const asText: Parse<string> = value => value

export const invalidArgument = (name: string, value: string, reason?: string): Fault =>
  new Fault('InvalidArgument', {
    ArgumentName: name,
    ArgumentValue: value,
    ...(reason === undefined ? {} : { reason }),
  })

export const oneOf =
  <const W extends readonly string[]>(...words: W): Parse<W[number]> =>
  (value, name) => {
    if (!words.includes(value)) throw invalidArgument(name, value)
    return value
  }

export const asCount: Parse<number> = (value, name) => {
  if (!/^\d{1,10}$/.test(value) || Number(value) > 0x7fffffff) throw invalidArgument(name, value)
  return Number(value)
}

/** Entries on a page: 1,000 at most and by default. */
export const pageSize = (name: string): Decoder<number> => ({
  decode: request => {
    const value = request.query(name)
    return value === undefined || value === '' ? LIMITS.listKeysMax : Math.min(LIMITS.listKeysMax, asCount(value, name))
  },
})

/** If-Match and If-None-Match of a write. */
export const writePrecondition: Decoder<Precondition> = {
  decode: request => {
    const ifMatch = request.header('if-match')
    const ifNoneMatch = request.header('if-none-match')
    return {
      ifMatch: ifMatch === undefined ? undefined : parseEtags(ifMatch, 'strong'),
      ifNoneMatch: ifNoneMatch === undefined ? undefined : parseEtags(ifNoneMatch, 'weak'),
    }
  },
}

export const versionId: Decoder<string | undefined> = maybe.query('versionId', asText)

const PART_NUMBER = `Part number must be an integer between 1 and ${LIMITS.partNumberMax}, inclusive`

export const invalidPartNumber = (value: string): Fault => invalidArgument('partNumber', value, PART_NUMBER)

/** A part of an upload, as reads name it: 1 to 10,000. */
export const partNumber: Decoder<number | undefined> = maybe.query('partNumber', (value, name) => {
  const number = asCount(value, name)
  if (number < 1 || number > LIMITS.partNumberMax) throw invalidPartNumber(value)
  return number
})

const ACCOUNT_ID = /^\d{12}$/

/** R7, D19. The bucket must have the owner that the caller expects. */
export function checkExpectedOwner(
  expected: string | undefined,
  owner: string,
  { accounts, behavior }: Pick<OperationContext, 'accounts' | 'behavior'>,
): void {
  if (expected === undefined) return
  if (!ACCOUNT_ID.test(expected)) throw new Fault(behavior.noAccountId)
  if (accounts.byCanonicalId(owner)?.accountId !== expected) throw new Fault('AccessDenied')
}
