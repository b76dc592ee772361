import type { XmlWriter } from '../../lib/xml-writer.ts'
import { type Decoder, invalidArgument, operation, pageSize, requires } from '../operation.ts'
import { ownerRows, versionRow } from './listing-rows.ts'
import { delimiter, encoding, prefix, speller, writePrefixes } from './listings.ts'

interface Marker {
  readonly key: string | undefined
  readonly versionId: string | undefined
}

/** The listing continues after a key, or after one of its versions. */
const marker: Decoder<Marker> = {
  decode(request) {
    const key = request.query('key-marker')
    const versionId = request.query('version-id-marker')
    if (versionId !== undefined) {
      const reason = versionId === '' ? 'A version-id marker cannot be empty.' : NEEDS_KEY
      if (versionId === '' || key === undefined || key === '') {
        throw invalidArgument('version-id-marker', versionId, reason)
      }
    }
    return { key, versionId }
  },
}

const NEEDS_KEY = 'A version-id marker cannot be specified without a key marker.'

export const ListObjectVersions = operation({
  name: 'ListObjectVersions',
  match: { method: 'GET', on: 'bucket', requires: ['?versions'] },
  permission: requires('ListBucketVersions'),
  input: {
    prefix,
    delimiter,
    encoding,
    marker,
    limit: pageSize('max-keys'),
  },
  async run(ctx, { marker: at, ...input }) {
    const after = at.key === undefined || at.key === '' ? undefined : { key: at.key, versionId: at.versionId }
    const listed = await ctx.store.listing.versions({
      bucket: ctx.target.bucket,
      prefix: input.prefix,
      delimiter: input.delimiter,
      limit: input.limit,
      ...(after === undefined ? {} : { after }),
    })
    const spell = speller(input.encoding)
    const { next } = listed
    return {
      body: {
        root: 'ListVersionsResult',
        write(to: XmlWriter) {
          to.leaf('Name', ctx.target.bucket)
          to.leaf('Prefix', spell(input.prefix ?? ''))
          to.leaf('KeyMarker', spell(at.key ?? ''))
          to.leaf('VersionIdMarker', at.versionId ?? '')
          to.leaf('NextKeyMarker', spell(next?.key))
          if (next !== undefined && !next.isPrefix) to.leaf('NextVersionIdMarker', listed.items.at(-1)?.version.id)
          to.leaf('MaxKeys', input.limit)
          to.leaf('Delimiter', input.delimiter === '' ? undefined : spell(input.delimiter))
          to.leaf('IsTruncated', next !== undefined)
          to.leaf('EncodingType', input.encoding)
          const owner = ownerRows(ctx)
          for (const item of listed.items) to.add(versionRow(spell(item.key), item, owner))
          writePrefixes(to, listed.prefixes, spell)
        },
      },
    }
  },
})
