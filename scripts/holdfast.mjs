/** `npm run -s holdfast -- COMMAND …`: installs and builds what is missing, then runs a command as an installed one. */
import { join } from 'node:path'
import { become, build, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
become(process.execPath, [join(ROOT, 'dist', 'src', 'main.js'), ...process.argv.slice(2)])
