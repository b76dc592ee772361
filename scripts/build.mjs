/**
 * `npm run build`: installs what is missing and compiles what has changed, the console included. With `--package`, which
 * runs before a package is made, it also builds the files that only packages have.
 */
import { bundledProgram } from './bundle.mjs'
import { buildCommonJs } from './common-js.mjs'
import { buildConsole } from './console.mjs'
import { build, giveUp, installMissing } from './runtime.mjs'

installMissing()
build()
buildConsole()
if (process.argv.includes('--package')) {
  buildCommonJs()
  if (bundledProgram() === undefined) giveUp('the program is bundled by Bun, which was not found')
}
