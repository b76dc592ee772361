/**
 * Moves the records of a data folder to a database. They are copied while a server uses the folder, as often as wanted;
 * the last pass needs a stopped server and ends with a proof that nothing differs. At no time can servers start on
 * both: the folder is marked as moved before the database is released.
 */
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
import { replaceFile } from '../lib/replace-file.ts'
import type { Meta, MetaEngine, Write } from '../meta/meta.ts'
import { assertFolderUnowned, ownerFormat } from '../store/commit/folder-ownership.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { KEYRING_KEY, keyringIdFormat } from '../store/keys/keyring-id.ts'
import { readText } from './accounts.ts'
import { BadConfig } from './bad-config.ts'
import { openMeta } from './compose.ts'
import { type CopyCounts, copyRecords, haveSameRecords } from './copy-records.ts'
import { claimDatabase, isStoreOf, releaseDatabase } from './database-claim.ts'
import { assertReadable, stampOfMeta } from './folder-format.ts'
import { assertWhole, MOVED_FILE, MOVING_FILE } from './folder-markers.ts'

interface MoveTarget {
  /** For messages and for the mark in the folder; without a password. */
  readonly name: string
  open(): Promise<MetaEngine>
}

interface MetaMoveOptions {
  readonly folder: string
  readonly target: MoveTarget
  /** No server uses the folder any more: the database becomes the store. */
  readonly isFinal: boolean
  readonly progress: (line: string) => void
}

interface MetaMoveResult extends CopyCounts {
  readonly state: 'copied' | 'moved'
  readonly to: string
}

/** Few enough that the last pass has little to write, and to be read again one by one. */
const CHANGES_FEW = 1000
const PASSES_MAX = 5

/** An address without user, password and options. */
export const printableMetaUrl = (url: string): string => url.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')

export async function moveMeta(options: MetaMoveOptions): Promise<MetaMoveResult> {
  const { folder, target, isFinal } = options
  const movedTo = await movedNote(folder)
  if (movedTo !== undefined && movedTo !== target.name) throw new BadConfig(`${folder} was moved to ${movedTo}`)
  if (movedTo === undefined) await assertWhole(folder, 'moving')
  if (!isFinal) return copyAll(options)
  try {
    if (movedTo !== undefined) return await copyAll(options)
    await assertFolderUnowned(folder, realDisk)
    await replaceFile(realDisk, join(folder, MOVING_FILE), Buffer.from(`${target.name}\n`))
    // The marker keeps servers from starting; one that started just before is found here.
    await assertFolderUnowned(folder, realDisk)
    return await copyAll(options)
  } finally {
    // A server may start on the folder as before, unless it has been moved.
    await realDisk.remove(join(folder, MOVING_FILE))
    await realDisk.syncFolder(folder)
  }
}

async function movedNote(folder: string): Promise<string | undefined> {
  if (!(await realDisk.list(folder)).includes(MOVED_FILE)) return undefined
  return (await readText(realDisk, join(folder, MOVED_FILE))).trim()
}

/** A server looks for the mark once its socket is open, so that one of the two sees the other. */
async function markMoved(folder: string, name: string): Promise<void> {
  const path = join(folder, MOVED_FILE)
  await replaceFile(realDisk, path, Buffer.from(`${name}\n`))
  try {
    await assertFolderUnowned(folder, realDisk)
  } catch (error) {
    await realDisk.remove(path)
    throw error
  }
}

async function copyAll(options: MetaMoveOptions): Promise<MetaMoveResult> {
  const { folder, target } = options
  const source = await openMeta({ folder })
  try {
    assertReadable(folder, await stampOfMeta(source))
    const database = await target.open()
    try {
      return await copyInto(options, source, database)
    } finally {
      await database.close()
    }
  } finally {
    await source.close()
  }
}

async function copyInto(options: MetaMoveOptions, source: Meta, database: Meta): Promise<MetaMoveResult> {
  const { folder, target, isFinal, progress } = options
  const isReleased = (await movedNote(folder)) !== undefined && (await isStoreOf(database, await keyringIdOf(source)))
  if (isReleased) return { state: 'moved', to: target.name, records: 0, written: 0, removed: 0 }
  const claim = { id: await keyringIdOf(source), purpose: 'a store is moved' }
  const fenced = await claimDatabase(database, claim)
  const total = { written: 0, removed: 0 }
  for (let pass = 1; ; pass++) {
    const changed: Buffer[] = []
    const { records, written, removed } = await copyRecords(source, fenced, progress, key => {
      if (changed.length <= CHANGES_FEW) changed.push(key)
    })
    progress(`pass ${pass}: ${records} records, ${written} written, ${removed} removed`)
    total.written += written
    total.removed += removed
    const result = { to: target.name, records, ...total }
    const isNearlyEqual = changed.length <= CHANGES_FEW
    if (!isFinal && (isNearlyEqual || pass === PASSES_MAX)) return { state: 'copied', ...result }
    // The pass has compared every record of both sides, and nobody else changes either: what it wrote is read again.
    if (isFinal && isNearlyEqual && (await haveSameRecords(source, fenced, changed))) {
      await markMoved(folder, target.name)
      await releaseDatabase(fenced, [await ownerAfter(source)])
      return { state: 'moved', ...result }
    }
    if (isFinal && pass === PASSES_MAX)
      throw new Error(`records still differ after ${pass} passes: is ${folder} in use?`)
  }
}

async function keyringIdOf(meta: Meta): Promise<Buffer> {
  const entry = await meta.get(KEYRING_KEY)
  if (entry === undefined) throw new BadConfig('there is no store to move')
  return keyringIdFormat.decode(entry.value)
}

/** Incarnations go on from those of the folder. */
async function ownerAfter(source: Meta): Promise<Write> {
  const entry = await source.get(recordKey.owner())
  const incarnation = entry === undefined ? 0 : ownerFormat.decode(entry.value).incarnation
  return { key: recordKey.owner(), value: ownerFormat.encode({ incarnation, socket: '' }) }
}
