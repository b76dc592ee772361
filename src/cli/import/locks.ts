/** Whether a version is as well protected as it was. */
import { systemClock } from '../../lib/clock.ts'
import type { ListedEntry } from './listing.ts'
import { fromSource } from './source-errors.ts'
import { lockOf } from './source-version.ts'
import type { TransferEndpoints } from './transfer.ts'

const MARGIN_MS = 60_000

/** What is amiss; undefined when nothing is. Longer protection than before is no fault. */
export async function compareLocks(
  { source, target }: TransferEndpoints,
  key: string,
  version: ListedEntry,
  there: ListedEntry,
): Promise<string | undefined> {
  const of = (versionId: string | undefined) => ({ method: 'HEAD', key, query: { versionId } }) as const
  const [was, is] = await Promise.all([
    fromSource(async () =>
      lockOf(source, { key, versionId: version.versionId }, (await source.ask(of(version.versionId))).said),
    ),
    target.ask(of(there.versionId)).then(({ said }) => lockOf(target, { key, versionId: there.versionId }, said)),
  ])
  if (was.hold && !is.hold) return 'its legal hold is missing'
  if (was.retention === undefined || was.retention.until <= systemClock.now() + MARGIN_MS) return undefined
  if (is.retention === undefined) return 'its retention is missing'
  if (was.retention.mode === 'COMPLIANCE' && is.retention.mode !== 'COMPLIANCE') return 'its retention is weaker'
  return is.retention.until < was.retention.until ? 'its retention is shorter' : undefined
}
