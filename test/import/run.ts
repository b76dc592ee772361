/** An import from each kind of server, one line each; scripts/import.mjs documents the options. */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { spawnServer } from '../cli/program.ts'
import { Unavailable } from '../clients/install.ts'
import { BUCKET, clientOf, play, SOURCE_KEY } from './round.ts'
import { seed } from './seed.ts'
import { SOURCES, type Source } from './sources.ts'

/** Far enough from the end that no import finishes before the kill. */
const KILLS = [0.1, 0.35, 0.6]

const { values } = parseArgs({
  options: {
    objects: { type: 'string' },
    only: { type: 'string', multiple: true },
    moto: { type: 'string' },
    minio: { type: 'string' },
    versitygw: { type: 'string' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'holdfast-import-'))
// On exit, also by a signal.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

function objectsOf({ objects }: Source): number {
  const value = Number(values.objects ?? objects)
  if (!Number.isSafeInteger(value) || value < 10) throw new Error(`${values.objects} is no number of objects`)
  return Math.min(value, objects)
}

/** The same steps for every source; the target is always ours. */
async function attempt(what: Source): Promise<boolean> {
  const { name, traits } = what
  const place = join(folder, name)
  await mkdir(place)
  const program = values[name as 'moto' | 'minio' | 'versitygw']
  const source = await what.start(place, program).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped ${name}: ${error.message}`)
  })
  if (source === undefined) return true
  const target = await spawnServer(['--data', join(place, 'target')])
  const writer = clientOf(source.url, BUCKET, SOURCE_KEY)
  try {
    const startedAt = performance.now()
    const since = (): string => ((performance.now() - startedAt) / 1000).toFixed(1)
    const seeded = await seed(writer, { objects: objectsOf(what), traits })
    const filled = since()
    const round = { sourceUrl: source.url, targetUrl: target.url, folder: place, seeded, kills: KILLS }
    const { present, copied, verified } = await play(round)
    const figures = `${seeded.size} keys, ${verified.compared} versions; filled in ${filled} s, all in ${since()} s`
    const last = `the last of ${KILLS.length + 1} runs found ${present} and copied ${copied.versions + copied.markers}`
    console.log(`passed ${[name, source.version].join(' ').trim()}: ${figures}; ${last}`)
    return true
  } catch (error) {
    console.log(`failed ${name}: ${(error as Error).message}`)
    return false
  } finally {
    writer.close()
    await source.stop()
    await target.stop()
  }
}

const chosen = SOURCES.filter(({ name }) => values.only === undefined || values.only.includes(name))
if (chosen.length === 0) throw new Error(`no such source; there are ${SOURCES.map(({ name }) => name).join(', ')}`)
let failed = 0
for (const source of chosen) if (!(await attempt(source))) failed++
process.exitCode = failed === 0 ? 0 : 1
