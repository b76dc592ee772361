/** Listings of the model: everything is collected, sorted by bytes, and then cut into pages. */
import type { ModelBucket, ModelUpload, ModelVersion } from './model.ts'

export interface ModelListRequest {
  readonly prefix: string
  readonly delimiter: string
  readonly limit: number
}

export interface ModelPage<T> {
  readonly items: readonly T[]
  readonly prefixes: readonly string[]
  /** The last key or common prefix of a page that is not the last. */
  readonly next: string | undefined
}

export interface ModelItem {
  readonly key: string
  readonly version: ModelVersion
  readonly latest: boolean
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

function commonPrefix(key: string, { prefix, delimiter }: ModelListRequest): string | undefined {
  if (delimiter === '') return undefined
  const at = key.slice(prefix.length).indexOf(delimiter)
  return at < 0 ? undefined : key.slice(0, prefix.length + at + delimiter.length)
}

/** A marker that is a common prefix, or is under one, covers everything under it. */
function isBehind(key: string, after: string | undefined, request: ModelListRequest): boolean {
  if (after === undefined) return true
  const rolledUp = key.startsWith(request.prefix) ? commonPrefix(key, request) : undefined
  if (rolledUp !== undefined && after.startsWith(rolledUp)) return false
  return byBytes(key, after) > 0
}

function page<T extends { readonly key: string }>(all: readonly T[], request: ModelListRequest): ModelPage<T> {
  const entries: { key: string; item: T | undefined }[] = []
  for (const item of all) {
    if (!item.key.startsWith(request.prefix)) continue
    const prefix = commonPrefix(item.key, request)
    if (prefix === undefined) entries.push({ key: item.key, item })
    else if (entries.at(-1)?.key !== prefix || entries.at(-1)?.item !== undefined) {
      entries.push({ key: prefix, item: undefined })
    }
  }
  const shown = entries.slice(0, request.limit)
  return {
    items: shown.flatMap(({ item }) => (item === undefined ? [] : [item])),
    prefixes: shown.flatMap(({ key, item }) => (item === undefined ? [key] : [])),
    next: entries.length > shown.length ? shown.at(-1)?.key : undefined,
  }
}

function sortedKeys(bucket: ModelBucket): string[] {
  return [...bucket.keys.keys()].sort(byBytes)
}

export function modelObjects(
  bucket: ModelBucket,
  request: ModelListRequest & { readonly after: string | undefined },
): ModelPage<ModelItem> {
  const current: ModelItem[] = []
  for (const key of sortedKeys(bucket)) {
    const version = bucket.keys.get(key)![0]!
    if (!version.marker && isBehind(key, request.after, request)) current.push({ key, version, latest: true })
  }
  return page(current, request)
}

export function modelVersions(
  bucket: ModelBucket,
  request: ModelListRequest & { readonly after: { key: string; versionId: string | undefined } | undefined },
): ModelPage<ModelItem> {
  const { after } = request
  const all: ModelItem[] = []
  for (const key of sortedKeys(bucket)) {
    const versions = bucket.keys.get(key)!
    const inside = after?.versionId !== undefined && after.key === key
    const from = inside ? versions.findIndex(version => version.id === after.versionId) + 1 : 0
    if (!inside && !isBehind(key, after?.key, request)) continue
    for (const [i, version] of versions.entries()) if (i >= from) all.push({ key, version, latest: i === 0 })
  }
  return page(all, request)
}

export function modelUploads(
  bucket: ModelBucket,
  request: ModelListRequest & { readonly after: { key: string; uploadId: string | undefined } | undefined },
): ModelPage<ModelUpload> {
  const { after } = request
  const sorted = [...bucket.uploads].sort(
    (a, b) => byBytes(a.key, b.key) || a.begunAt - b.begunAt || byBytes(a.id, b.id),
  )
  const from = sorted.findIndex(upload => upload.key === after?.key && upload.id === after.uploadId) + 1
  const behind =
    after?.uploadId === undefined ? sorted.filter(({ key }) => isBehind(key, after?.key, request)) : sorted.slice(from)
  return page(behind, request)
}
