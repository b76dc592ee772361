/** Changes of objects: delete, restore, copy, rename. */
import { type Entry, listObjects } from './listing.ts'
import { childrenOf, escapeXml, rootOf, send, sendDocument, sendForXml, textIn } from './request.ts'

const DELETE_MAX = 1000

export interface Doomed {
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

/** All keys that a selection of objects and folders stands for. */
export async function keysBelow(
  bucket: string,
  entries: readonly Entry[],
  { signal, onCount }: { signal: AbortSignal; onCount: (count: number) => void },
): Promise<string[]> {
  const keys = entries.filter(({ kind }) => kind === 'object').map(({ key }) => key)
  for (const folder of entries.filter(({ kind }) => kind === 'folder')) {
    let after: string | undefined
    do {
      const page = await listObjects({ bucket, prefix: folder.key, deep: true, after, signal })
      keys.push(...page.entries.map(({ key }) => key))
      after = page.next
      onCount(keys.length)
    } while (after !== undefined)
  }
  onCount(keys.length)
  return keys
}

export async function deleteVersion(bucket: string, { key, versionId }: Required<Doomed>): Promise<void> {
  await send({ method: 'DELETE', bucket, key, query: { versionId } })
}

export interface CopyOrder {
  readonly from: { readonly bucket: string; readonly key: string; readonly versionId?: string }
  readonly to: { readonly bucket: string; readonly key: string }
}

/** The server copies by reference, so the size does not matter. */
export async function copyObject({ from, to }: CopyOrder): Promise<void> {
  const version = from.versionId === undefined ? '' : `?versionId=${encodeURIComponent(from.versionId)}`
  const source = `/${from.bucket}/${from.key.split('/').map(encodeURIComponent).join('/')}${version}`
  await sendForXml({ method: 'PUT', ...to, headers: { 'x-amz-copy-source': source } })
}

/** The old name goes only after the new one is there. */
export async function moveObject(order: CopyOrder): Promise<void> {
  await copyObject(order)
  await send({ method: 'DELETE', bucket: order.from.bucket, key: order.from.key })
}

/** Asks the listing: a browser reports the refusal of a plain request as an error of the page. */
export async function exists(bucket: string, key: string): Promise<boolean> {
  const page = await listObjects({ bucket, prefix: key, deep: true, limit: 1 })
  return page.entries[0]?.key === key
}
