/**
 * `npm test`: installs and builds what is missing, then runs every test that needs no other program.
 * `npm test -- [--runtime node|bun] [files…]`; a file may be named by its source or by its built form.
 */
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { become, build, chooseRuntime, filesBelow, giveUp, installMissing, ROOT, withoutProxyHere } from './runtime.mjs'

/** These need a database server, minutes of time, or other people's clients. */
const APART = ['dist/test/postgres/', 'dist/test/crash/', 'dist/test/clients/', 'dist/test/import/']
/** Ends what hangs. Node holds a whole file to it, and slow or busy machines take minutes for the longest. */
const TIMEOUT_MS = 600_000

const { values, positionals } = parseArgs({ options: { runtime: { type: 'string' } }, allowPositionals: true })

installMissing()
build()
const built = filesBelow('dist').filter(path => path.endsWith('.test.js'))
const files =
  positionals.length > 0 ? positionals.map(named) : built.filter(path => !APART.some(f => path.startsWith(f)))
if (files.length === 0) giveUp('there are no tests to run')

const runtime = chooseRuntime(values.runtime ?? process.env.HOLDFAST_RUNTIME ?? 'node')
process.chdir(ROOT)
const paths = files.sort().map(path => `./${path}`)
const args =
  runtime.name === 'bun'
    ? [...runtime.args, 'test', `--timeout=${TIMEOUT_MS}`, `--parallel=${availableParallelism()}`, '--no-isolate']
    : ['--enable-source-maps', '--test', `--test-timeout=${TIMEOUT_MS}`, ...sideBySide()]
become(runtime.command, [...args, ...paths], withoutProxyHere())

/** By itself Node leaves one core to the runner, which does next to nothing: of two, that is half of them. */
function sideBySide() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const isKnown = major > 20 || (major === 20 && minor >= 10)
  return isKnown ? [`--test-concurrency=${availableParallelism()}`] : []
}

function named(path) {
  const inProject = relative(ROOT, resolve(path)).replace(/\.ts$/, '.js')
  const output = inProject.startsWith('dist') ? inProject : `dist/${inProject}`
  if (!built.includes(output)) giveUp(`${path} is no test`, 2)
  return output
}
