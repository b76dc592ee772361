/** `npm run build`: installs what is missing and compiles what has changed. Also run before a package is made. */
import { build, installMissing } from './runtime.mjs'

installMissing()
build()
