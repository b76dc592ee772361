/** What all listings say alike, and how. */
import { lastOf } from '../lib/last-of.ts'
import { type Markup, markup, type XmlWriter } from '../lib/xml-writer.ts'
import type { ChecksumKind, ShownVersion } from '../model/shown-version.ts'
import type { Pairs } from '../model/version.ts'
import { formatTimestamp } from '../rules/http-date.ts'
import type { Context } from './context.ts'
import { asText, invalidArgument, maybe } from './inputs.ts'
import type { Decoder } from './operation.ts'

export const prefix = maybe.query('prefix', asText)
export const delimiter = maybe.query('delimiter', asText)

/** `encoding-type=url`: texts of the answer are percent-encoded, since XML cannot carry every character. */
export const encoding: Decoder<'url' | undefined> = maybe.query('encoding-type', (value, name) => {
  if (value !== 'url') throw invalidArgument(name, value, 'Invalid Encoding Method specified in Request')
  return 'url' as const
})

const encoded = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/')
    .replaceAll('%20', '+')

/** How this listing spells keys and prefixes. */
export const speller =
  (form: 'url' | undefined) =>
  (text: string | undefined): string | undefined =>
    text === undefined || form === undefined ? text : encoded(text)

export type Spell = ReturnType<typeof speller>

export function writePrefixes(to: XmlWriter, prefixes: readonly string[], spell: Spell): void {
  for (const one of prefixes) {
    to.open('CommonPrefixes')
    to.leaf('Prefix', spell(one))
    to.close()
  }
}

/** An element `Owner` for each of many versions, most of which have the same. */
export function ownersOf(ctx: Context): (owner: string) => Markup {
  return lastOf(owner => {
    const displayName = ctx.accounts.byCanonicalId(owner)?.displayName ?? ''
    return markup`<Owner><ID>${owner}</ID><DisplayName>${displayName}</DisplayName></Owner>`
  })
}

export function writeOwner(to: XmlWriter, ctx: Context, owner: string, element = 'Owner'): void {
  to.open(element)
  to.leaf('ID', owner)
  to.leaf('DisplayName', ctx.accounts.byCanonicalId(owner)?.displayName ?? '')
  to.close()
}

/** What every listed version has, marker or not, comes from the caller; this is what an object adds. */
export function objectIn({ modifiedAt, etag, checksum, size, storageClass = 'STANDARD' }: ShownVersion): Markup {
  const made = markup`<LastModified>${formatTimestamp(modifiedAt)}</LastModified><ETag>&quot;${etag}&quot;</ETag>`
  const summed = checksum && checksumKind(checksum)
  return markup`${made}${summed}<Size>${size}</Size><StorageClass>${storageClass}</StorageClass>`
}

const checksumKind = lastOf(
  ({ algorithm, type }: ChecksumKind) =>
    markup`<ChecksumAlgorithm>${algorithm}</ChecksumAlgorithm><ChecksumType>${type}</ChecksumType>`,
)

export function writeTags(to: XmlWriter, tags: Pairs): void {
  for (const [key, value] of tags) {
    to.open('Tag')
    to.leaf('Key', key)
    to.leaf('Value', value)
    to.close()
  }
}
