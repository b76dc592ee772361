import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import type { Checksum, Version } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import { formatHttpDate } from '../../rules/http-date.ts'
import { LIMITS } from '../../rules/limits.ts'
import { withoutCount } from '../../rules/part-checksums.ts'
import type { PartsPage } from '../../store/content/part-table.ts'
import { asCount, type Decoder, invalidArgument, maybe, operation } from '../operation.ts'
import { versionIdHeader } from './attributes.ts'
import { customerKey, noEncryption } from './encryption.ts'

/** G13. The attributes that a client may select. */
const ATTRIBUTES = ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'] as const
type Attribute = (typeof ATTRIBUTES)[number]

const wantedAttributes: Decoder<ReadonlySet<Attribute>> = {
  decode(request) {
    const sent = request.header(':object-attributes')
    const name = headerName('object-attributes')
    const words = (sent ?? '')
      .split(',')
      .map(word => word.trim())
      .filter(word => word !== '')
    if (words.length === 0) {
      throw new Fault('InvalidRequest', { reason: `The ${name} header specifying the attributes is missing or empty` })
    }
    return new Set(
      words.map(word => {
        const known = ATTRIBUTES.find(attribute => attribute === word)
        if (known === undefined) throw invalidArgument(name, word, 'Invalid attribute name specified.')
        return known
      }),
    )
  },
}

interface Shown {
  readonly version: Version
  readonly page: PartsPage
  readonly limit: number
  readonly after: number
}

const writeValue = (to: XmlWriter, { algorithm }: Checksum, value: string | undefined): void =>
  void to.leaf(`Checksum${algorithm}`, value)

/** Parts are listed only where their checksums make up the object's. */
function writeParts(to: XmlWriter, { version, page, limit, after }: Shown): void {
  if (version.parts === 0) return
  to.open('ObjectParts')
  const { checksum } = version
  if (checksum?.type === 'COMPOSITE') {
    to.leaf('PartNumberMarker', after)
    to.leaf('NextPartNumberMarker', page.parts.at(-1)?.number ?? after)
    to.leaf('MaxParts', limit)
    to.leaf('IsTruncated', page.more)
    for (const part of page.parts) {
      to.open('Part')
      to.leaf('PartNumber', part.number)
      to.leaf('Size', part.size)
      writeValue(to, checksum, part.checksum)
      to.close()
    }
  }
  to.leaf('PartsCount', version.parts)
  to.close()
}

function writeChecksum(to: XmlWriter, { checksum }: Version): void {
  if (checksum === undefined) return
  to.open('Checksum')
  writeValue(to, checksum, withoutCount(checksum.value))
  to.leaf('ChecksumType', checksum.type)
  to.close()
}

function writeAttributes(to: XmlWriter, wanted: ReadonlySet<Attribute>, shown: Shown): void {
  const { version } = shown
  if (wanted.has('ETag')) to.leaf('ETag', version.etag)
  if (wanted.has('Checksum')) writeChecksum(to, version)
  if (wanted.has('ObjectParts')) writeParts(to, shown)
  if (wanted.has('StorageClass')) to.leaf('StorageClass', version.attributes.storageClass ?? 'STANDARD')
  if (wanted.has('ObjectSize')) to.leaf('ObjectSize', version.size)
}

export const GetObjectAttributes = operation({
  name: 'GetObjectAttributes',
  match: { method: 'GET', on: 'object', requires: ['?attributes'] },
  // A caller who may not read the bytes may not read their digests either.
  permission: request =>
    request.query('versionId') === undefined
      ? [{ action: 'GetObject' }, { action: 'GetObjectAttributes' }]
      : [{ action: 'GetObjectVersion' }, { action: 'GetObjectVersionAttributes' }],
  input: {
    wanted: wantedAttributes,
    key: customerKey,
    noEncryption,
    limit: maybe.header(':max-parts', asCount),
    after: maybe.header(':part-number-marker', asCount),
  },
  async run(ctx, { wanted, key, limit: requestedLimit, after = 0 }) {
    const limit = Math.min(requestedLimit ?? LIMITS.listKeysMax, LIMITS.listKeysMax)
    const handle = await ctx.store.objects.open(ctx.target, key?.key)
    try {
      const { version } = handle
      const page = wanted.has('ObjectParts') ? await handle.parts(after, limit) : { parts: [], more: false }
      return {
        headers: [['last-modified', formatHttpDate(version.modifiedAt)], versionIdHeader(ctx, version)],
        body: {
          root: 'GetObjectAttributesResponse',
          write: (to: XmlWriter) => writeAttributes(to, wanted, { version, page, limit, after }),
        },
      }
    } finally {
      handle.close()
    }
  },
})
