/** Backup folders on this machine: exclusive access to them, and restoring a data folder. */
import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import type { Manifest } from '../backup/manifest.ts'
import { type RestoreResult, restoreBackup } from '../backup/restore.ts'
import { BACKUP_NAME, type BackupPlace, type StoredBackup } from '../backup/server-backup.ts'
import { completeRuns, DamagedBackup, timeOfRun, Vault } from '../backup/vault.ts'
import { decodeKeyring, keyringPath } from '../crypto/keyring-file.ts'
import { realDisk } from '../lib/disk.ts'
import { WRITER_BYTES } from '../lib/ids.ts'
import { isAlive, type LivenessSocket, openLivenessSocket } from '../lib/liveness-socket.ts'
import { systemRandom } from '../lib/random.ts'
import { replaceFile } from '../lib/replace-file.ts'
import type { Meta } from '../meta/meta.ts'
import { assertFolderUnowned, takeOwnership } from '../store/commit/folder-ownership.ts'
import { readText } from './accounts.ts'
import { BadConfig } from './bad-config.ts'
import { hasNoBlobs, isBlobsAddress, openBlobsAt, printableBlobsPlace } from './blob-driver.ts'
import { type ClusterSettings, exportedClusterKeyring } from './cluster-keyring.ts'
import { type FolderOptions, openMeta } from './compose.ts'
import { claimDatabase, isStoreOf, releaseDatabase } from './database-claim.ts'
import { assertReadable } from './folder-format.ts'
import { RESTORING_FILE } from './folder-markers.ts'

/** The folders do not permit the requested operation; the message says why. */
class BadBackup extends Error {}

/** Of a command that uses a backup folder. Before 0.2.0 all had one name. */
const SOCKET = /^in-use(-[0-9a-f]{8})?\.sock$/
/** Created by the filesystem itself. */
const IGNORED_NAMES = new Set(['lost+found'])

const namesIn = async (folder: string): Promise<string[]> =>
  (await realDisk.list(folder)).filter(name => !IGNORED_NAMES.has(name))

/** Of two commands that start at once at least one is refused: each looks for others after it can be found itself. */
async function enterVault(folder: string): Promise<LivenessSocket> {
  const own = `in-use-${systemRandom.bytes(4).toString('hex')}.sock`
  const liveness = await openLivenessSocket(join(folder, own))
  try {
    const names = await realDisk.list(folder)
    const others = names.filter(name => SOCKET.test(name) && name !== own).map(name => join(folder, name))
    const areAlive = await Promise.all(others.map(isAlive))
    // Another command that looked before this one listened has removed its socket as that of a dead one.
    if (areAlive.includes(true) || !names.includes(own)) throw new BadBackup(`another command is using ${folder}`)
    for (const dead of others) await realDisk.remove(dead)
    return liveness
  } catch (error) {
    await liveness.end()
    throw error
  }
}

/** Opens a backup folder exclusively, since a writer must be the only process there. */
export async function withVault<T>(
  folder: string,
  how: 'read' | 'write',
  use: (vault: Vault) => Promise<T>,
): Promise<T> {
  const names = (await namesIn(folder)).filter(name => !SOCKET.test(name))
  const isNew = names.length === 0
  if (!names.includes('runs') && (how === 'read' || !isNew)) {
    throw new BadBackup(isNew ? `there is no backup in ${folder}` : `${folder} is not empty and has no backups`)
  }
  await realDisk.makeFolder(folder)
  const liveness = await enterVault(folder)
  try {
    const writer = systemRandom.bytes(WRITER_BYTES)
    const vault = new Vault(realDisk, folder, await openBlobsAt(join(folder, 'blobs'), { writer }))
    await vault.open()
    try {
      return await use(vault)
    } finally {
      await vault.blobs.close()
    }
  } finally {
    await liveness.end()
  }
}

/** Shown of a folder with more. */
const BACKUPS_MAX = 1000

/** The folder below which the server may take backups itself; undefined when it may not. */
export function backupPlace(folder: string | undefined): BackupPlace | undefined {
  if (folder === undefined) return undefined
  return {
    folder,
    list: () => backupsIn(folder),
    withVault: (name, use) => withVault(join(folder, name), 'write', use),
  }
}

async function backupsIn(folder: string): Promise<StoredBackup[]> {
  const found: StoredBackup[] = []
  for (const name of (await readableNames(folder)).filter(one => BACKUP_NAME.test(one)).sort()) {
    const runs = completeRuns(await readableNames(join(folder, name, 'runs')))
    const newest = runs.at(-1)
    if (newest !== undefined) found.push({ name, runs: runs.length, newestAt: timeOfRun(newest) })
    if (found.length === BACKUPS_MAX) break
  }
  return found
}

/** Empty where there is nothing to list; an attempt to take a backup there says why. */
const readableNames = (folder: string): Promise<string[]> =>
  realDisk.list(folder).catch((error: NodeJS.ErrnoException) => {
    if (['ENOTDIR', 'EACCES', 'EPERM'].includes(error.code ?? '')) return []
    throw error
  })

async function bytesOf(path: string): Promise<Buffer> {
  const file = await realDisk.open(path, 'read').catch((error: NodeJS.ErrnoException) => {
    throw new BadBackup(`${path} cannot be read (${error.code})`)
  })
  try {
    const bytes = Buffer.alloc(await file.size())
    await file.read([bytes], 0)
    return bytes
  } finally {
    await file.close()
  }
}

function checkedKeyring(bytes: Buffer, place: string, id: Buffer): Buffer {
  if (!decodeKeyring(bytes, place).id.equals(id)) throw new BadBackup(`${place} is the keyring of another store`)
  return bytes
}

/** The bytes of a keyring file, checked to be intact and of this id. */
async function keyringOf(path: string, id: Buffer): Promise<Buffer> {
  return checkedKeyring(await bytesOf(path), path, id)
}

export const keyringIn = (folder: string, id: Buffer): Promise<Buffer> => keyringOf(keyringPath(folder), id)

/** The keyring that gateways share, opened with their cluster key, as a file of it would be. */
export async function keyringInCluster(database: FolderOptions, cluster: ClusterSettings, id: Buffer): Promise<Buffer> {
  const meta = await openMeta(database)
  try {
    return checkedKeyring(await exportedClusterKeyring(meta, cluster), `the database of cluster ${cluster.name}`, id)
  } finally {
    await meta.close()
  }
}

interface RestoreOptions {
  readonly vault: Vault
  readonly manifest: Manifest
  readonly target: FolderOptions
  /** Used when the backup has none. */
  readonly keyring: string | undefined
  readonly progress: (line: string) => void
}

async function keyringFor({ vault, manifest, keyring }: RestoreOptions): Promise<Buffer> {
  const id = Buffer.from(manifest.keyring, 'hex')
  if (keyring !== undefined) return keyringOf(keyring, id)
  if (manifest.keyringFile === undefined) {
    throw new BadBackup('the backup has no keyring, which is needed to decrypt it: name the file with --keyring FILE')
  }
  const path = vault.path(manifest.run, 'keyring')
  const bytes = await bytesOf(path)
  if (createHash('sha256').update(bytes).digest('hex') !== manifest.keyringFile.sha256) {
    throw new DamagedBackup(`${path} does not have its recorded checksum`)
  }
  return keyringOf(path, id)
}

const isEmpty = async (blobsPlace: string): Promise<boolean> =>
  isBlobsAddress(blobsPlace) ? hasNoBlobs(blobsPlace) : (await namesIn(blobsPlace)).length === 0

interface Attempt {
  /** Names this restore and all that continue it, in the folder and in the database. */
  readonly note: string
  /** An earlier restore of the same run into this folder was interrupted. */
  readonly isContinued: boolean
}

async function begin({ manifest, target }: RestoreOptions): Promise<Attempt> {
  const { folder } = target
  const what = `${manifest.run} ${manifest.records.sha256}`
  const path = join(folder, RESTORING_FILE)
  const names = await namesIn(folder)
  if (names.includes(RESTORING_FILE)) {
    const note = await readText(realDisk, path)
    if (note.startsWith(what)) return { note, isContinued: true }
    throw new BadBackup(`${folder} is partly restored from another backup: empty it first`)
  }
  // P24. An older state never overwrites a newer one.
  if (names.length > 0) throw new BadBackup(`${folder} is not empty: a backup is restored into a new folder`)
  const place = target.blobsPlace
  if (place !== undefined && !(await isEmpty(place))) throw new BadBackup(`${printableBlobsPlace(place)} is not empty`)
  await realDisk.makeFolder(folder)
  // Random, since the records of a restore into one folder are of no use to that into another.
  const note = `${what} ${systemRandom.bytes(8).toString('hex')}\n`
  await replaceFile(realDisk, path, Buffer.from(note))
  return { note, isContinued: false }
}

const NOTHING: RestoreResult = { records: 0, blobs: 0, bytes: 0 }

async function end(folder: string): Promise<void> {
  await realDisk.remove(join(folder, RESTORING_FILE))
  await realDisk.syncFolder(folder)
}

/** An earlier attempt was complete but for its last step. The keyring is copied after the last record. */
async function isReleased({ manifest, target }: RestoreOptions, meta: Meta): Promise<boolean> {
  const hasKeyring = (await namesIn(target.folder)).includes(basename(keyringPath(target.folder)))
  return hasKeyring && (await isStoreOf(meta, Buffer.from(manifest.keyring, 'hex')))
}

async function claim({ target }: RestoreOptions, meta: Meta, { note, isContinued }: Attempt): Promise<Meta> {
  // Asked before, so that another attempt that still runs keeps its claim.
  await assertFolderUnowned(target.folder, realDisk)
  try {
    return await claimDatabase(meta, { id: Buffer.from(note), purpose: 'a backup is restored' })
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    if (!isContinued) await end(target.folder)
    throw new BadBackup(error.message)
  }
}

/** A server can start on the folder and on the database once this resolves, and not before. */
export async function restoreFolder(
  options: RestoreOptions,
  open: (target: FolderOptions) => Promise<Meta> = openMeta,
): Promise<RestoreResult> {
  const { manifest, target } = options
  assertReadable(`run ${manifest.run} of the backup`, manifest.store)
  const keyring = await keyringFor(options)
  const attempt = await begin(options)
  const meta = await open(target)
  try {
    const isComplete = attempt.isContinued && (await isReleased(options, meta))
    const restored = isComplete ? NOTHING : await restoreInto(options, await claim(options, meta, attempt), keyring)
    await end(target.folder)
    return restored
  } finally {
    await meta.close()
  }
}

async function restoreInto(options: RestoreOptions, meta: Meta, keyring: Buffer): Promise<RestoreResult> {
  const { vault, manifest, target, progress } = options
  const { folder, durability = 'fsync' } = target
  const ownership = await takeOwnership(folder, meta, realDisk, systemRandom)
  try {
    const writer = systemRandom.bytes(WRITER_BYTES)
    const blobs = await openBlobsAt(target.blobsPlace ?? join(folder, 'blobs'), { writer, durability })
    try {
      const restored = await restoreBackup({ vault, manifest, meta, blobs, progress })
      await replaceFile(realDisk, keyringPath(folder), keyring)
      await releaseDatabase(meta)
      return restored
    } finally {
      await blobs.close()
    }
  } finally {
    await ownership.end()
  }
}
