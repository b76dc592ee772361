/**
 * The format stamp is in a file of the folder, which is read before anything is opened, and in the metadata, which may
 * be in a database. Either alone is enough to refuse a folder that a newer version has written.
 */
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
import { replaceFile } from '../lib/replace-file.ts'
import type { Meta } from '../meta/meta.ts'
import { FORMAT, type FormatStamp, formatStamp, READS_FROM } from '../store/commit/format-stamp.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { VERSION } from '../version.ts'
import { readText } from './accounts.ts'
import { BadConfig } from './bad-config.ts'

export const FORMAT_FILE = 'format'
const STAMP = /^holdfast format (\d{1,9})\nwritten by (\S{1,64})\n/

/** Why this program cannot read the format; undefined when it can. */
export function formatProblem(what: string, { format, writtenBy }: FormatStamp): string | undefined {
  const versions = `${what} was written by holdfast ${writtenBy} (format ${format}); this is holdfast ${VERSION}, \
which reads formats ${READS_FROM} to ${FORMAT}`
  if (format > FORMAT) return `${versions}: install ${writtenBy} or newer, or restore a backup that this version made`
  return format < READS_FROM ? `${versions}: upgrade with a version in between first, see its changelog` : undefined
}

export function assertReadable(what: string, stamp: FormatStamp | undefined): void {
  const problem = stamp === undefined ? undefined : formatProblem(what, stamp)
  if (problem !== undefined) throw new BadConfig(problem)
}

/** Undefined when there is no readable stamp file; then the metadata decide. */
export async function stampOfFolder(folder: string): Promise<FormatStamp | undefined> {
  if (!(await realDisk.list(folder)).includes(FORMAT_FILE)) return undefined
  const found = STAMP.exec(await readText(realDisk, join(folder, FORMAT_FILE)))
  return found === null ? undefined : { format: Number(found[1]), writtenBy: found[2]! }
}

export async function stampOfMeta(meta: Meta): Promise<FormatStamp | undefined> {
  const entry = await meta.get(recordKey.format())
  return entry === undefined ? undefined : formatStamp.decode(entry.value)
}

/** The owner of the folder stamps it before it writes anything in the new format. */
export async function stampFolder(folder: string, meta: Meta): Promise<void> {
  const stamp = { format: FORMAT, writtenBy: VERSION }
  const text = `holdfast format ${stamp.format}\nwritten by ${stamp.writtenBy}\n`
  const isCurrent = (found: FormatStamp | undefined): boolean => found?.format === FORMAT
  if (!isCurrent(await stampOfFolder(folder))) await replaceFile(realDisk, join(folder, FORMAT_FILE), Buffer.from(text))
  if (isCurrent(await stampOfMeta(meta))) return
  await meta.commit({ checks: [], writes: [{ key: recordKey.format(), value: formatStamp.encode(stamp) }] })
}
