/** `npm run test:simulation`: installs and builds what is missing, then simulates clusters. test/simulation/run.ts. */
import { join } from 'node:path'
import { become, build, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
const program = join(ROOT, 'dist', 'test', 'simulation', 'run.js')
become(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)])
