/** Removes old runs and the blobs that only they reference. */
import { indexFormat } from './index-entry.ts'
import type { Vault } from './vault.ts'

interface PruneResult {
  readonly runs: readonly string[]
  readonly files: number
}

/** Keeps the newest runs. A volume is removed when no remaining run references it. */
export async function pruneBackups(vault: Vault, keep: number): Promise<PruneResult> {
  const runs = await vault.runs()
  const removed = runs.slice(0, Math.max(0, runs.length - keep))
  if (removed.length === 0) return { runs: [], files: 0 }
  const needed = new Set<string>()
  // Checked before anything is removed: a run that cannot be read may reference any blob.
  for (const run of runs.slice(removed.length)) {
    const { index } = await vault.manifest(run)
    for await (const entries of vault.entries(run, 'index', index.sha256)) {
      for (const [id, value] of entries) needed.add(indexFormat.decode(value).volume ?? id.toString('hex'))
    }
  }
  for (const run of removed) await vault.remove(run)
  return { runs: removed, files: await removeUnreferenced(vault, needed) }
}

async function removeUnreferenced({ blobs }: Vault, needed: ReadonlySet<string>): Promise<number> {
  let files = 0
  for (const { name } of await blobs.volumes()) {
    if (needed.has(name)) continue
    await blobs.removeVolume(name)
    files++
  }
  for await (const id of blobs.solos()) {
    if (needed.has(id.toString('hex'))) continue
    await blobs.remove(id, { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    files++
  }
  return files
}
