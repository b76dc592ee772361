/**
 * `npm test`: installs and builds what is missing, then runs every test that needs no other program.
 * `npm test -- [--runtime node|bun] [--long] [files…]`; a file may be named by its source or by its built form.
 * `--long` runs only the files that have a long form, in that form. A terminal sees every test; a file or a pipe gets
 * what failed, what was skipped and a closing line, and the rest is in LOG.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { bundledProgram } from './bundle.mjs'
import * as runtimes from './runtime.mjs'
import { writeGroups } from './test-groups.mjs'
import { BunSummary } from './test-summary.mjs'

const { become, build, chooseRuntime, filesBelow, giveUp, installMissing, ROOT, say, withoutProxyHere } = runtimes

/** These need a database server, a Ceph cluster, other S3 servers, several minutes, or third-party clients. */
const APART = [
  'dist/test/postgres/',
  'dist/test/rados/',
  'dist/test/s3-blobs/',
  'dist/test/crash/',
  'dist/test/clients/',
  'dist/test/import/',
]
/** Ends hanging tests. Node applies it to a whole group of files, and the longest takes minutes on a busy machine. */
const TIMEOUT_MS = 1_200_000
const LOG = 'dist/test.log'
/** Duration of the last full run here. Before the first run, the estimate is a measured total divided by the cores. */
const TOOK = 'dist/.test-seconds'
const CORE_SECONDS = { node: 620, bun: 520 }

const { values, positionals } = parseArgs({
  options: { runtime: { type: 'string' }, long: { type: 'boolean', default: false } },
  allowPositionals: true,
})

installMissing()
build()
const built = filesBelow('dist').filter(path => path.endsWith('.test.js'))
const everyFile = built.filter(path => !APART.some(f => path.startsWith(f)))
const files = positionals.length > 0 ? positionals.map(named) : values.long ? everyFile.filter(hasLongForm) : everyFile
if (files.length === 0) giveUp('there are no tests to run')

const runtime = chooseRuntime(values.runtime ?? process.env.HOLDFAST_RUNTIME)
process.chdir(ROOT)
files.sort()
// Bun loads modules quickly enough.
const entry = runtime.name === 'node' ? bundledProgram() : undefined
const env = {
  ...withoutProxyHere(),
  ...(values.long && { HOLDFAST_LONG: '1' }),
  ...(entry !== undefined && { HOLDFAST_TEST_ENTRY: entry }),
}
const isSeen = process.stdout.isTTY === true
announce()
if (runtime.name === 'bun') await onBun()
else onNode()

function onNode() {
  const reporters = isSeen
    ? ['--test-reporter=spec', '--test-reporter-destination=stdout']
    : [
        ...['--test-reporter=spec', `--test-reporter-destination=${LOG}`],
        ...['--test-reporter=./scripts/test-summary.mjs', '--test-reporter-destination=stdout'],
      ]
  const args = ['--enable-source-maps', '--test', `--test-timeout=${TIMEOUT_MS}`, ...reporters, ...sideBySide()]
  become(runtime.command, [...args, ...writeGroups(files)], env)
}

async function onBun() {
  const options = [`--timeout=${TIMEOUT_MS}`, `--parallel=${availableParallelism()}`, '--no-isolate']
  const args = [...runtime.args, 'test', ...options, ...files.map(path => `./${path}`)]
  if (isSeen) return become(runtime.command, args, env)
  const child = spawn(runtime.command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const log = createWriteStream(LOG)
  const summary = new BunSummary(text => process.stdout.write(text))
  createInterface(child.stdout).on('line', line => log.write(`${line}\n`))
  createInterface(child.stderr).on('line', line => {
    log.write(`${line}\n`)
    summary.take(line)
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  const code = await new Promise(resolve => child.once('close', resolve))
  summary.end(code === 0)
  // A process ended by a signal has no exit code, and it did not succeed.
  process.exitCode = code ?? 1
}

/** Prints the expected duration beforehand and stores the actual one. */
function announce() {
  const count = files.length === 1 ? '1 test file' : `${files.length} test files`
  const details = isSeen ? '' : `; every test is in ${LOG}`
  if (positionals.length > 0 || values.long) return say(`${count}${details}`)
  const remembered = existsSync(TOOK) ? JSON.parse(readFileSync(TOOK, 'utf8')) : {}
  const seconds = remembered[runtime.name] ?? CORE_SECONDS[runtime.name] / availableParallelism()
  say(`${count}, about ${Math.max(1, Math.round(seconds / 60))} minutes${details}`)
  const startedAt = performance.now()
  process.once('exit', code => {
    const took = Math.round((performance.now() - startedAt) / 1000)
    if (code === 0) writeFileSync(TOOK, JSON.stringify({ ...remembered, [runtime.name]: took }))
  })
}

/**
 * By default Node reserves one core for the runner, which is nearly idle: on two cores that wastes half of them. One
 * group more than there are cores uses the time in which tests wait for disks, timers and other processes.
 */
function sideBySide() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const isKnown = major > 20 || (major === 20 && minor >= 10)
  return isKnown ? [`--test-concurrency=${availableParallelism() + 1}`] : []
}

/** See test/long.ts. */
function hasLongForm(path) {
  return /^import .*\/long\.js';$/m.test(readFileSync(join(ROOT, path), 'utf8'))
}

function named(path) {
  const inProject = relative(ROOT, resolve(path)).replace(/\.ts$/, '.js')
  const output = inProject.startsWith('dist') ? inProject : `dist/${inProject}`
  if (!built.includes(output)) giveUp(`${path} is no test`, 2)
  return output
}
