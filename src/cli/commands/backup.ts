/** Takes backups of a running server or of an unused data folder; verifies, lists and restores them. */

import type { BackupSource } from '../../backup/backup-options.ts'
import type { Manifest } from '../../backup/manifest.ts'
import { pruneBackups } from '../../backup/prune.ts'
import { takeBackup } from '../../backup/take-backup.ts'
import { DamagedBackup, type Vault } from '../../backup/vault.ts'
import { verifyBackups } from '../../backup/verify.ts'
import { systemClock } from '../../lib/clock.ts'
import { fsck } from '../../maintenance/fsck.ts'
import { keyringIn, keyringInCluster, restoreFolder, withVault } from '../../server/backups.ts'
import { openFolder } from '../../server/compose.ts'
import type { Admin } from '../admin.ts'
import { type Command, type CommandResult, command, type Invocation, onFolder, onServer } from '../command.ts'
import { clusterOf, dataFolder } from '../connect.ts'
import { BadUsage, CommandFailed } from '../failures.ts'
import { escapeControls, table } from '../output.ts'

const DIR = { name: 'DIR', meaning: 'backup folder, one per store' } as const

const sourceOf = (admin: Admin): BackupSource => ({
  start: async () => (await admin.ask('StartBackup')) as { backup: string; takenAt: string },
  records: backup => admin.bytes('ReadBackupRecords', { backup }),
  blobs: (backup, ids) => admin.bytes('ReadBackupBlobs', { backup, ids: ids.map(id => id.toString('hex')).join(',') }),
  keep: async backup => void (await admin.ask('KeepBackup', { backup })),
  end: async backup => void (await admin.ask('EndBackup', { backup })),
})

function keepOf(call: Invocation): number | undefined {
  const given = call.flag('keep')
  if (given === undefined) return undefined
  if (!/^[1-9]\d{0,5}$/.test(given)) throw new BadUsage(`--keep is a number from 1, not ${given}`)
  return Number(given)
}

const KEYRING_APART =
  'the keyring is not included: keep a copy of it elsewhere, or use --with-keyring; without it nothing can be read'
const KEYRING_WITHIN = 'the keyring is included: anyone who has this folder can read everything'

/** A cluster has its keyring in the database. */
function keyringToKeep(call: Invocation, id: Buffer): Promise<Buffer> {
  const cluster = clusterOf(call)
  if (cluster === undefined) return keyringIn(dataFolder(call), id)
  return keyringInCluster({ folder: dataFolder(call), metaUrl: call.flag('meta')! }, cluster, id)
}

async function take(call: Invocation): Promise<CommandResult> {
  const keep = keepOf(call)
  const withKeyring = call.has('with-keyring')
  if (withKeyring && call.flag('endpoint') !== undefined) {
    throw new BadUsage('--with-keyring needs the data folder itself: a keyring never goes over the network')
  }
  const admin = await call.admin()
  return withVault(call.argument('DIR'), 'write', async vault => {
    const { volumes: _, ...manifest } = await takeBackup({
      vault,
      source: sourceOf(admin),
      clock: systemClock,
      recheck: call.has('recheck'),
      progress: line => call.progress(line),
      ...(withKeyring ? { keyring: (id: Buffer) => keyringToKeep(call, id) } : {}),
    })
    const pruned = keep === undefined ? undefined : await pruneBackups(vault, keep)
    const { run, records, blobs, damaged } = manifest
    const text = [
      ...damaged.map(({ id, message }) => escapeControls(`blob ${id} cannot be read: ${message}`)),
      `${run}: ${records.count} records, ${blobs.count} blobs of ${blobs.bytes} bytes`,
      `copied ${blobs.copied} blobs of ${blobs.copiedBytes} bytes, the others were there`,
      ...(pruned === undefined ? [] : [`removed ${pruned.runs.length} older runs and ${pruned.files} files of theirs`]),
      withKeyring ? KEYRING_WITHIN : KEYRING_APART,
    ]
    return {
      value: { ...manifest, ...(pruned && { pruned }) },
      text: text.join('\n'),
      code: damaged.length > 0 ? 1 : 0,
    }
  })
}

async function verify(call: Invocation): Promise<CommandResult> {
  return withVault(call.argument('DIR'), 'read', async vault => {
    const value = await verifyBackups(vault, line => call.progress(line))
    const { runs, records, blobs, bytes, problems } = value
    const summary = `${runs.length} runs: ${records} records, ${blobs} blobs of ${bytes} bytes read`
    const text = [...problems.map(escapeControls), `${summary}; ${problems.length} problems`].join('\n')
    return { value, text, code: problems.length === 0 ? 0 : 1 }
  })
}

async function list(call: Invocation): Promise<CommandResult> {
  return withVault(call.argument('DIR'), 'read', async vault => {
    const rows: Record<string, unknown>[] = []
    for (const run of await vault.runs()) {
      const { takenAt, records, blobs, damaged, keyringFile } = await vault.manifest(run)
      const sizes = { records: records.count, blobs: blobs.count, bytes: blobs.bytes, copied: blobs.copiedBytes }
      rows.push({ run, takenAt, ...sizes, damaged: damaged.length, keyring: keyringFile !== undefined })
    }
    const columns = ['run', 'takenAt', 'records', 'blobs', 'bytes', 'copied', 'damaged', 'keyring']
    return { value: { runs: rows }, text: table(rows, columns) }
  })
}

async function chosen(vault: Vault, wanted: string | undefined): Promise<Manifest> {
  const runs = await vault.runs()
  const run = wanted ?? runs.at(-1)
  if (run === undefined || !runs.includes(run)) {
    throw new CommandFailed(run === undefined ? 'there is no complete run' : `there is no run ${run}`)
  }
  return vault.manifest(run)
}

async function restore(call: Invocation): Promise<CommandResult> {
  if (call.flag('data') === undefined) throw new BadUsage('--data is missing: the new data folder')
  const folder = dataFolder(call)
  const [metaUrl, blobsPlace] = [call.flag('meta'), call.flag('blobs')]
  const target = {
    folder,
    onWait: (line: string) => call.progress(line),
    ...(metaUrl === undefined ? {} : { metaUrl }),
    ...(blobsPlace === undefined ? {} : { blobsPlace }),
  }
  return withVault(call.argument('DIR'), 'read', async vault => {
    const manifest = await chosen(vault, call.flag('run'))
    const keyring = call.flag('keyring')
    const progress = (line: string): void => call.progress(line)
    const restored = await restoreFolder({ vault, manifest, target, keyring, progress }).catch((error: unknown) => {
      if (error instanceof DamagedBackup)
        throw new CommandFailed(`${error.message}; nothing starts on ${folder} as it is`)
      throw error
    })
    const opened = await openFolder(target)
    const { problems, objects, held } = await fsck(opened.store.context).finally(() => opened.close())
    const { run, takenAt, damaged } = manifest
    const value = { run, takenAt, ...restored, objects, held: held.length, problems, damaged }
    const text = [
      ...damaged.map(({ id, message }) => escapeControls(`blob ${id} was damaged when it was saved: ${message}`)),
      ...problems.map(escapeControls),
      `${folder} is as the store was at ${takenAt}: ${objects} versions, ${held.length} of them held`,
      `${restored.records} records, ${restored.blobs} blobs of ${restored.bytes} bytes; ${problems.length} problems`,
    ]
    return { value, text: text.join('\n'), code: problems.length === 0 && damaged.length === 0 ? 0 : 1 }
  })
}

const backupCommand = onServer({
  name: 'backup',
  summary: 'take an incremental backup of a running server or of a data folder',
  examples: ['backup /mnt/backup --keep 7'],
  arguments: [DIR],
  flags: [
    { name: 'with-keyring', meaning: 'include the keyring: anyone who has the backup can then read everything' },
    { name: 'keep', value: 'N', meaning: 'then remove all but the newest N backups' },
    { name: 'recheck', meaning: 'also verify blobs copied earlier, and copy damaged ones again' },
  ],
  run: take,
})

const verifyCommand = command({
  name: 'backup verify',
  summary: 'verify the checksums of every backup; exits 1 if anything is damaged',
  examples: ['backup verify /mnt/backup'],
  arguments: [DIR],
  run: verify,
})

const listCommand = command({
  name: 'backup list',
  summary: 'list the complete backups',
  examples: ['backup list /mnt/backup'],
  arguments: [DIR],
  run: list,
})

const restoreCommand = onFolder({
  name: 'restore',
  examples: ['restore /mnt/backup --data ./restored'],
  summary: 'restore a backup into a new data folder and check it; can be interrupted and run again',
  arguments: [DIR],
  flags: [
    { name: 'run', value: 'NAME', meaning: 'backup to restore; the newest if omitted' },
    { name: 'keyring', value: 'FILE', meaning: 'keyring, if the backup does not include it' },
  ],
  run: restore,
})

export const backupCommands: readonly Command[] = [backupCommand, verifyCommand, listCommand, restoreCommand]
