/** Finds the versions that a selection stands for, and which of them are locked already. */
import { type Version, versionsBelow, versionsOfKey } from '../objects/listing.ts'
import { heldPages } from './held.ts'
import type { HeldVersion } from './held-csv.ts'
import type { Target } from './lock-plan.ts'

export interface Selection {
  readonly keys: readonly string[]
  readonly prefixes: readonly string[]
}

interface Search {
  readonly signal: AbortSignal
  readonly onCount: (count: number) => void
}

const AT_ONCE = 8

/** A version id has no slash in it. */
const nameOf = ({ key, versionId }: { readonly key: string; readonly versionId: string }): string =>
  `${versionId}/${key}`

function commonPrefix(keys: readonly string[]): string {
  const [first = '', ...rest] = keys
  let length = first.length
  for (const key of rest) while (!key.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}

async function versionsOf(bucket: string, { keys, prefixes }: Selection, search: Search): Promise<Version[]> {
  const found: Version[] = []
  const take = (versions: readonly Version[]): void => {
    for (const version of versions) if (!version.isMarker) found.push(version)
    search.onCount(found.length)
  }
  for (const prefix of prefixes) {
    for await (const versions of versionsBelow(bucket, prefix, search.signal)) take(versions)
  }
  const left = keys.values()
  const readKeys = async (): Promise<void> => {
    for (const key of left) take(await versionsOfKey(bucket, key, search.signal))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, readKeys))
  return found
}

/** One pass over the keys' common prefix costs less than asking for each key. */
async function locksOf(bucket: string, { keys, prefixes }: Selection, { signal }: Search) {
  const locks = new Map<string, HeldVersion>()
  for (const prefix of [...prefixes, ...(keys.length === 0 ? [] : [commonPrefix(keys)])]) {
    for await (const versions of heldPages({ bucket, prefix, signal })) {
      for (const version of versions) locks.set(nameOf(version), version)
    }
  }
  return locks
}

export async function findTargets(bucket: string, selection: Selection, search: Search): Promise<Target[]> {
  const versions = await versionsOf(bucket, selection, search)
  const locks = await locksOf(bucket, selection, search)
  return versions.map(version => {
    const { hold = false, retention } = locks.get(nameOf(version)) ?? {}
    return {
      key: version.key,
      versionId: version.versionId,
      isLatest: version.isLatest,
      isHeld: hold,
      retention: retention && { mode: retention.mode, until: new Date(retention.until) },
    }
  })
}
