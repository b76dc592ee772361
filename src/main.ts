#!/usr/bin/env node
/** The program. So far there is an engine and nothing in front of it: `serve` opens the data folder and says so. */
import { parseArgs } from 'node:util'
import { openFolder } from './compose.ts'
import { Reclaimer } from './workers/reclaim.ts'
import { Sweeper } from './workers/sweep.ts'
import { runUntilIdle } from './workers/worker.ts'

const USAGE = `usage: holdfast serve [--data DIR]

  --data DIR   everything the server keeps (default ./data)`

const EXIT_USAGE = 2

function read(args: readonly string[]): { command: string; data: string } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { data: { type: 'string', default: process.env.HOLDFAST_DATA ?? './data' }, help: { type: 'boolean' } },
  })
  const [command = 'serve', ...rest] = positionals
  if (values.help === true) return { command: 'help', data: values.data }
  if (command !== 'serve' || rest.length > 0) throw new Error(`unknown command: ${positionals.join(' ')}`)
  return { command, data: values.data }
}

async function main(): Promise<void> {
  let wanted: ReturnType<typeof read>
  try {
    wanted = read(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`holdfast: ${(error as Error).message}\n${USAGE}\n`)
    process.exitCode = EXIT_USAGE
    return
  }
  if (wanted.command === 'help') {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  const { store, close } = await openFolder({ folder: wanted.data })
  await runUntilIdle(new Sweeper(store.engine))
  await runUntilIdle(new Reclaimer(store.engine))
  const buckets = await store.buckets.list()
  process.stdout.write(`holdfast: ${wanted.data} is in order (${buckets.length} buckets); nothing to serve yet\n`)
  await close()
}

main().catch((error: unknown) => {
  process.stderr.write(`holdfast: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
