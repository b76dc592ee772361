/** Shared code of all suites: options, progress, the table, the JSON. */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Row } from './measure.ts'
import { Scene } from './scene.ts'
import { table } from './table.ts'

/** Rows that are measured together. */
export type Group<Stage = Scene> = (stage: Stage) => Promise<Row[]>

/** Prepares what all groups of a suite share, and removes it when they are done. */
export type Around<Stage> = (scene: Scene, use: (stage: Stage) => Promise<void>) => Promise<void>

interface Options {
  readonly json?: string | undefined
  readonly only?: string | undefined
  readonly quick: boolean
}

function optionsOf(suite: string): Options {
  const options = {
    json: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
  } as const
  try {
    return parseArgs({ options }).values
  } catch (error) {
    const usage = `usage: npm run bench -- ${suite} [--json FILE] [--only NAME] [--quick]`
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exit(2)
  }
}

export const runSuite = (suite: string, groups: Readonly<Record<string, Group>>): Promise<void> =>
  runSuiteOn(suite, groups, (scene, use) => use(scene))

/** A group is named after its first row. `--only` selects groups by the start of their names. */
export async function runSuiteOn<Stage>(
  suite: string,
  groups: Readonly<Record<string, Group<Stage>>>,
  around: Around<Stage>,
): Promise<void> {
  const { json, only = '', quick } = optionsOf(suite)
  const chosen = Object.entries(groups).filter(([name]) => name.startsWith(only))
  if (chosen.length === 0) {
    process.stderr.write(`no rows named ${only}: ${Object.keys(groups).join(', ')}\n`)
    process.exit(2)
  }
  const scene = new Scene(quick)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      scene.removeAll()
      process.exit(1)
    })
  }
  const startedAt = performance.now()
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(0)
  const rows: Row[] = []
  try {
    await around(scene, async stage => {
      for (const [, group] of chosen) {
        for (const row of await group(stage)) {
          rows.push(row)
          process.stderr.write(`${row.name} done after ${seconds()} s\n`)
        }
      }
    })
  } finally {
    scene.removeAll()
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(rows, undefined, 2)}\n`)
  const remark = quick ? ', quick: sizes are smaller' : ''
  process.stdout.write(`${table(rows)}\n${machine()}, ${seconds()} s${remark}\n`)
}

function machine(): string {
  const [cpu] = cpus()
  const runtime = process.versions.bun === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions.bun}`
  return `${runtime}, ${process.platform} ${process.arch}, ${cpus().length} × ${cpu?.model ?? 'unknown processor'}`
}
