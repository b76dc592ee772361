/**
 * `npm run test:fuzz`: installs and builds what is missing, then sends malformed requests to a server.
 * `npm run test:fuzz -- [--runtime node|bun] [--count N] [--seed N] [--only SHOT]`; the runtime is the server's.
 * docs/operations/fuzzing.md describes the requests and the checks.
 */
import { join } from 'node:path'
import { become, build, chooseRuntime, installMissing, ROOT } from './runtime.mjs'

const args = process.argv.slice(2)
const named = args.indexOf('--runtime')
const wanted = named < 0 ? undefined : args.splice(named, 2)[1]

installMissing()
build()
const runtime = chooseRuntime(wanted ?? process.env.HOLDFAST_RUNTIME)
const server = JSON.stringify([runtime.command, ...runtime.args, join(ROOT, 'dist', 'src', 'main.js')])
become(process.execPath, [
  '--enable-source-maps',
  join(ROOT, 'dist', 'test', 'fuzz', 'run.js'),
  '--server',
  server,
  ...args,
])
