/** A store with data of every kind for each test. One is filled; the tests get copies, which are made sooner. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
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
  await serveFolder(folder, fill)
  return folder
}

let filled: Promise<string> | undefined

after(async () => {
  if (filled !== undefined) await rm(await filled, { recursive: true, force: true })
})

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
