/** Compares the object lock of a version at both sides. */
import { systemClock } from '../../lib/clock.ts'
import type { ListedEntry } from './listing.ts'
import { fromSource } from './source-errors.ts'
import { lockOf } from './source-version.ts'
import type { TransferEndpoints } from './transfer.ts'

const MARGIN_MS = 60_000

/** The difference; undefined if there is none. Longer protection at the target is not a difference. */
export async function compareLocks(
  { source, target }: TransferEndpoints,
  key: string,
  version: ListedEntry,
  there: ListedEntry,
): Promise<string | undefined> {
  const of = (versionId: string | undefined) => ({ method: 'HEAD', key, query: { versionId } }) as const
  const [was, is] = await Promise.all([
    fromSource(async () =>
      lockOf(source, { key, versionId: version.versionId }, (await source.request(of(version.versionId))).headers),
    ),
    target
      .request(of(there.versionId))
      .then(({ headers: responseHeaders }) => lockOf(target, { key, versionId: there.versionId }, responseHeaders)),
  ])
  if (was.hold && !is.hold) return 'its legal hold is missing'
  if (was.retention === undefined || was.retention.until <= systemClock.now() + MARGIN_MS) return undefined
  if (is.retention === undefined) return 'its retention is missing'
  if (was.retention.mode === 'COMPLIANCE' && is.retention.mode !== 'COMPLIANCE') return 'its retention is weaker'
  return is.retention.until < was.retention.until ? 'its retention is shorter' : undefined
}
