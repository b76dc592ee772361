/** Reads all backups and reports what does not match its checksums. */

import { createHash } from 'node:crypto'
import { DamagedBlob } from '../blobs/blobs.ts'
import { startsWith } from '../lib/bytes.ts'
import type { KeyAndValue } from './entries.ts'
import { indexFormat, MergeLookup, verifiedBytes } from './index-entry.ts'
import type { Manifest } from './manifest.ts'
import { DamagedPiece } from './pieces.ts'
import { DamagedBackup, type Vault } from './vault.ts'

interface BackupVerdict {
  readonly runs: readonly string[]
  readonly records: number
  readonly blobs: number
  readonly bytes: number
  readonly problems: readonly string[]
}

const BLOB_KEYS = Buffer.from('b')

/** The message of an error that is damage of a backup; undefined for other errors. */
function damageOf(error: unknown): string | undefined {
  const isDamage =
    error instanceof DamagedBackup ||
    error instanceof DamagedPiece ||
    error instanceof DamagedBlob ||
    (error as NodeJS.ErrnoException).code === 'EIO'
  return isDamage ? (error as Error).message : undefined
}

export async function verifyBackups(vault: Vault, progress: (line: string) => void): Promise<BackupVerdict> {
  const problems: string[] = []
  const report = (what: string, error: unknown): void => {
    const message = damageOf(error)
    if (message === undefined) throw error
    problems.push(`${what}: ${message}`)
  }
  const runs = await vault.runs()
  const intact: Manifest[] = []
  let records = 0
  for (const run of runs) {
    try {
      const manifest = await vault.manifest(run)
      await checkRun(vault, manifest)
      records += manifest.records.count
      intact.push(manifest)
      for (const { id, message } of manifest.damaged)
        problems.push(`${run}: blob ${id} was already damaged in the store: ${message}`)
      progress(`${run}: records and index read`)
    } catch (error) {
      report(run, error)
    }
  }
  const read = await readBlobs(vault, intact, report, progress)
  return { runs, records, ...read, problems }
}

/** Verifies the files of a run, and that its index lists every blob its records reference. */
async function checkRun(vault: Vault, { run, records, index, keyringFile, damaged }: Manifest): Promise<void> {
  const blobIndex = new MergeLookup(vault.entries(run, 'index', index.sha256))
  const missing = new Set(damaged.map(({ id }) => id))
  try {
    for await (const entries of vault.entries(run, 'records', records.sha256)) {
      for (const [key] of entries) {
        if (!startsWith(key, BLOB_KEYS)) continue
        const id = key.subarray(1)
        const isListed = (await blobIndex.find(id)) !== undefined
        if (!isListed && !missing.has(id.toString('hex'))) {
          throw new DamagedBackup(`blob ${id.toString('hex')} is not in the index`)
        }
      }
    }
    await blobIndex.drain()
  } finally {
    await blobIndex.close()
  }
  if (keyringFile === undefined) return
  const hash = createHash('sha256')
  for await (const chunk of vault.bytesOf(run, 'keyring')) hash.update(chunk)
  if (hash.digest('hex') !== keyringFile.sha256) throw new DamagedBackup('its keyring does not match its checksum')
}

/** Reads each blob once, however many runs reference it. */
async function readBlobs(
  vault: Vault,
  runs: readonly Manifest[],
  report: (what: string, error: unknown) => void,
  progress: (line: string) => void,
): Promise<{ blobs: number; bytes: number }> {
  let blobs = 0
  let bytes = 0
  for await (const [id, value] of mergeIndexes(vault, runs)) {
    const entry = indexFormat.decode(value)
    blobs++
    bytes += entry.length
    try {
      for await (const _ of verifiedBytes(vault.blobs.read(id, entry, 0, entry.length), entry.sha256));
    } catch (error) {
      report(`blob ${id.toString('hex')}`, error)
    }
    if (blobs % 1000 === 0) progress(`${blobs} blobs, ${bytes} bytes read`)
  }
  return { blobs, bytes }
}

/** The entries of all indexes merged in id order, without duplicates. */
async function* mergeIndexes(vault: Vault, runs: readonly Manifest[]): AsyncGenerator<KeyAndValue> {
  const indexes = runs.map(({ run, index }) => new MergeLookup(vault.entries(run, 'index', index.sha256)))
  try {
    for (;;) {
      const heads = await Promise.all(indexes.map(index => index.peek()))
      let id: Buffer | undefined
      for (const head of heads) if (head !== undefined && (id === undefined || head[0].compare(id) < 0)) id = head[0]
      if (id === undefined) return
      const seen = new Set<string>()
      for (const [i, head] of heads.entries()) {
        if (head === undefined || !head[0].equals(id)) continue
        indexes[i]!.next()
        if (!seen.has(head[1].toString('latin1'))) yield head
        seen.add(head[1].toString('latin1'))
      }
    }
  } finally {
    for (const index of indexes) await index.close()
  }
}
