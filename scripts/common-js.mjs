/** The store for `require('holdfast')`: one bundle of the ES modules, for test runners that only support CommonJS. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseRuntime, giveUp, ROOT, succeeds } from './runtime.mjs'

/** The same types, declared for CommonJS. */
const TYPES = `/// <reference lib="esnext.disposable" />
import type { Holdfast as Class } from '../src/embedded/holdfast.js' with { 'resolution-mode': 'import' }

export type * from '../src/embedded/api.js' with { 'resolution-mode': 'import' }
export type Holdfast = Class
export declare const Holdfast: typeof Class
`

/** Not minified, since its lines appear in stack traces. Packages stay external: native modules cannot be bundled. */
export function buildCommonJs() {
  const place = join(ROOT, 'dist', 'cjs')
  mkdirSync(place, { recursive: true })
  const bun = chooseRuntime('bun')
  const form = ['--format=cjs', '--target=node', '--packages=external']
  const [from, to] = [join(ROOT, 'dist', 'src', 'index.js'), join(place, 'index.cjs')]
  if (!succeeds(bun.command, ['build', from, ...form, `--outfile=${to}`])) giveUp('the CommonJS file could not be made')
  writeFileSync(join(place, 'index.d.cts'), TYPES)
}
