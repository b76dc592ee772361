/** Test support for the second copy: rounds of its keeper and their findings. */
import { readdirSync } from 'node:fs'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { openLmdbMeta } from '../lmdb/lmdb.ts'
import { CopyKeeper, type KeeperEvent } from './keeper.ts'
import { type Copied, metaFolder, openCopied, putValue, suiteCopyFolder } from './suite-copy.ts'

export interface Rounded {
  readonly keeper: CopyKeeper
  readonly events: readonly KeeperEvent[]
}

/** Runs rounds of one keeper, each to its end. */
export function rounds(folder: string, { meta, journal }: Copied, disk: Disk = realDisk): () => Promise<Rounded> {
  let events: KeeperEvent[] = []
  const onEvent = (event: KeeperEvent): void => void events.push(event)
  const copyFolder = suiteCopyFolder(folder)
  const parts = { engine: meta, disk, folder: copyFolder, journal, random: systemRandom, condenseBytesMin: 4 * 2 ** 20 }
  const keeper = new CopyKeeper({ ...parts, onEvent })
  return async () => {
    events = []
    keeper.begin()
    while ((await keeper.step()) === 'busy');
    return { keeper, events }
  }
}

export const round = (folder: string, copied: Copied): Promise<Rounded> => rounds(folder, copied)()

export const findingsOf = ({ events }: Rounded): string[] =>
  events.flatMap(event =>
    event.what === 'findings' ? event.findings.listed.map(({ kind, key }) => `${kind} ${key}`) : [],
  )

export const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(suiteCopyFolder(folder))
    .filter(name => name.endsWith(ending))
    .sort()

/** Changes the engine as damage does, or a program version without a journal. */
export async function behindItsBack(
  folder: string,
  changes: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const meta = await openLmdbMeta({ path: metaFolder(folder) })
  for (const [key, value] of Object.entries(changes)) await putValue(meta, key, value)
  await meta.close()
}

export async function once(folder: string, work: (copied: Copied) => Promise<void>): Promise<Rounded> {
  const copied = await openCopied(folder)
  try {
    await work(copied)
    return await round(folder, copied)
  } finally {
    await copied.close()
  }
}
