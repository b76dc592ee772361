/** Headers and user metadata of an object as a form shows them. */
import type { ObjectDetails } from '../objects/details.ts'
import { describeTexts as t } from '../texts/copies.ts'
import type { Description } from './copy-order.ts'

export type Pairs = readonly (readonly [string, string])[]

export interface DescriptionForm {
  readonly contentType: string
  /** By the names of headers. */
  readonly fields: Readonly<Record<string, string>>
  readonly metadata: Pairs
}

export const FIELDS = Object.keys(t.fields)

export function formOf({ contentType, headers, metadata }: ObjectDetails): DescriptionForm {
  const values = new Map(headers)
  const fields = Object.fromEntries(FIELDS.map(name => [name, values.get(name) ?? '']))
  return { contentType, fields, metadata }
}

/** As HTTP allows it in the name of a header. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

/** A row without a name and a value is one that was not filled in. */
const filledIn = (pairs: Pairs): Pairs =>
  pairs
    .map(([name, value]) => [name.trim().toLowerCase(), value.trim()] as const)
    .filter(pair => pair.some(text => text !== ''))

export function problemOf({ contentType, fields, metadata }: DescriptionForm): string | undefined {
  const pairs = filledIn(metadata)
  const names = pairs.map(([name]) => name)
  const wrong = names.find(name => !HEADER_NAME.test(name))
  if (wrong !== undefined) return t.wrongName(wrong)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) return t.sameName(twice)
  const values = [contentType, ...Object.values(fields), ...pairs.map(([, value]) => value)]
  return values.some(value => /\p{Cc}/u.test(value)) ? t.wrongValue : undefined
}

/** Fields that are empty are left out. */
export function descriptionOf({ contentType, fields, metadata }: DescriptionForm): Description {
  const headers = [['content-type', contentType] as const, ...FIELDS.map(name => [name, fields[name] ?? ''] as const)]
  return {
    headers: headers.map(([name, value]) => [name, value.trim()] as const).filter(([, value]) => value !== ''),
    metadata: filledIn(metadata),
  }
}

/** A change of headers keeps the ETag, so that the time and the values tell whether an object is as it was read. */
export const isSameState = (one: ObjectDetails, other: ObjectDetails): boolean =>
  one.etag === other.etag &&
  one.versionId === other.versionId &&
  one.modifiedAt.getTime() === other.modifiedAt.getTime() &&
  JSON.stringify(formOf(one)) === JSON.stringify(formOf(other))
