/**
 * `npm run test:crash`: installs and builds what is missing, then runs the crash tests.
 * `npm run test:crash -- [--runtime node|bun] [--cycles N] [--only NAME] [--seed N]`; docs/operations/crash-tests.md
 * describes the suites.
 */
import { join } from 'node:path'
import { become, build, chooseRuntime, installMissing, ROOT } from './runtime.mjs'

const args = process.argv.slice(2)
const named = args.indexOf('--runtime')
const wanted = named < 0 ? undefined : args.splice(named, 2)[1]

installMissing()
build()
const runtime = chooseRuntime(wanted ?? process.env.HOLDFAST_RUNTIME)
become(runtime.command, [...runtime.args, join(ROOT, 'dist', 'test', 'crash', 'run.js'), ...args])
