/**
 * `npm run build`: installs what is missing and compiles what has changed. Before a package is made also, with
 * `--package`, what only packages have.
 */
import { buildCommonJs } from './common-js.mjs'
import { build, installMissing } from './runtime.mjs'

installMissing()
build()
if (process.argv.includes('--package')) buildCommonJs()
