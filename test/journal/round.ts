import { realDisk } from '../../src/lib/disk.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { CopyKeeper } from '../../src/meta/journal/keeper.ts'
import type { ServerParts } from '../../src/server/compose.ts'

/** Runs one round of the keeper; returns its reports. */
export async function round({ copy }: ServerParts): Promise<string[]> {
  const told: string[] = []
  const keeper = new CopyKeeper({
    ...copy!,
    disk: realDisk,
    random: systemRandom,
    onEvent: ({ what }) => told.push(what),
  })
  keeper.begin()
  while ((await keeper.step()) === 'busy');
  return told
}
