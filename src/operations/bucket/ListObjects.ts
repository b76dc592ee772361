import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { ListPage } from '../../store/listing/listing-page.ts'
import type { OperationContext } from '../context.ts'
import { asText, maybe, operation, pageSize, requires } from '../operation.ts'
import { noOwnerRows, ownerRows } from './listing-rows.ts'
import { delimiter, encoding, pageToken, prefix, speller, writePrefixes } from './listings.ts'
import { type ObjectRow, ObjectRows } from './object-rows.ts'

interface ListInput {
  readonly prefix: string | undefined
  readonly delimiter: string | undefined
  readonly limit: number
}

interface From {
  readonly after: string | undefined
  readonly startAfter?: string | undefined
}

const page = (ctx: OperationContext, input: ListInput, from: From, rows: ObjectRows): Promise<ListPage<ObjectRow>> =>
  ctx.store.listing.objectsAs(
    {
      bucket: ctx.target.bucket,
      prefix: input.prefix,
      delimiter: input.delimiter,
      limit: input.limit,
      ...from,
    },
    rows.add,
  )

export const ListObjects = operation({
  name: 'ListObjects',
  match: { method: 'GET', on: 'bucket' },
  permission: requires('ListBucket'),
  input: { prefix, delimiter, encoding, limit: pageSize('max-keys'), marker: maybe.query('marker', asText) },
  async run(ctx, input) {
    const rows = new ObjectRows(input.encoding, ownerRows(ctx))
    const listed = await page(ctx, input, { after: input.marker }, rows)
    const spell = speller(input.encoding)
    return {
      body: {
        root: 'ListBucketResult',
        write(to: XmlWriter) {
          to.leaf('Name', ctx.target.bucket)
          to.leaf('Prefix', spell(input.prefix ?? ''))
          to.leaf('Marker', spell(input.marker ?? ''))
          if (input.delimiter !== undefined && input.delimiter !== '') to.leaf('NextMarker', spell(listed.next?.key))
          to.leaf('MaxKeys', input.limit)
          to.leaf('Delimiter', input.delimiter === '' ? undefined : spell(input.delimiter))
          to.leaf('IsTruncated', listed.next !== undefined)
          to.leaf('EncodingType', input.encoding)
          rows.writeTo(to, listed.items.at(-1))
          writePrefixes(to, listed.prefixes, spell)
        },
      },
    }
  },
})

export const ListObjectsV2 = operation({
  name: 'ListObjectsV2',
  match: { method: 'GET', on: 'bucket', requires: ['?list-type=2'] },
  permission: requires('ListBucket'),
  input: {
    prefix,
    delimiter,
    encoding,
    limit: pageSize('max-keys'),
    startAfter: maybe.query('start-after', asText),
    continuation: maybe.query('continuation-token', pageToken.read),
    token: maybe.query('continuation-token', asText),
    fetchOwner: maybe.query('fetch-owner', asText),
  },
  async run(ctx, input) {
    const rows = new ObjectRows(input.encoding, input.fetchOwner === 'true' ? ownerRows(ctx) : noOwnerRows)
    const listed = await page(ctx, input, { after: input.continuation, startAfter: input.startAfter }, rows)
    const spell = speller(input.encoding)
    return {
      body: {
        root: 'ListBucketResult',
        write(to: XmlWriter) {
          to.leaf('Name', ctx.target.bucket)
          to.leaf('Prefix', spell(input.prefix ?? ''))
          to.leaf('MaxKeys', input.limit)
          to.leaf('KeyCount', listed.items.length + listed.prefixes.length)
          to.leaf('Delimiter', input.delimiter === '' ? undefined : spell(input.delimiter))
          to.leaf('IsTruncated', listed.next !== undefined)
          to.leaf('EncodingType', input.encoding)
          to.leaf('ContinuationToken', input.token)
          to.leaf('NextContinuationToken', listed.next === undefined ? undefined : pageToken.write(listed.next.key))
          to.leaf('StartAfter', spell(input.startAfter))
          rows.writeTo(to, listed.items.at(-1))
          writePrefixes(to, listed.prefixes, spell)
        },
      },
    }
  },
})
