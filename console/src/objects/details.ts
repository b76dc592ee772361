/** Headers, user metadata and tags of one object, as the object API returns them. */
import { headerText } from './header-text.ts'
import { childrenOf, escapeXml, send, sendDocument, sendForXml, textIn } from './request.ts'

export interface ObjectDetails {
  readonly size: number
  readonly contentType: string
  readonly etag: string
  readonly modifiedAt: Date
  readonly versionId: string | undefined
  readonly headers: readonly (readonly [string, string])[]
  readonly metadata: readonly (readonly [string, string])[]
  readonly hold: boolean
  readonly retention: { readonly mode: string; readonly until: Date } | undefined
  readonly encryption: string | undefined
  /** Headers that a copy must name, since it does not take them from its source. */
  readonly carried: Readonly<Record<string, string>>
  readonly tagCount: number
}

const SHOWN_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
  'x-amz-storage-class',
  'x-amz-website-redirect-location',
]
const USER = 'x-amz-meta-'
const CARRIED = [
  'x-amz-storage-class',
  'x-amz-website-redirect-location',
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-bucket-key-enabled',
]

export async function objectDetails(bucket: string, key: string, versionId?: string): Promise<ObjectDetails> {
  const { headers } = await send({ method: 'HEAD', bucket, key, query: versionQuery(versionId) })
  const mode = headers.get('x-amz-object-lock-mode')
  const until = headers.get('x-amz-object-lock-retain-until-date')
  return {
    size: Number(headers.get('content-length')),
    contentType: headerText(headers.get('content-type') ?? 'application/octet-stream'),
    etag: headers.get('etag') ?? '',
    modifiedAt: new Date(headers.get('last-modified') ?? 0),
    versionId: headers.get('x-amz-version-id') ?? undefined,
    headers: [...headers]
      .filter(([name]) => SHOWN_HEADERS.includes(name))
      .map(([name, value]) => [name, headerText(value)] as const),
    metadata: [...headers]
      .filter(([name]) => name.startsWith(USER))
      .map(([name, value]) => [name.slice(USER.length), headerText(value)] as const),
    hold: headers.get('x-amz-object-lock-legal-hold') === 'ON',
    retention: mode === null || until === null ? undefined : { mode, until: new Date(until) },
    encryption: headers.get('x-amz-server-side-encryption') ?? undefined,
    carried: Object.fromEntries(
      [...headers].filter(([name]) => CARRIED.includes(name)).map(([name, value]) => [name, headerText(value)]),
    ),
    tagCount: Number(headers.get('x-amz-tagging-count') ?? 0),
  }
}

export const isLocked = ({ hold, retention }: ObjectDetails): boolean =>
  hold || (retention !== undefined && retention.until.getTime() > Date.now())

export const versionQuery = (versionId: string | undefined): Record<string, string> =>
  versionId === undefined ? {} : { versionId }

export type Tags = readonly (readonly [string, string])[]

export async function readTags(bucket: string, key: string, versionId?: string): Promise<Tags> {
  const root = await sendForXml({ method: 'GET', bucket, key, query: { tagging: '', ...versionQuery(versionId) } })
  const [set] = childrenOf(root, 'TagSet')
  return set === undefined
    ? []
    : childrenOf(set, 'Tag').map(tag => [textIn(tag, 'Key') ?? '', textIn(tag, 'Value') ?? ''] as const)
}

export async function writeTags(bucket: string, key: string, tags: Tags): Promise<void> {
  const rows = tags.map(([name, value]) => `<Tag><Key>${escapeXml(name)}</Key><Value>${escapeXml(value)}</Value></Tag>`)
  const body = `<Tagging><TagSet>${rows.join('')}</TagSet></Tagging>`
  await sendDocument({ method: 'PUT', bucket, key, query: { tagging: '' } }, body)
}
