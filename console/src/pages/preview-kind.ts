/** How an object is previewed, by its type and, for uploads without one, by its name. */
import { versionQuery } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { send } from '../objects/request.ts'

type PreviewKind = 'text' | 'image' | 'audio' | 'video' | 'pdf' | 'page' | 'none'

export const TEXT_BYTES_MAX = 2 ** 20

const TEXT_NAMES = /\.(txt|md|json|ya?ml|xml|csv|tsv|log|ini|conf|toml|sh|[cm]?[jt]sx?|py|go|rs|java|c|h|css|sql)$/i
const TEXT_TYPES = /^(text\/|application\/(json|xml|yaml|javascript|x-ndjson|toml|sql))|\+(json|xml)$/

export function previewKind(contentType: string, key: string): PreviewKind {
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'page'
  if (type.startsWith('image/')) return 'image'
  if (type.startsWith('audio/')) return 'audio'
  if (type.startsWith('video/')) return 'video'
  if (type === 'application/pdf') return 'pdf'
  if (TEXT_TYPES.test(type)) return 'text'
  const isUnknown = /octet-stream$/.test(type) || type === ''
  return isUnknown && TEXT_NAMES.test(key) ? 'text' : 'none'
}

/** The beginning of an object, as text. */
export async function readText({ bucket, key, versionId }: ObjectPlace, size: number): Promise<string> {
  const headers: Record<string, string> = size > TEXT_BYTES_MAX ? { range: `bytes=0-${TEXT_BYTES_MAX - 1}` } : {}
  const response = await send({ method: 'GET', bucket, key, query: versionQuery(versionId) }, { headers })
  return new TextDecoder().decode(await response.arrayBuffer())
}
