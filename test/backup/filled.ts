/** A store with data of every kind for each test. One is filled; the tests get copies, which are made sooner. */
import { rmSync } from 'node:fs'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock } from '../../src/lib/clock.ts'
import { openFolder } from '../../src/server/compose.ts'
import { type Served, serveParts } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { fill, type Ground, sourceOver } from './fixture.ts'

async function serveFolder(folder: string, use: (served: Served) => Promise<void>): Promise<void> {
  const clock = new ManualClock()
  await serveParts(await openFolder({ folder, clock, durability: 'os' }), clock, use)
}

async function filledFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-filled-'))
  // Not after the tests of one file: on Bun several files share this module.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await serveFolder(folder, fill)
  return folder
}

let filled: Promise<string> | undefined

export async function withFilled(use: (ground: Ground) => Promise<void>): Promise<void> {
  filled ??= filledFolder()
  const original = await filled
  await withFolder(async outer => {
    const data = join(outer, 'data')
    await cp(original, data, { recursive: true })
    await serveFolder(data, served =>
      use({ served, source: sourceOver(served.parts), data, vault: join(outer, 'vault'), target: join(outer, 'new') }),
    )
  })
}
