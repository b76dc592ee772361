/** `npm run check`: form and types of everything. Both are always run, so that one look shows all there is to mend. */
import { BIOME, installMissing, succeeds, TSC } from './runtime.mjs'

installMissing()
const formed = succeeds(process.execPath, [BIOME, 'check', '--error-on-warnings', '.'], process.stdout)
// Notes of its own: those of a build must not say that something was looked at which was never written.
const notes = 'dist/.tsbuildinfo-check'
const typed = succeeds(
  process.execPath,
  [TSC, '-p', 'tsconfig.json', '--noEmit', '--tsBuildInfoFile', notes],
  process.stdout,
)
process.exitCode = formed && typed ? 0 : 1
