/** Deletes objects and versions; restores by deleting the marker. */
import { type Entry, listObjects } from './listing.ts'
import { childrenOf, escapeXml, rootOf, send, sendDocument, textIn } from './request.ts'

const DELETE_MAX = 1000

interface Doomed {
  readonly key: string
  readonly versionId?: string
}

export interface Refused {
  readonly key: string
  readonly code: string
  readonly message: string
}

interface DeletionOptions {
  /** Ends the work before the next batch. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number) => void
}

/** Deletes in batches and returns how many were tried, and those that were refused. */
export async function deleteAll(
  bucket: string,
  doomed: readonly Doomed[],
  { signal, onProgress }: DeletionOptions = {},
): Promise<{ readonly done: number; readonly refused: readonly Refused[] }> {
  const refused: Refused[] = []
  let done = 0
  while (done < doomed.length && !signal?.aborted) {
    const batch = doomed.slice(done, done + DELETE_MAX)
    refused.push(...(await deleteBatch(bucket, batch)))
    done += batch.length
    onProgress?.(done)
  }
  return { done, refused }
}

async function deleteBatch(bucket: string, batch: readonly Doomed[]): Promise<Refused[]> {
  const rows = batch.map(({ key, versionId }) => {
    const version = versionId === undefined ? '' : `<VersionId>${escapeXml(versionId)}</VersionId>`
    return `<Object><Key>${escapeXml(key)}</Key>${version}</Object>`
  })
  const body = `<Delete><Quiet>true</Quiet>${rows.join('')}</Delete>`
  const response = await sendDocument({ method: 'POST', bucket, query: { delete: '' } }, body)
  const root = rootOf(await response.text())
  return childrenOf(root, 'Error').map(error => ({
    key: textIn(error, 'Key') ?? '',
    code: textIn(error, 'Code') ?? '',
    message: textIn(error, 'Message') ?? '',
  }))
}

export interface ListedObject {
  readonly key: string
  readonly size: number
}

interface Count {
  readonly signal: AbortSignal
  readonly onCount: (count: number) => void
}

/** All objects that a selection of objects and folders stands for. */
export async function objectsBelow(
  bucket: string,
  entries: readonly Entry[],
  { signal, onCount }: Count,
): Promise<ListedObject[]> {
  const found: ListedObject[] = []
  const take = (listed: readonly Entry[]): void => {
    for (const entry of listed) if (entry.kind === 'object') found.push({ key: entry.key, size: entry.size })
  }
  take(entries)
  for (const folder of entries.filter(({ kind }) => kind === 'folder')) {
    let after: string | undefined
    do {
      const page = await listObjects({ bucket, prefix: folder.key, deep: true, after, signal })
      take(page.entries)
      after = page.next
      onCount(found.length)
    } while (after !== undefined)
  }
  onCount(found.length)
  return found
}

export const keysBelow = async (bucket: string, entries: readonly Entry[], count: Count): Promise<string[]> =>
  (await objectsBelow(bucket, entries, count)).map(({ key }) => key)

export async function deleteVersion(bucket: string, { key, versionId }: Required<Doomed>): Promise<void> {
  await send({ method: 'DELETE', bucket, key, query: { versionId } })
}

/** Asks the listing: a browser reports the refusal of a plain request as an error of the page. */
export async function exists(bucket: string, key: string): Promise<boolean> {
  const page = await listObjects({ bucket, prefix: key, deep: true, limit: 1 })
  return page.entries[0]?.key === key
}
