/** Texts of the full check and of backups. */
import { bytesText, countText } from '../format.ts'

const plural = (count: number, one: string, many: string): string => `${countText(count)} ${count === 1 ? one : many}`
const blobsText = (count: number): string => plural(count, 'blob', 'blobs')

export const integrityTexts = {
  fsck: {
    title: 'Full check',
    text:
      'The full check counts everything and compares it: names, versions, references, blobs, ledgers and usage, as ' +
      'of one moment, while the server goes on serving. With every byte read, it includes what a scrub does.',
    start: 'Start a full check',
    startTitle: 'Start a full check?',
    startText:
      'It changes nothing, but takes time. While it looks at the records, deleted data are not freed and the file of ' +
      'the metadata may grow. You can leave this page; the result stays until the server restarts.',
    deep: 'Also read every stored byte',
    deepHint: 'Finds damaged bytes and names the objects they affect. Takes much longer, and keeps the disk busy.',
    started: 'The full check has started.',
    stop: 'Stop the full check',
    working: 'Full check in progress',
    state: {
      never: 'No full check has run since the server started.',
      running: 'A full check is running.',
      done: 'The last full check is complete.',
      stopped: 'The last full check was stopped.',
      failed: 'The last full check broke off.',
    },
    phase: { records: 'Looking at the records.', bytes: 'Reading the bytes of all blobs.' },
    progress: (records: number, bytes: number) =>
      `${plural(records, 'record', 'records')} and ${bytesText(bytes)} read.`,
    counted: (versions: number, blobs: number, held: number) =>
      `${plural(versions, 'version', 'versions')}, ${countText(held)} of them held, in ${blobsText(blobs)}.`,
    notRead: 'The bytes of blobs were not read.',
    problems: (count: number) =>
      count === 0 ? 'No problems found.' : `${plural(count, 'problem', 'problems')} found.`,
    problemsLabel: 'Problems of the full check',
    damageLabel: 'Damage found by the full check',
    whatToDo:
      'Counts that differ do not change what is served. A missing or damaged blob makes its objects unreadable: ' +
      'upload them again, or restore them from a backup. Usage is corrected, and the second copy of the metadata ' +
      'compared, by the command below.',
    commandText:
      'With the server stopped, the command checks the same, compares the metadata with their second copy, and with ' +
      '--repair corrects usage.',
    command: 'Command for a full check',
  },
  backup: {
    title: 'Backup',
    text:
      'A backup has everything as of one moment, and copies only what its folder does not have. Use one folder for ' +
      'each store, on another disk or machine. The keyring is not part of it: keep a copy of it apart.',
    byServer: (folder: string) => `The server can take backups itself, into folders below ${folder}.`,
    notPermitted:
      'To take backups from this page, start the server with --backup-folder DIR: it names a folder on the server ' +
      'that backups may be written to. Without it, use the command.',
    start: 'Take a backup',
    startTitle: 'Take a backup',
    startText: (folder: string) =>
      `It is written to a folder below ${folder} on the server. You can leave this page meanwhile.`,
    name: 'Name of the backup',
    nameHint:
      'Letters, digits, dots, hyphens and underscores. Under the name of an earlier backup only what is new is copied.',
    existing: (name: string, runs: number, time: string) =>
      `${name}: ${plural(runs, 'backup', 'backups')}, the newest of ${time}`,
    existingLabel: 'Backups on the server',
    started: 'The backup has started.',
    stop: 'Stop the backup',
    working: 'Backup in progress',
    state: {
      never: 'The server has taken no backup since it started.',
      running: 'The server is taking a backup.',
      done: 'The last backup by the server is complete.',
      stopped:
        'The last backup by the server was stopped. Taken again under its name, it goes on with what was copied.',
      failed: 'The last backup by the server failed.',
    },
    written: (name: string, bytes: string) => `${name}: ${bytes} written.`,
    result: (blobs: number, bytes: string, copied: number, copiedBytes: string) =>
      `${blobsText(blobs)} of ${bytes}; new: ${blobsText(copied)} of ${copiedBytes}.`,
    damaged: (count: number) =>
      `${blobsText(count)} could not be read and are missing in it. Run a full check to see which ` +
      'objects are affected.',
    idle: 'No backup is being taken now.',
    command: 'Command for a backup',
    running: (phase: string, bytes: string) => `A backup is being taken: ${phase}, ${bytes} sent so far.`,
    phase: { records: 'reading records', blobs: 'reading blobs' },
    as: (time: string) => `It will have everything as of ${time}.`,
    quiet: (text: string) =>
      `Its client has been silent for ${text}. After five minutes the backup is given up and must be run again.`,
  },
} as const
