/** Test support for the second copy: an engine with a journal in its own folder, and the records of the copy. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { openLmdbMeta } from '../lmdb/lmdb.ts'
import { ENGINE_KEYS, type Entry, type JournaledEngine, type Meta, type Write } from '../meta.ts'
import { ALL, utf8 } from '../suite-driver.ts'
import { filesIn, lastGeneration } from './files.ts'
import { Journal } from './journal.ts'
import { newestRows } from './newest-rows.ts'
import { type JournalReport, newReport } from './sort-journals.ts'

export interface Copied {
  readonly meta: JournaledEngine
  readonly journal: Journal
  close(): Promise<void>
}

export const suiteCopyFolder = (folder: string): string => join(folder, 'copy')
export const metaFolder = (folder: string): string => join(folder, 'meta')

/** Opens both as a server start does. */
export async function openCopied(
  folder: string,
  options: { disk?: Disk; durability?: 'fsync' | 'os'; generation?: number } = {},
): Promise<Copied> {
  const { disk = realDisk, durability = 'fsync' } = options
  const meta = await openLmdbMeta({ path: metaFolder(folder), durability })
  const journal = await Journal.open({
    disk,
    folder: suiteCopyFolder(folder),
    generation: options.generation ?? lastGeneration(await filesIn(disk, suiteCopyFolder(folder))) + 1,
    random: systemRandom,
    durability,
    lastStamp: meta.lastStamp(),
    segmentBytes: 2 * 2 ** 20,
  })
  meta.attachJournal(journal)
  return {
    meta,
    journal,
    async close() {
      await meta.close()
      await journal.close()
    },
  }
}

export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-copy-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Rows = ReadonlyMap<string, string>

const isOwn = ({ key }: Entry): boolean => key.subarray(0, ENGINE_KEYS.length).equals(ENGINE_KEYS)

export async function rowsInEngine(meta: Meta): Promise<Rows> {
  const entries = await meta.scan(ALL, 1_000_000)
  return new Map(entries.filter(entry => !isOwn(entry)).map(({ key, value }) => [key.toString(), value.toString()]))
}

export async function rowsInCopy(folder: string, report: JournalReport = newReport()): Promise<Rows> {
  const rows = new Map<string, string>()
  for await (const batch of newestRows(realDisk, suiteCopyFolder(folder), report)) {
    for (const { key, value } of batch) rows.set(key.toString(), value.toString())
  }
  return rows
}

export const write = (key: string, value: string | undefined): Write => ({
  key: utf8(key),
  value: value === undefined ? undefined : utf8(value),
})

export const putValue = (meta: Meta, key: string, value: string | undefined): Promise<boolean> =>
  meta.commit({ checks: [], writes: [write(key, value)] })

/** Concurrent puts, deletes and conflicts on few keys. */
export async function churn(meta: Meta, rounds: number, salt: string): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const commits = Array.from({ length: 40 }, async (_, n) => {
      const name = `k${(round * 7 + n * 13) % 50}`
      const entry = await meta.get(utf8(name))
      const value = (round + n) % 4 === 0 ? undefined : `${salt} ${round} ${n}`
      const checks = n % 2 === 0 ? [] : [{ key: utf8(name), stamp: entry?.stamp }]
      return meta.commit({ checks, writes: [write(name, value)] })
    })
    await Promise.all(commits)
  }
}
