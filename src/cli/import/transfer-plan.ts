/**
 * Decides which versions of a key the target lacks. Versions are written oldest first, so those at the target must be a
 * prefix of the source's, and the rest is missing. That holds after any crash without a log of what was done.
 */
import type { ListedEntry } from './listing.ts'

export interface RememberedTransfers {
  isLeftOut(version: ListedEntry): boolean
  /** The ETag that the version is known to have at the target. */
  etagOf(version: ListedEntry): string | undefined
  /** Reads both and compares. */
  sameBytes(source: ListedEntry, target: ListedEntry): Promise<boolean>
}

interface TransferPlan {
  /** Oldest first. */
  readonly missing: readonly ListedEntry[]
  /** Versions present at both sides. */
  readonly matched: readonly (readonly [source: ListedEntry, target: ListedEntry])[]
  /** The target has another version in place of one of the source's. */
  readonly differs: boolean
}

type Similarity = 'same' | 'unsure' | 'different'

/** Equal ETags and sizes mean equal bytes. Unequal ETags prove nothing: they depend on parts and encryption. */
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
    // Newer than all versions of the source: the target is already in use.
    if (version === undefined) break
    const like = similarityOf(version, there, known.etagOf(version))
    if (like === 'different' || (like === 'unsure' && !(await known.sameBytes(version, there)))) {
      return { missing: wanted.slice(index), matched, differs: true }
    }
    matched.push([version, there])
  }
  return { missing: wanted.slice(matched.length), matched, differs: false }
}
