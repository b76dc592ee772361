/** `npm start`: installs and builds what is missing, then serves. Arguments pass through. */
import { join } from 'node:path'
import { bundledProgram } from './bundle.mjs'
import { buildConsole } from './console.mjs'
import { become, build, chooseRuntime, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
buildConsole()
const runtime = chooseRuntime(process.env.HOLDFAST_RUNTIME)
// Bun loads modules quickly enough.
const bundle = runtime.name === 'node' ? bundledProgram() : undefined
const program = bundle ?? join(ROOT, 'dist', 'src', 'main.js')
become(runtime.command, [...runtime.args, program, 'serve', ...process.argv.slice(2)])
