/**
 * The rows of listings, up to a thousand a page. Each is written as one XML string: element by element takes twice as
 * long. Every text from outside must therefore go through `xmlText` here.
 */
import { memoizeLast } from '../../lib/memoize-last.ts'
import { asMarkup, type Markup, xmlText } from '../../lib/xml-writer.ts'
import type { ChecksumKind, ShownVersion } from '../../model/shown-version.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import type { ListedVersion } from '../../store/listing/listing.ts'
import type { OperationContext } from '../context.ts'
import { ownerShown } from './listings.ts'

export type OwnerRow = (owner: string) => Markup

/** The owner element of each row; consecutive rows usually share it. */
export function ownerRows(ctx: OperationContext): OwnerRow {
  return memoizeLast(owner => {
    const id = ownerShown(ctx, owner)
    const displayName = ctx.accounts.byCanonicalId(id)?.displayName ?? ''
    return asMarkup(`<Owner><ID>${xmlText(id)}</ID><DisplayName>${xmlText(displayName)}</DisplayName></Owner>`)
  })
}

export const noOwnerRows: OwnerRow = () => asMarkup('')

export const checksumKind = memoizeLast((kind: ChecksumKind | undefined): string => {
  if (kind === undefined) return ''
  const algorithm = `<ChecksumAlgorithm>${xmlText(kind.algorithm)}</ChecksumAlgorithm>`
  return `${algorithm}<ChecksumType>${kind.type}</ChecksumType>`
})

/** The elements after the size. */
export const stored = memoizeLast(
  (storageClass: string | undefined) => `</Size><StorageClass>${xmlText(storageClass ?? 'STANDARD')}</StorageClass>`,
)

const changed = (ms: number): string => `<LastModified>${formatTimestamp(ms)}</LastModified>`

/** R16, R17. The elements that an object has and a delete marker lacks. */
function object({ modifiedAt, etag, checksum, size, storageClass }: ShownVersion): string {
  const made = `<LastModified>${formatTimestamp(modifiedAt)}</LastModified><ETag>&quot;${xmlText(etag)}&quot;</ETag>`
  return `${made}${checksumKind(checksum)}<Size>${size}${stored(storageClass)}`
}

/** `key` is already encoded for this listing. */
export function objectRow(key: string, version: ShownVersion, owner: OwnerRow): Markup {
  return asMarkup(`<Contents><Key>${xmlText(key)}</Key>${object(version)}${owner(version.owner)}</Contents>`)
}

export function versionRow(key: string, { version, latest }: ListedVersion, owner: OwnerRow): Markup {
  const name = `<Key>${xmlText(key)}</Key><VersionId>${xmlText(version.id)}</VersionId><IsLatest>${latest}</IsLatest>`
  const by = owner(version.owner)
  if (!version.marker) return asMarkup(`<Version>${name}${object(version)}${by}</Version>`)
  return asMarkup(`<DeleteMarker>${name}${changed(version.modifiedAt)}${by}</DeleteMarker>`)
}
