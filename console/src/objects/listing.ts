/** Listings of a bucket: objects below a prefix, and versions. */
import { elementsOf, firstDecoded, firstText, type ListedElement } from './listing-text.ts'
import type { ObjectRequest } from './presign.ts'
import { send } from './request.ts'

interface ObjectEntry {
  readonly kind: 'object'
  readonly key: string
  readonly size: number
  readonly modifiedAt: Date
}

interface FolderEntry {
  readonly kind: 'folder'
  readonly key: string
}

/** A key whose newest version says that it was deleted. */
export interface DeletedEntry {
  readonly kind: 'deleted'
  readonly key: string
  readonly markerId: string
  readonly modifiedAt: Date
}

export type Entry = ObjectEntry | FolderEntry | DeletedEntry

export interface ListingPage {
  readonly entries: readonly Entry[]
  readonly next: string | undefined
}

interface ListingQuestion {
  readonly bucket: string
  readonly prefix: string
  readonly after?: string | undefined
  /** Everything below the prefix instead of one folder. */
  readonly deep?: boolean
  readonly limit?: number
  readonly signal?: AbortSignal | undefined
}

const present = (query: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))

export async function listObjects(question: ListingQuestion): Promise<ListingPage> {
  const { bucket, prefix, after, deep, limit, signal } = question
  const query = present({
    'list-type': '2',
    'encoding-type': 'url',
    prefix,
    delimiter: deep ? undefined : '/',
    'continuation-token': after,
    'max-keys': limit?.toString(),
  })
  const text = await listed({ method: 'GET', bucket, query }, signal)
  const objects = elementsOf(text, 'Contents').map(
    ({ content }): ObjectEntry => ({
      kind: 'object',
      key: firstDecoded(content, 'Key')!,
      size: Number(firstText(content, 'Size')),
      modifiedAt: new Date(firstText(content, 'LastModified')!),
    }),
  )
  // The object that has the folder itself as its key stands for the folder and is not shown inside it.
  const entries = [...objects.filter(({ key }) => deep || key !== prefix || !key.endsWith('/')), ...foldersIn(text)]
  return { entries: deep ? entries : entries.sort(byKey), next: firstText(text, 'NextContinuationToken') }
}

async function listed(request: ObjectRequest, signal: AbortSignal | undefined): Promise<string> {
  return (await send(request, { signal })).text()
}

const foldersIn = (text: string): FolderEntry[] =>
  elementsOf(text, 'CommonPrefixes').map(({ content }) => ({ kind: 'folder', key: firstDecoded(content, 'Prefix')! }))

const byKey = (one: Entry, other: Entry): number => (one.key < other.key ? -1 : 1)

export interface Version {
  readonly key: string
  readonly versionId: string
  readonly isLatest: boolean
  readonly isMarker: boolean
  readonly size: number
  readonly etag: string
  readonly modifiedAt: Date
  readonly owner: string | undefined
}

export interface VersionMark {
  readonly key: string
  readonly versionId: string | undefined
}

interface VersionsPage {
  readonly versions: readonly Version[]
  readonly folders: readonly FolderEntry[]
  readonly next: VersionMark | undefined
}

async function listVersions(
  question: Omit<ListingQuestion, 'after'> & { readonly after?: VersionMark | undefined },
): Promise<VersionsPage> {
  const { bucket, prefix, after, deep, signal } = question
  const query = present({
    versions: '',
    'encoding-type': 'url',
    prefix,
    delimiter: deep ? undefined : '/',
    'key-marker': after?.key,
    'version-id-marker': after?.versionId,
  })
  const text = await listed({ method: 'GET', bucket, query }, signal)
  const nextKey = firstDecoded(text, 'NextKeyMarker')
  return {
    versions: elementsOf(text, 'Version', 'DeleteMarker').map(versionOf),
    folders: foldersIn(text),
    next:
      firstText(text, 'IsTruncated') === 'true' && nextKey !== undefined
        ? { key: nextKey, versionId: firstText(text, 'NextVersionIdMarker') }
        : undefined,
  }
}

const versionOf = ({ name, content }: ListedElement): Version => ({
  key: firstDecoded(content, 'Key')!,
  versionId: firstText(content, 'VersionId')!,
  isLatest: firstText(content, 'IsLatest') === 'true',
  isMarker: name === 'DeleteMarker',
  size: Number(firstText(content, 'Size') ?? 0),
  etag: firstText(content, 'ETag') ?? '',
  modifiedAt: new Date(firstText(content, 'LastModified')!),
  owner: firstText(content, 'DisplayName') || firstText(content, 'ID'),
})

interface KeyVersionsPage {
  readonly versions: readonly Version[]
  readonly next: VersionMark | undefined
}

/** Versions of one key, newest first. They come first among those with the key as their prefix. */
export async function versionPageOfKey(
  bucket: string,
  key: string,
  { after, signal }: { readonly after?: VersionMark | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<KeyVersionsPage> {
  const page = await listVersions({ bucket, prefix: key, after, deep: true, signal })
  return {
    versions: page.versions.filter(version => version.key === key),
    next: page.versions.at(-1)?.key === key ? page.next : undefined,
  }
}

/** All of them. */
export async function versionsOfKey(bucket: string, key: string, signal?: AbortSignal): Promise<Version[]> {
  const found: Version[] = []
  let after: VersionMark | undefined
  do {
    const page = await versionPageOfKey(bucket, key, { after, signal })
    found.push(...page.versions)
    after = page.next
  } while (after !== undefined)
  return found
}

/** All versions of the keys that begin with a prefix, delete markers included, a page at a time. */
export async function* versionsBelow(
  bucket: string,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<readonly Version[]> {
  let after: VersionMark | undefined
  do {
    const page = await listVersions({ bucket, prefix, after, deep: true, signal })
    yield page.versions
    after = page.next
  } while (after !== undefined)
}

/** Keys of a folder that were deleted and can be restored, and its folders. */
export async function listDeleted(question: ListingQuestion): Promise<ListingPage> {
  const after = question.after === undefined ? undefined : (JSON.parse(question.after) as VersionMark)
  const page = await listVersions({ ...question, after })
  const deleted = page.versions
    .filter(({ isMarker, isLatest }) => isMarker && isLatest)
    .map((one): DeletedEntry => {
      return { kind: 'deleted', key: one.key, markerId: one.versionId, modifiedAt: one.modifiedAt }
    })
  const entries = [...deleted, ...page.folders].sort(byKey)
  return { entries, next: page.next === undefined ? undefined : JSON.stringify(page.next) }
}
