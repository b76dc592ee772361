/**
 * Makes a run: the records of one snapshot, and its blobs that are not archived yet. Blobs first, then the index, the
 * manifest last. An interrupted run costs only time: the next one finds the blobs already copied.
 */
import { createHash } from 'node:crypto'
import { blobFormat } from '../model/content.ts'
import { type FormatStamp, formatStamp } from '../store/commit/format-stamp.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { KEYRING_KEY, keyringIdFormat } from '../store/keys/keyring-id.ts'
import type { BackupOptions } from './backup-options.ts'
import { BlobArchiver, type BlobToArchive, lastIntactRun } from './blob-archiver.ts'
import { entriesIn } from './entries.ts'
import type { Manifest } from './manifest.ts'
import type { RunWriter, Vault } from './vault.ts'

/** The folder is used for something else. */
class NotABackupFolder extends Error {}

/** Key prefix of blob records. */
const BLOB_KIND = 'b'.charCodeAt(0)

export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const { vault, source, clock } = options
  await vault.clear()
  const run = await vault.nextName(clock.now())
  const last = await lastIntactRun(vault)
  // A killed run still has its lease, and no other may start before that ends.
  const staleLease = await vault.staleLease()
  if (staleLease !== undefined) await source.end(staleLease).catch(() => {})
  const { backup, takenAt } = await source.start()
  try {
    await vault.saveLease(backup)
    const { records, keyring, stamp } = await copyRecords(options, run, backup)
    // Two stores in one vault would prune each other's blobs.
    if (last !== undefined && last.keyring !== keyring.toString('hex')) {
      throw new NotABackupFolder('this folder contains backups of another store')
    }
    const keyringFile = await copyKeyring(options, run, keyring)
    const archiver = await BlobArchiver.open(options, backup, last)
    const index = await copyBlobs(vault, run, records, archiver).finally(() => archiver.close())
    await vault.blobs.closeVolume()
    const manifest: Manifest = {
      format: 1,
      run,
      takenAt,
      endedAt: new Date(clock.now()).toISOString(),
      ...(stamp === undefined ? {} : { store: stamp }),
      keyring: keyring.toString('hex'),
      ...(keyringFile === undefined ? {} : { keyringFile }),
      records,
      index,
      blobs: archiver.totals,
      damaged: archiver.damaged,
      volumes: (await vault.blobs.volumes()).map(({ name }) => name).sort(),
    }
    await vault.finish(manifest)
    return manifest
  } finally {
    // A server that has stopped has already released the lease.
    await source.end(backup).catch(() => {})
    await vault.removeLease()
  }
}

async function copyRecords(
  { vault, source, progress }: BackupOptions,
  run: string,
  backup: string,
): Promise<{ records: Manifest['records']; keyring: Buffer; stamp: FormatStamp | undefined }> {
  const writer = await vault.create(run, 'records')
  const stampKey = recordKey.format()
  let keyring: Buffer | undefined
  let stamp: FormatStamp | undefined
  let count = 0
  try {
    for await (const entries of entriesIn(source.records(backup), 'holdfast records 1')) {
      for (const [key, value] of entries) {
        await writer.add(key, value)
        if (key.equals(KEYRING_KEY)) keyring = keyringIdFormat.decode(value)
        else if (key.equals(stampKey)) stamp = formatStamp.decode(value)
      }
      count += entries.length
      progress(`${count} records`)
    }
    if (keyring === undefined) throw new Error('the store has no record of its keyring')
    return { records: await writer.finish(), keyring: Buffer.from(keyring), stamp }
  } finally {
    await writer.abandon()
  }
}

async function copyKeyring(
  { vault, keyring }: BackupOptions,
  run: string,
  id: Buffer,
): Promise<Manifest['keyringFile']> {
  if (keyring === undefined) return undefined
  const bytes = await keyring(id)
  await vault.write(vault.path(run, 'keyring'), bytes)
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** In id order, so that the previous run's index is read alongside. */
async function copyBlobs(
  vault: Vault,
  run: string,
  records: Manifest['records'],
  archiver: BlobArchiver,
): Promise<Manifest['index']> {
  const index: RunWriter = await vault.create(run, 'index')
  try {
    for await (const entries of vault.entries(run, 'records', records.sha256)) {
      for (const [key, value] of entries) {
        if (key[0] === BLOB_KIND) await archiver.archive(wantedBlob(key, value), index)
      }
    }
    await archiver.flush(index)
    return await index.finish()
  } finally {
    await index.abandon()
  }
}

function wantedBlob(key: Buffer, value: Buffer): BlobToArchive {
  const { storedLength: length, frameBytes } = blobFormat.decode(value)
  return { id: Buffer.from(key.subarray(1)), length, frameBytes }
}
