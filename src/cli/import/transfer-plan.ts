/**
 * What the target lacks of a key. Versions are written oldest first, so what is there must be the beginning of what the
 * source has: then the rest is missing. That holds after any crash, without a note of what was done.
 */
import type { ListedEntry } from './listing.ts'

export interface RememberedTransfers {
  isLeftOut(version: ListedEntry): boolean
  /** The entity tag that the version is known to have at the target. */
  etagOf(version: ListedEntry): string | undefined
  /** Reads both and compares. */
  sameBytes(source: ListedEntry, target: ListedEntry): Promise<boolean>
}

export interface TransferPlan {
  /** Oldest first; each goes on top of the one before. */
  readonly missing: readonly ListedEntry[]
  /** What is there and of the source, beside each other. */
  readonly matched: readonly (readonly [source: ListedEntry, target: ListedEntry])[]
  /** The target has something else where a version of the source should stand. */
  readonly differs: boolean
}

export type Similarity = 'same' | 'unsure' | 'different'

/** Equal tags of equal sizes are equal bytes. Unequal tags say little: they depend on parts and on encryption. */
export function similarityOf(source: ListedEntry, target: ListedEntry, knownEtag: string | undefined): Similarity {
  if (source.marker || target.marker) return source.marker === target.marker ? 'same' : 'different'
  if (source.size !== target.size) return 'different'
  return target.etag === source.etag || target.etag === knownEtag ? 'same' : 'unsure'
}

export async function planTransfer(
  source: readonly ListedEntry[],
  target: readonly ListedEntry[],
  known: RememberedTransfers,
): Promise<TransferPlan> {
  const wanted = source.filter(version => !known.isLeftOut(version))
  const matched: [ListedEntry, ListedEntry][] = []
  for (const [index, there] of target.entries()) {
    const version = wanted[index]
    // Newer than all that came from the source: somebody works with the target already.
    if (version === undefined) break
    const like = similarityOf(version, there, known.etagOf(version))
    if (like === 'different' || (like === 'unsure' && !(await known.sameBytes(version, there)))) {
      return { missing: wanted.slice(index), matched, differs: true }
    }
    matched.push([version, there])
  }
  return { missing: wanted.slice(matched.length), matched, differs: false }
}
