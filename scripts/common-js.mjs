/** The store for `require('holdfast')`: one file made of what `import` gives, for runners that know nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseRuntime, giveUp, ROOT, succeeds } from './runtime.mjs'

/** The same types, said to be those of the other kind of module. */
const TYPES = `/// <reference lib="esnext.disposable" />
import type { Holdfast as Class } from '../src/embedded/holdfast.js' with { 'resolution-mode': 'import' }

export type * from '../src/embedded/api.js' with { 'resolution-mode': 'import' }
export type Holdfast = Class
export declare const Holdfast: typeof Class
`

/** Readable, since its lines stand in the stacks that people see. Packages stay outside: native parts cannot go in. */
export function buildCommonJs() {
  const place = join(ROOT, 'dist', 'cjs')
  mkdirSync(place, { recursive: true })
  const bun = chooseRuntime('bun')
  const form = ['--format=cjs', '--target=node', '--packages=external']
  const [from, to] = [join(ROOT, 'dist', 'src', 'index.js'), join(place, 'index.cjs')]
  if (!succeeds(bun.command, ['build', from, ...form, `--outfile=${to}`])) giveUp('the CommonJS file could not be made')
  writeFileSync(join(place, 'index.d.cts'), TYPES)
}
