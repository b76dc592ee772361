/** The program in a few files, which packages and tests start: several hundred modules take Node half a second to load. */
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBun, giveUp, ROOT, succeeds } from './runtime.mjs'

/** Two levels below dist, as the module is that looks for the console's files beside it. */
const FOLDER = join(ROOT, 'dist', 'bundle', 'program')
const STAMP = join(ROOT, 'dist', '.bundled')
/** Written by every build that compiled something. */
const BUILT = join(ROOT, 'dist', '.built')

/** The path of a current bundle; undefined without Bun, which makes it. */
export function bundledProgram() {
  const entry = join(FOLDER, 'main.js')
  if (existsSync(entry) && existsSync(STAMP) && statSync(STAMP).mtimeMs > statSync(BUILT).mtimeMs) return entry
  const bun = findBun()
  if (bun === undefined) return undefined
  rmSync(FOLDER, { recursive: true, force: true })
  // As in the package's CommonJS file, packages stay external: native modules cannot be bundled.
  const form = ['--format=esm', '--target=node', '--packages=external', '--splitting', `--outdir=${FOLDER}`]
  const main = join(ROOT, 'dist', 'src', 'main.js')
  if (!succeeds(bun.command, ['build', main, ...form], 'ignore')) giveUp('the program could not be bundled')
  writeFileSync(STAMP, '')
  return entry
}
