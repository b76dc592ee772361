/** Reads everything that is kept, and says what is not as it was written. */

import { createHash } from 'node:crypto'
import { DamagedBlob } from '../blobs/blobs.ts'
import { startsWith } from '../lib/bytes.ts'
import type { KeyAndValue } from './entries.ts'
import { indexFormat, MergeLookup, verifiedBytes } from './index-entry.ts'
import type { Manifest } from './manifest.ts'
import { DamagedPiece } from './pieces.ts'
import { DamagedBackup, type Vault } from './vault.ts'

export interface BackupVerdict {
  readonly runs: readonly string[]
  readonly records: number
  readonly blobs: number
  readonly bytes: number
  readonly problems: readonly string[]
}

const BLOB_KEYS = Buffer.from('b')

/** Damage of what is kept; any other error is none of its. */
export function damageOf(error: unknown): string | undefined {
  const isDamage =
    error instanceof DamagedBackup ||
    error instanceof DamagedPiece ||
    error instanceof DamagedBlob ||
    (error as NodeJS.ErrnoException).code === 'EIO'
  return isDamage ? (error as Error).message : undefined
}

export async function verifyBackups(vault: Vault, progress: (line: string) => void): Promise<BackupVerdict> {
  const problems: string[] = []
  const note = (what: string, error: unknown): void => {
    const message = damageOf(error)
    if (message === undefined) throw error
    problems.push(`${what}: ${message}`)
  }
  const runs = await vault.runs()
  const whole: Manifest[] = []
  let records = 0
  for (const run of runs) {
    try {
      const manifest = await vault.manifest(run)
      await checkRun(vault, manifest)
      records += manifest.records.count
      whole.push(manifest)
      for (const { id, message } of manifest.damaged)
        problems.push(`${run}: blob ${id} was damaged already: ${message}`)
      progress(`${run}: records and index read`)
    } catch (error) {
      note(run, error)
    }
  }
  const read = await readBlobs(vault, whole, note, progress)
  return { runs, records, ...read, problems }
}

/** Its files are what was written, and its index has every blob that its records name. */
async function checkRun(vault: Vault, { run, records, index, keyringFile, damaged }: Manifest): Promise<void> {
  const listed = new MergeLookup(vault.entries(run, 'index', index.sha256))
  const missing = new Set(damaged.map(({ id }) => id))
  try {
    for await (const entries of vault.entries(run, 'records', records.sha256)) {
      for (const [key] of entries) {
        if (!startsWith(key, BLOB_KEYS)) continue
        const id = key.subarray(1)
        const isListed = (await listed.find(id)) !== undefined
        if (!isListed && !missing.has(id.toString('hex'))) {
          throw new DamagedBackup(`blob ${id.toString('hex')} is not in the index`)
        }
      }
    }
    await listed.drain()
  } finally {
    await listed.close()
  }
  if (keyringFile === undefined) return
  const hash = createHash('sha256')
  for await (const chunk of vault.bytesOf(run, 'keyring')) hash.update(chunk)
  if (hash.digest('hex') !== keyringFile.sha256) throw new DamagedBackup('its keyring is not what was written')
}

/** Each blob once, however many runs have it. */
async function readBlobs(
  vault: Vault,
  runs: readonly Manifest[],
  note: (what: string, error: unknown) => void,
  progress: (line: string) => void,
): Promise<{ blobs: number; bytes: number }> {
  let blobs = 0
  let bytes = 0
  for await (const [id, value] of sideBySide(vault, runs)) {
    const entry = indexFormat.decode(value)
    blobs++
    bytes += entry.length
    try {
      for await (const _ of verifiedBytes(vault.blobs.read(id, entry, 0, entry.length), entry.sha256));
    } catch (error) {
      note(`blob ${id.toString('hex')}`, error)
    }
    if (blobs % 1000 === 0) progress(`${blobs} blobs, ${bytes} bytes read`)
  }
  return { blobs, bytes }
}

/** The entries of all indexes in the order of ids, each that several have only once. */
async function* sideBySide(vault: Vault, runs: readonly Manifest[]): AsyncGenerator<KeyAndValue> {
  const rows = runs.map(({ run, index }) => new MergeLookup(vault.entries(run, 'index', index.sha256)))
  try {
    for (;;) {
      const heads = await Promise.all(rows.map(row => row.peek()))
      let id: Buffer | undefined
      for (const head of heads) if (head !== undefined && (id === undefined || head[0].compare(id) < 0)) id = head[0]
      if (id === undefined) return
      const seen = new Set<string>()
      for (const [i, head] of heads.entries()) {
        if (head === undefined || !head[0].equals(id)) continue
        rows[i]!.next()
        if (!seen.has(head[1].toString('latin1'))) yield head
        seen.add(head[1].toString('latin1'))
      }
    }
  } finally {
    for (const row of rows) await row.close()
  }
}
