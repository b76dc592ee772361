/**
 * What the target lacks of a key. Versions are written oldest first, so what is there must be the beginning of what the
 * source has: then the rest is missing. That holds after any crash, without a note of what was done.
 */
import type { Listed } from './listing.ts'

export interface Knowledge {
  isLeftOut(version: Listed): boolean
  /** The entity tag that the version is known to have at the target. */
  etagOf(version: Listed): string | undefined
  /** Reads both and compares. */
  sameBytes(source: Listed, target: Listed): Promise<boolean>
}

export interface Standing {
  /** Oldest first; each goes on top of the one before. */
  readonly missing: readonly Listed[]
  /** What is there and of the source, beside each other. */
  readonly matched: readonly (readonly [source: Listed, target: Listed])[]
  /** The target has something else where a version of the source should stand. */
  readonly differs: boolean
}

export type Likeness = 'same' | 'unsure' | 'different'

/** Equal tags of equal sizes are equal bytes. Unequal tags say little: they depend on parts and on encryption. */
export function likeness(source: Listed, target: Listed, knownEtag: string | undefined): Likeness {
  if (source.marker || target.marker) return source.marker === target.marker ? 'same' : 'different'
  if (source.size !== target.size) return 'different'
  return target.etag === source.etag || target.etag === knownEtag ? 'same' : 'unsure'
}

export async function standing(
  source: readonly Listed[],
  target: readonly Listed[],
  known: Knowledge,
): Promise<Standing> {
  const wanted = source.filter(version => !known.isLeftOut(version))
  const matched: [Listed, Listed][] = []
  for (const [index, there] of target.entries()) {
    const version = wanted[index]
    // Newer than all that came from the source: somebody works with the target already.
    if (version === undefined) break
    const like = likeness(version, there, known.etagOf(version))
    if (like === 'different' || (like === 'unsure' && !(await known.sameBytes(version, there)))) {
      return { missing: wanted.slice(index), matched, differs: true }
    }
    matched.push([version, there])
  }
  return { missing: wanted.slice(matched.length), matched, differs: false }
}
