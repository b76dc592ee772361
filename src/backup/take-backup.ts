/**
 * Makes a run: the records of one snapshot, and those of its blobs that are not kept yet. Bytes first, the index behind
 * them, the manifest last. Whatever ends it before that costs only time: the next run finds the bytes that are there.
 */
import { createHash } from 'node:crypto'
import { blobFormat } from '../model/content.ts'
import { type FormatStamp, formatStamp } from '../store/commit/format-stamp.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { KEYRING_KEY, keyringIdFormat } from '../store/keys/keyring-id.ts'
import type { BackupOptions } from './backup-options.ts'
import { BlobArchiver, lastWhole, type WantedBlob } from './blob-archiver.ts'
import { entriesIn } from './entries.ts'
import type { Manifest } from './manifest.ts'
import type { RunWriter, Vault } from './vault.ts'

/** The folder is in use for something else. */
export class NotABackupFolder extends Error {}

/** Blobs have a kind of their own among the records. */
const BLOB_KIND = 'b'.charCodeAt(0)

export async function takeBackup(taking: BackupOptions): Promise<Manifest> {
  const { vault, source, clock } = taking
  await vault.clear()
  const run = await vault.nextName(clock.now())
  const last = await lastWhole(vault)
  // One that was killed here still has its lease: nobody else may begin before that ends.
  const left = await vault.leaseLeft()
  if (left !== undefined) await source.end(left).catch(() => {})
  const { backup, takenAt } = await source.start()
  try {
    await vault.noteLease(backup)
    const { records, keyring, stamp } = await copyRecords(taking, run, backup)
    // Two stores in one place would take each other's blobs away.
    if (last !== undefined && last.keyring !== keyring.toString('hex')) {
      throw new NotABackupFolder('this folder has backups of another store')
    }
    const keyringFile = await copyKeyring(taking, run, keyring)
    const keeping = await BlobArchiver.open(taking, backup, last)
    const index = await copyBlobs(vault, run, records, keeping).finally(() => keeping.close())
    await vault.blobs.seal()
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
      blobs: keeping.totals,
      damaged: keeping.damaged,
      volumes: (await vault.blobs.volumes()).map(({ name }) => name).sort(),
    }
    await vault.finish(manifest)
    return manifest
  } finally {
    // A server that is gone has let go already.
    await source.end(backup).catch(() => {})
    await vault.forgetLease()
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
    if (keyring === undefined) throw new Error('the store does not say which keyring it belongs to')
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

/** In the order of their ids, in which the index of the run before is read along. */
async function copyBlobs(
  vault: Vault,
  run: string,
  records: Manifest['records'],
  keeping: BlobArchiver,
): Promise<Manifest['index']> {
  const index: RunWriter = await vault.create(run, 'index')
  try {
    for await (const entries of vault.entries(run, 'records', records.sha256)) {
      for (const [key, value] of entries) {
        if (key[0] === BLOB_KIND) await keeping.want(wantedBlob(key, value), index)
      }
    }
    await keeping.flush(index)
    return await index.finish()
  } finally {
    await index.abandon()
  }
}

function wantedBlob(key: Buffer, value: Buffer): WantedBlob {
  const { storedLength: length, frameBytes } = blobFormat.decode(value)
  return { id: Buffer.from(key.subarray(1)), length, frameBytes }
}
