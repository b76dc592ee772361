/** The second copy of a folder's metadata for engines that need one: its journal, and the task that maintains it. */
import { join } from 'node:path'
import { EMPTY } from '../lib/bytes.ts'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { type CopyFinding, compare } from '../meta/journal/compare.ts'
import { filesIn, hasRows, lastGeneration } from '../meta/journal/files.ts'
import { Journal } from '../meta/journal/journal.ts'
import { CopyKeeper, type KeeperEvent } from '../meta/journal/keeper.ts'
import { hasUnjournaledChanges, leaveMark, recordUnjournaledChanges } from '../meta/journal/marks.ts'
import { DamagedCopy } from '../meta/journal/row-file.ts'
import { DamagedRecord, type JournaledEngine, type MetaEngine } from '../meta/meta.ts'
import { ownerFormat } from '../store/commit/folder-ownership.ts'
import { parseRecordKey, recordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Sample } from '../telemetry/families.ts'
import type { Logger } from './log.ts'
import type { MaintenanceTask } from './maintenance-task.ts'

export interface SecondCopy {
  readonly engine: JournaledEngine
  readonly folder: string
  readonly journal: Journal
  /** The last comparison before this start found lost records. */
  readonly hadFindings: boolean
  /**
   * Records in both the engine and the copy that they match, when this incarnation of the store begins and before it
   * ends.
   */
  mark(incarnation: number): Promise<void>
}

interface CopyOptions {
  readonly folder: string
  readonly durability?: 'fsync' | 'os'
  /** The journal cannot be written; commits succeed without it. */
  readonly onGap?: (error: unknown) => void
}

export const copyFolder = (folder: string): string => join(folder, 'meta-copy')

const isCopied = (meta: MetaEngine): meta is JournaledEngine => 'attachJournal' in meta

/**
 * Attaches a journal, which receives every commit of this process from now on. The owner of a folder begins a
 * generation and passes it to its workers. Undefined for engines with redundancy of their own.
 */
export async function openCopy(
  meta: MetaEngine,
  { folder, durability = 'fsync', onGap }: CopyOptions,
  generation?: number,
): Promise<SecondCopy | undefined> {
  if (!isCopied(meta)) return undefined
  const place = copyFolder(folder)
  const files = await filesIn(realDisk, place)
  // An empty store would free all blobs that the lost records name.
  if (generation === undefined && (await isEmpty(meta)) && (await hasRows(realDisk, files))) {
    throw new Error(`the metadata of ${folder} are missing but their second copy exists: run holdfast rebuild`)
  }
  const own = generation ?? lastGeneration(files) + 1
  // Runs before the journal of this start exists: if the process dies here, the next start sees the same.
  if (generation === undefined && (await hasUnjournaledChanges(meta, await lastEpoch(meta), files))) {
    await recordUnjournaledChanges(realDisk, place, own, files)
  }
  const journal = await Journal.open({
    disk: realDisk,
    folder: place,
    generation: own,
    random: systemRandom,
    durability,
    lastStamp: meta.lastStamp(),
    ...(onGap === undefined ? {} : { onGap }),
  })
  meta.attachJournal(journal)
  const marked = { engine: meta, disk: realDisk, folder: place, random: systemRandom, generation: own, durability }
  const mark = (incarnation: number): Promise<void> => leaveMark(marked, incarnation)
  return { engine: meta, folder: place, journal, hadFindings: files.hadFindings, mark }
}

/** The incarnation of the folder's last owner, whatever its version; zero when it cannot be read. */
async function lastEpoch(meta: MetaEngine): Promise<number> {
  try {
    const entry = await meta.get(recordKey.owner())
    return entry === undefined ? 0 : ownerFormat.decode(entry.value).incarnation
  } catch (error) {
    if (error instanceof DamagedRecord) return 0
    throw error
  }
}

async function isEmpty(meta: MetaEngine): Promise<boolean> {
  try {
    return (await meta.scan({ start: EMPTY, end: undefined }, 1)).length === 0
  } catch (error) {
    // Not empty; the damage is reported elsewhere.
    if (error instanceof DamagedRecord) return false
    throw error
  }
}

/** Lists records that the engine lacks and its second copy has, and damage of the copy; empty when both are sound. */
export async function compareWithCopy({ engine, folder, journal }: SecondCopy): Promise<string[]> {
  const comparison = await compare({ engine, disk: realDisk, folder, generation: journal.generation })
  const { findings, journals } = comparison
  const lines: string[] = []
  try {
    for await (const _ of comparison.entries());
  } catch (error) {
    // A damaged snapshot cannot be compared; a server sets it aside and uses the one before.
    if (!(error instanceof DamagedCopy)) throw error
    lines.push(error.message)
  } finally {
    await comparison.end()
  }
  const { count, listed: shown } = findings
  const more = count > shown.length ? [`${count - shown.length} more records`] : []
  lines.push(...journals.damaged.map(path => `${path} is damaged`), ...shown.map(recordName), ...more)
  return lines.map(line => `against the second copy: ${line}`)
}

/** How often the task checks whether a round is due: hourly, the first half a minute after the start. */
const LOOK_MS = 30_000
const NAMED_MAX = 20

/** Names the object of a record, or the record itself. */
function recordName({ kind, key }: CopyFinding): string {
  const letter = String.fromCharCode(key[0]!)
  const hex = key.toString('hex')
  if (letter !== 'o' && letter !== 'v') return `${kind}: record ${hex}`
  const { bucket, name } = parseRecordKey(key)
  return `${kind}: ${bucket}/${name}${letter === 'v' ? ' (an older version)' : ''}, record ${hex}`
}

function lineOf(event: KeeperEvent): Readonly<Record<string, unknown>> {
  if (event.what === 'findings') {
    const { count, listed: shown } = event.findings
    const copy = `${count} metadata records are damaged, missing or outdated, although no request changed them. The \
second copy has them and is not renewed: stop the server and run holdfast rebuild.`
    return { level: 'error', copy, records: shown.slice(0, NAMED_MAX).map(recordName) }
  }
  if (event.what === 'copy damaged') {
    return { level: 'error', copy: 'Files of the second copy of the metadata are damaged.', files: event.paths }
  }
  if (event.what === 'left out') {
    const { gone, changed } = event.trusted
    const copy = `A version of the program without a second copy of the metadata has worked on this folder. \
${gone} records that it seems to have deleted and ${changed} that it wrote are accepted as they are: the copy was \
started anew.`
    return { level: 'warn', copy }
  }
  if (event.what === 'condensed') {
    const { bytesBefore, bytesAfter } = event
    const copy = `Metadata records are still lost, and journals have grown to ${bytesBefore} bytes. \
They were condensed into one of ${bytesAfter} bytes, with everything that holdfast rebuild needs.`
    return { level: 'warn', copy }
  }
  if (event.what === 'sound') return { level: 'info', copy: 'The metadata have everything that their second copy has.' }
  const copy = `There is not enough space to renew the second copy of the metadata, which takes ${event.neededBytes} \
bytes. Journals are still written.`
  return { level: 'error', copy }
}

/**
 * The task that compares the second copy with the engine and renews it. While records are known to be lost nothing is
 * freed, since blobs without a name may belong to a lost record. Empty for engines with redundancy of their own.
 */
export function copyTask(copy: SecondCopy | undefined, context: StoreContext, logger: Logger): MaintenanceTask[] {
  if (copy === undefined) return []
  const { reclamationLock, losses, reclamation } = context
  let lock = copy.hadFindings ? reclamationLock.hold() : undefined
  const notifyWorkers = (): void =>
    void reclamation.reloadFindings().catch((error: unknown) => logger.log({ level: 'error', copy: String(error) }))
  const onEvent = (event: KeeperEvent): void => {
    logger.log(lineOf(event))
    if (event.what === 'findings') {
      const { named, more } = event.findings
      losses.replace({ keys: named.map(({ key }) => key), more })
      lock ??= reclamationLock.hold()
    }
    if (event.what !== 'sound') return
    losses.replace({ keys: [], more: [] })
    notifyWorkers()
    void lock?.then(release => release())
    lock = undefined
  }
  const worker = new CopyKeeper({
    ...copy,
    disk: realDisk,
    random: systemRandom,
    onEvent,
    onFindingsWritten: notifyWorkers,
  })
  const { state } = worker
  const samples = (): Sample[] => [
    ['holdfast_meta_copy_findings', '', state.findings],
    ['holdfast_meta_copy_rows', '', state.rows],
    ['holdfast_meta_copy_snapshot_timestamp_seconds', '', state.lastSnapshotAt / 1000],
    ['holdfast_meta_copy_journal_bytes', '', state.journalBytes],
    ['holdfast_meta_copy_unwritten_commits', '', state.unwritten],
  ]
  return [{ name: 'copy', worker, pauseMs: LOOK_MS, end: () => worker.stop(), samples }]
}
