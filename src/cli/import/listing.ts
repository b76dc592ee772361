/** Lists a bucket key by key, with the versions of each key from the oldest to the newest. */
import { children, childText, type XmlNode } from '../../lib/xml.ts'
import { bareEtag } from '../../rules/conditional-requests.ts'
import type { S3Client } from '../../s3/client.ts'
import { documentOf } from '../../s3/responses.ts'
import { CommandFailed } from '../failures.ts'

export interface ListedEntry {
  /** Undefined in a listing of current objects. */
  readonly versionId: string | undefined
  readonly marker: boolean
  readonly size: number
  readonly etag: string
}

interface KeyVersions {
  readonly key: string
  /** Oldest first. */
  readonly versions: readonly ListedEntry[]
}

interface KeyInterval {
  readonly prefix: string
  /** Only current objects. */
  readonly currentOnly: boolean
}

interface Entry extends ListedEntry {
  readonly key: string
  readonly latest: boolean
  readonly modifiedAt: number
}

const PAGE = 1000

/** Keys are percent-encoded if the server says so, since XML cannot represent every character. */
function spelling(root: XmlNode): (text: string) => string {
  if (childText(root, 'EncodingType')?.toLowerCase() !== 'url') return text => text
  return text => decodeURIComponent(text.replaceAll('+', '%20'))
}

function entryOf(node: XmlNode, plain: (text: string) => string): Entry {
  const marker = node.name === 'DeleteMarker'
  return {
    key: plain(childText(node, 'Key') ?? ''),
    versionId: childText(node, 'VersionId'),
    marker,
    latest: childText(node, 'IsLatest')?.toLowerCase() !== 'false',
    size: marker ? 0 : Number(childText(node, 'Size')),
    etag: marker ? '' : bareEtag(childText(node, 'ETag') ?? ''),
    modifiedAt: Date.parse(childText(node, 'LastModified') ?? ''),
  }
}

/** The key order of S3: by UTF-8 bytes. */
export const byBytes = (a: string, b: string): number =>
  a === b ? 0 : Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'))

const isSorted = (page: readonly Entry[]): boolean =>
  page.every((entry, i) => i === 0 || byBytes(page[i - 1]!.key, entry.key) <= 0)

/** Some servers list all versions before all markers. A list that begins with the latest may be in order. */
function isApart(entries: readonly Entry[], isGrouped: boolean): boolean {
  const changes = entries.filter((one, i) => i > 0 && one.marker !== entries[i - 1]!.marker).length
  if (changes !== 1) return false
  return !isGrouped || !entries[0]!.marker || !entries[0]!.latest
}

/**
 * The server's order is authoritative, except where it lists markers apart from versions: then only their times and the
 * latest flag tell how the two interleave.
 */
export function inOrder(page: readonly Entry[]): Entry[] {
  const isGrouped = isSorted(page)
  const byKey = new Map<string, Entry[]>()
  for (const entry of page) {
    const known = byKey.get(entry.key)
    if (known === undefined) byKey.set(entry.key, [entry])
    else known.push(entry)
  }
  const keys = isGrouped ? [...byKey.keys()] : [...byKey.keys()].sort(byBytes)
  return keys.flatMap(key => {
    const entries = byKey.get(key)!
    if (!isApart(entries, isGrouped)) return entries
    return entries.sort((a, b) => Number(b.latest) - Number(a.latest) || b.modifiedAt - a.modifiedAt)
  })
}

/** The part of the client that listings need; tests supply their own. */
type Lister = Pick<S3Client, 'request' | 'address'>

async function* pagesOfVersions(client: Lister, prefix: string): AsyncGenerator<Entry[]> {
  let at: Record<string, string | undefined> = {}
  while (true) {
    const query = { versions: '', prefix, 'max-keys': PAGE, 'encoding-type': 'url', ...at }
    const root = documentOf((await client.request({ method: 'GET', query })).body)
    const plain = spelling(root)
    const listed = root.children.filter(({ name }) => name === 'Version' || name === 'DeleteMarker')
    yield inOrder(listed.map(node => entryOf(node, plain)))
    if (childText(root, 'IsTruncated')?.toLowerCase() !== 'true') return
    const key = childText(root, 'NextKeyMarker') ?? ''
    at = { 'key-marker': plain(key), 'version-id-marker': childText(root, 'NextVersionIdMarker') || undefined }
  }
}

async function* pagesOfObjects(client: Lister, prefix: string): AsyncGenerator<Entry[]> {
  let token: string | undefined
  while (true) {
    const query = { 'list-type': 2, prefix, 'max-keys': PAGE, 'encoding-type': 'url', 'continuation-token': token }
    const root = documentOf((await client.request({ method: 'GET', query })).body)
    const plain = spelling(root)
    yield children(root, 'Contents').map(node => entryOf(node, plain))
    if (childText(root, 'IsTruncated')?.toLowerCase() !== 'true') return
    token = childText(root, 'NextContinuationToken')
  }
}

export async function* keyVersions(client: Lister, { prefix, currentOnly }: KeyInterval): AsyncGenerator<KeyVersions> {
  const pages = currentOnly ? pagesOfObjects(client, prefix) : pagesOfVersions(client, prefix)
  let key: string | undefined
  let newestFirst: Entry[] = []
  let listed = new Set<string | undefined>()
  for await (const page of pages) {
    for (const entry of page) {
      // Some servers repeat the last entry of a page at the beginning of the next.
      if (entry.key === key && listed.has(entry.versionId)) continue
      if (key !== undefined && entry.key !== key) {
        if (byBytes(entry.key, key) < 0) {
          throw new CommandFailed(
            `${client.address.endpoint.host} does not list keys in order: ${entry.key} behind ${key}`,
          )
        }
        yield { key, versions: newestFirst.reverse() }
        newestFirst = []
        listed = new Set()
      }
      key = entry.key
      listed.add(entry.versionId)
      newestFirst.push(entry)
    }
  }
  if (key !== undefined) yield { key, versions: newestFirst.reverse() }
}

/** The current versions of one key. */
export async function historyOf(client: S3Client, key: string, currentOnly: boolean): Promise<readonly ListedEntry[]> {
  for await (const history of keyVersions(client, { prefix: key, currentOnly })) {
    // A key sorts before all others that it is a prefix of.
    return history.key === key ? history.versions : []
  }
  return []
}

export interface Pair {
  readonly key: string
  readonly source: readonly ListedEntry[]
  readonly target: readonly ListedEntry[]
}

/** Every key of the source, with its versions at the target. */
export async function* paired(
  source: AsyncGenerator<KeyVersions>,
  target: AsyncGenerator<KeyVersions>,
): AsyncGenerator<Pair> {
  let there = await target.next()
  for await (const { key, versions } of source) {
    while (!there.done && byBytes(there.value.key, key) < 0) there = await target.next()
    const isSame = !there.done && there.value.key === key
    yield { key, source: versions, target: isSame ? (there.value as KeyVersions).versions : [] }
  }
}
