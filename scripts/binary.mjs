/**
 * `npm run build:binary`: installs and builds what is missing, then makes one executable file for this platform, with the
 * runtime and the native modules inside. `npm run build:binary -- [--out FILE]`; dist/holdfast without.
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildConsole } from './console.mjs'
import { build, chooseRuntime, giveUp, installMissing, ROOT, say, succeeds } from './runtime.mjs'

const { values } = parseArgs({ options: { out: { type: 'string' } } })
const out = resolve(values.out ?? join(ROOT, 'dist', 'holdfast'))

installMissing()
build()
buildConsole()
const bun = chooseRuntime('bun')
if (!succeeds(bun.command, [...bun.args, join(ROOT, 'scripts', 'binary', 'compile.mjs'), out])) {
  giveUp('the executable could not be made')
}
say(`${out}: ${(statSync(out).size / 2 ** 20).toFixed(1)} MiB`)
