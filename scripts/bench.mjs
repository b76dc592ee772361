/**
 * `npm run bench -- SUITE [options]`: installs and builds what is missing, then measures, on the runtime that
 * `npm start` would use, or the one that HOLDFAST_RUNTIME names.
 */
import { join } from 'node:path'
import { bundledProgram } from './bundle.mjs'
import { become, build, chooseRuntime, giveUp, installMissing, ROOT } from './runtime.mjs'

const SUITES = ['engine', 'http', 'copy', 'growth', 'soak', 'cluster', 'peers']
/** Installs the engines of a suite, prepares them, and runs the command that follows. */
const PREPARED_BY = {
  cluster: join(ROOT, 'bench', 'cluster', 'run.sh'),
  peers: join(ROOT, 'bench', 'peers', 'run.sh'),
}

const [suite, ...options] = process.argv.slice(2)
if (suite === undefined) giveUp(`which suite? ${SUITES.join(', ')}`, 2)
if (!SUITES.includes(suite)) giveUp(`unknown suite "${suite}": ${SUITES.join(', ')}`, 2)

installMissing()
build()
const runtime = chooseRuntime(process.env.HOLDFAST_RUNTIME)
const program = runtime.name === 'node' ? bundledProgram() : undefined
if (program !== undefined) process.env.HOLDFAST_BENCH_PROGRAM = program
const command = [runtime.command, ...runtime.args, join(ROOT, 'dist', 'bench', `${suite}.js`), ...options]
const preparation = PREPARED_BY[suite]
if (preparation === undefined) become(command[0], command.slice(1))
else become('bash', [preparation, ...command])
