/** `npm run check`: checks lint, formatting and types. All of them always run, so that one run shows all errors. */
import { BIOME, installMissing, succeeds, TSC } from './runtime.mjs'

installMissing()
const formed = succeeds(process.execPath, [BIOME, 'check', '--error-on-warnings', '.'], process.stdout)
// A separate build info file: that of a build must not list files as up to date that were never emitted.
const notes = 'dist/.tsbuildinfo-check'
const typed = succeeds(
  process.execPath,
  [TSC, '-p', 'tsconfig.json', '--noEmit', '--tsBuildInfoFile', notes],
  process.stdout,
)
const pages = succeeds(process.execPath, [TSC, '-p', 'console/tsconfig.json'], process.stdout)
process.exitCode = formed && typed && pages ? 0 : 1
