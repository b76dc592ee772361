/** The second process of the driver suite: runs `fill`, `count` or `echo` on the engine at the given location. */
import { createInterface } from 'node:readline'
import { openLmdbMeta } from './lmdb/lmdb.ts'
import type { Meta } from './meta.ts'
import { openPostgresMeta } from './postgres/postgres.ts'
import { increment, putOne } from './suite-driver.ts'

const FILL_LANES = 8

function openAt(where: string): Promise<Meta> {
  if (!where.startsWith('postgres')) return openLmdbMeta({ path: where })
  const [url, table] = where.split('#') as [string, string]
  return openPostgresMeta({ url, table })
}

/** Commits endlessly and prints each key once it is acknowledged. */
async function fill(meta: Meta): Promise<void> {
  const lane = async (name: number): Promise<void> => {
    for (let index = 0; ; index++) {
      const key = `fill/${name}/${index}`
      await meta.commit({ checks: [], writes: [putOne(key, `${key} ${'x'.repeat(300)}`)] })
      process.stdout.write(`${key}\n`)
    }
  }
  await Promise.all(Array.from({ length: FILL_LANES }, (_, name) => lane(name)))
}

/** Commits each input line and echoes it once it is acknowledged. */
async function echo(meta: Meta): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    await meta.commit({ checks: [], writes: [putOne('echo', line)] })
    process.stdout.write(`${line}\n`)
  }
}

const [mode, where, key, times] = process.argv.slice(2)
const meta = await openAt(where!)
if (mode === 'fill') await fill(meta)
else if (mode === 'count') await increment(meta, key!, Number(times), value => process.stdout.write(`${value}\n`))
else await echo(meta)
await meta.close()
