/** `run [--objects N] [--others N] [--only NAME] [--moto BIN]`: an import from each kind of server, a line for each. */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { serving } from '../cli/program.ts'
import { Unavailable } from '../clients/install.ts'
import { startMoto } from './moto.ts'
import { BUCKET, clientOf, play, SOURCE_KEY } from './round.ts'
import { seed } from './seed.ts'

const OBJECTS = 10_000
/** The other server copies its whole listing for every page of it: time grows with the square. */
const OTHERS = 200
const KILLS = [0.15, 0.45, 0.8]

const { values } = parseArgs({
  options: {
    objects: { type: 'string' },
    others: { type: 'string' },
    only: { type: 'string' },
    moto: { type: 'string' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'holdfast-import-'))
// At the very end, also when a signal ends the run.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

interface Source {
  readonly name: string
  readonly objects: number
  readonly isStrict: boolean
  start(folder: string): Promise<{ readonly url: string; readonly version: string; stop(): Promise<unknown> }>
}

const SOURCE_ENV = {
  HOLDFAST_ROOT_ACCESS_KEY: SOURCE_KEY.accessKey,
  HOLDFAST_ROOT_SECRET_KEY: SOURCE_KEY.secretKey,
}

const numberOf = (text: string | undefined, fallback: number): number => {
  const value = Number(text ?? fallback)
  if (!Number.isSafeInteger(value) || value < 10) throw new Error(`${text} is no number of objects`)
  return value
}

const SOURCES: readonly Source[] = [
  {
    name: 'holdfast',
    objects: numberOf(values.objects, OBJECTS),
    isStrict: true,
    async start(place) {
      const served = await serving(['--data', join(place, 'source'), '--durability', 'os'], SOURCE_ENV)
      return { ...served, version: '' }
    },
  },
  {
    name: 'moto',
    objects: numberOf(values.others, OTHERS),
    isStrict: false,
    start: place => startMoto(place, values.moto),
  },
]

/** The same steps whoever the source is; the target is always ours. */
async function attempt({ name, objects, isStrict, start }: Source): Promise<boolean> {
  const place = join(folder, name)
  await mkdir(place)
  const source = await start(place).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped ${name}: ${error.message}`)
  })
  if (source === undefined) return true
  const target = await serving(['--data', join(place, 'target')])
  const writer = clientOf(source.url, BUCKET, SOURCE_KEY)
  try {
    const startedAt = performance.now()
    const since = (): string => ((performance.now() - startedAt) / 1000).toFixed(1)
    const seeded = await seed(writer, { objects, isStrict })
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

const chosen = SOURCES.filter(({ name }) => values.only === undefined || name === values.only)
if (chosen.length === 0) throw new Error(`no such source; there are ${SOURCES.map(({ name }) => name).join(', ')}`)
let failed = 0
for (const source of chosen) if (!(await attempt(source))) failed++
process.exitCode = failed === 0 ? 0 : 1
