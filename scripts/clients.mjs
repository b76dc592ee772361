/**
 * `npm run test:clients`: installs and builds what is missing, then runs third-party clients against a server.
 * `npm run test:clients -- [--runtime node|bun] [--only NAME]`; the runtime is the server's.
 * docs/operations/clients.md describes what each client does.
 */
import { join } from 'node:path'
import { become, build, chooseRuntime, findBun, installMissing, ROOT } from './runtime.mjs'

const args = process.argv.slice(2)
const named = args.indexOf('--runtime')
const wanted = named < 0 ? undefined : args.splice(named, 2)[1]

installMissing()
build()
const runtime = chooseRuntime(wanted ?? process.env.HOLDFAST_RUNTIME)
const server = [runtime.command, ...runtime.args, join(ROOT, 'dist', 'src', 'main.js')]
const scripts = join(ROOT, 'test', 'clients')
const own = ['--server', JSON.stringify(server), '--scripts', scripts]
const bun = findBun()
if (bun !== undefined) own.push('--bun', bun.command)
become(process.execPath, ['--enable-source-maps', join(ROOT, 'dist', 'test', 'clients', 'run.js'), ...own, ...args])
