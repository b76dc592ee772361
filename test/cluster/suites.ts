/** Suites that are written for a server on a folder, run against servers on PostgreSQL and Ceph. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { startCeph } from '../ceph/cluster.ts'
import { log, POOL } from './cluster.ts'
import { startPatroni } from './patroni.ts'

const TESTS = join(import.meta.dirname, '..')
const SCRIPTS = join(TESTS, '..', '..', 'scripts')
const OSDS = 3

/** Bytes that are written, shared and read. */
const ROUND = ['CompleteMultipartUpload']

const script = (name: string, ...args: readonly string[]): readonly string[] => [join(SCRIPTS, `${name}.mjs`), ...args]

function tests(wanted: (name: string) => boolean): readonly string[] {
  const files = readdirSync(join(TESTS, 'http')).filter(file => file.endsWith('.test.js'))
  const paths = files.filter(file => wanted(file.replace('.test.js', ''))).map(file => join(TESTS, 'http', file))
  return ['--test', '--test-timeout=1200000', '--test-reporter=dot', ...paths]
}

/** Arguments of Node. */
const SUITES: Readonly<Record<string, (rest: readonly string[]) => readonly (readonly string[])[]>> = {
  http: rest => [tests(name => rest.length === 0 || rest.includes(name))],
  clients: rest => [script('clients', ...rest)],
  // The other crash tests are about files.
  crash: rest => ['kill', 'workers'].map(only => script('crash', '--only', only, ...rest)),
  fuzz: rest => [script('fuzz', ...rest)],
  round: () => [
    tests(name => ROUND.includes(name)),
    script('crash', '--only', 'workers', '--cycles', '1'),
    script('fuzz', '--count', '100'),
  ],
}

/** True when the suite passed. `rest` is passed on to it. */
export async function runSuite(name: string, rest: readonly string[]): Promise<boolean> {
  const suite = SUITES[name]
  if (suite === undefined) throw new Error(`unknown suite ${name}: ${Object.keys(SUITES).join(', ')}`)
  const [patroni, ceph] = await Promise.all([startPatroni({ nodes: 1 }), startCeph({ osds: OSDS })])
  await ceph.createPool(POOL)
  log('PostgreSQL and Ceph are up')
  const engines = { HOLDFAST_TEST_POSTGRES: patroni.url, HOLDFAST_TEST_RADOS: `rados://${POOL}?conf=${ceph.conf}` }
  for (const args of suite(rest)) {
    const started = performance.now()
    const child = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...engines } })
    const [code] = (await once(child, 'exit')) as [number | null]
    log(`${name}: ended with ${code} after ${((performance.now() - started) / 1000).toFixed(0)} s`)
    if (code !== 0) return false
  }
  return true
}
