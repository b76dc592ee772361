/** Names of copies in the folder they go to. */
import type { FolderPlace } from './folder-place.ts'

interface Way {
  readonly from: FolderPlace
  readonly to: FolderPlace
}

/** The rest of a key, after the first folder, stays the same. */
export const targetKey = ({ from, to }: Way, key: string): string => to.prefix + key.slice(from.prefix.length)

/**
 * True if a folder of the path would have no name, as of `/x` or `a//b`. S3 has such keys, but hardly anybody wants
 * them, and they are hard to find again. Folders with no name that are there already may be kept.
 */
export function hasNamelessFolder(path: string, folder: string): boolean {
  const added = path.startsWith(folder) ? path.slice(folder.length) : path
  return added.startsWith('/') || added.includes('//')
}

/**
 * True if an object would get the name of another one of them: `a/a/x` and `a/a/a/x` of the folder `a/a/` that goes to
 * the top. One that is replaced before its own turn is lost.
 */
export function meetsSources(way: Way, objects: readonly { readonly key: string }[]): boolean {
  const { from, to } = way
  const isOneInOther = to.prefix.startsWith(from.prefix) || from.prefix.startsWith(to.prefix)
  if (from.bucket !== to.bucket || !isOneInOther) return false
  const keys = new Set(objects.map(({ key }) => key))
  return objects.some(({ key }) => keys.has(targetKey(way, key)))
}
