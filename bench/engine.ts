/** `npm run bench -- engine [--json FILE] [--quick]`. What the rows mean stands in docs/performance.md. */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { sixtyFourMiB } from './large.ts'
import { lists } from './lists.ts'
import type { Row } from './measure.ts'
import { memory } from './memory.ts'
import { Scene } from './scene.ts'
import { completions, copies } from './sharing.ts'
import { fourKiB, sixtyFourKiB, sync } from './small.ts'
import { table } from './table.ts'

const GROUPS = [sync, fourKiB, sixtyFourKiB, sixtyFourMiB, copies, completions, lists, memory]

const values = options()
const scene = new Scene(values.quick)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    scene.removeAll()
    process.exit(1)
  })
}

const startedAt = performance.now()
const rows: Row[] = []
try {
  for (const group of GROUPS) {
    for (const row of await group(scene)) {
      rows.push(row)
      process.stderr.write(`${row.name} done after ${seconds()} s\n`)
    }
  }
} finally {
  scene.removeAll()
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`)
process.stdout.write(
  `${table(rows)}\n${machine()}, ${seconds()} s${values.quick ? ', quick: sizes are smaller' : ''}\n`,
)

function options(): { readonly json?: string | undefined; readonly quick: boolean } {
  try {
    return parseArgs({ options: { json: { type: 'string' }, quick: { type: 'boolean', default: false } } }).values
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nusage: npm run bench -- engine [--json FILE] [--quick]\n`)
    process.exit(2)
  }
}

function seconds(): string {
  return ((performance.now() - startedAt) / 1000).toFixed(0)
}

function machine(): string {
  const [cpu] = cpus()
  const runtime = process.versions.bun === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions.bun}`
  return `${runtime}, ${process.platform} ${process.arch}, ${cpus().length} × ${cpu?.model ?? 'unknown processor'}`
}
