/** The records that the engine must contain according to the second copy: the last write of each key. */
import type { Disk } from '../../lib/disk.ts'
import type { CopyRow } from './copy-format.ts'
import { isDeletionNote } from './deletion-notes.ts'
import { filesIn } from './files.ts'
import { mergeHistories } from './merge.ts'
import { rowsOf } from './row-file.ts'
import { type JournalReport, sortedRuns } from './sort-journals.ts'

export type LiveRow = CopyRow & { readonly value: Buffer }

const BEFORE_ALL = { generation: 0, txn: 0, seq: 0 }
const AFTER_ALL = { generation: Number.POSITIVE_INFINITY, txn: 0, seq: 0 }

/** In key order. Throws DamagedCopy when the newest snapshot is incomplete. */
export async function* newestRows(
  disk: Disk,
  folder: string,
  report: JournalReport,
): AsyncGenerator<readonly LiveRow[]> {
  const files = await filesIn(disk, folder)
  const base = files.snapshots[0]
  const since = base === undefined ? BEFORE_ALL : { ...base, seq: Number.POSITIVE_INFINITY }
  const { runs, paths } = await sortedRuns(disk, folder, files, { since, settled: AFTER_ALL, report })
  try {
    const sources = base === undefined ? runs : [rowsOf(disk, base.path), ...runs]
    for await (const some of mergeHistories(sources)) {
      yield some.map(({ rows }) => rows.at(-1)!).filter(isLive)
    }
  } finally {
    for (const path of paths) await disk.remove(path)
  }
}

const isLive = (row: CopyRow): row is LiveRow => row.value !== undefined && !isDeletionNote(row.key)
