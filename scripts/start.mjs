/** `npm start`: installs and builds what is missing, then serves. Arguments pass through. */
import { join } from 'node:path'
import { buildConsole } from './console.mjs'
import { become, build, chooseRuntime, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
buildConsole()
const runtime = chooseRuntime(process.env.HOLDFAST_RUNTIME)
become(runtime.command, [...runtime.args, join(ROOT, 'dist', 'src', 'main.js'), 'serve', ...process.argv.slice(2)])
