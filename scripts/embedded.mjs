/**
 * `npm run test:embedded`: packs what would be published, installs it into a temporary folder beside the test runners and the SDK
 * that the examples use, and runs the examples there. The code on the documentation page runs as one test, and the types
 * are checked as editors would. If the runners are unavailable, the examples are skipped.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { build, giveUp, installMissing, ROOT, TSC } from './runtime.mjs'

const PAGE = 'docs/embedded.md'
const EXAMPLES = ['vitest', 'jest', 'jest-commonjs', 'node-test']

/** Only the package's own types: they must not depend on other types of a project. */
const TYPED = `
import { Holdfast, type HoldfastOptions, type InjectedFault } from 'holdfast'

const options: HoldfastOptions = { buckets: ['a', { name: 'b', objectLock: true }] }
await using hf = await Holdfast.start(options)
const fault: InjectedFault = hf.faults.add({ match: { key: /x/ }, fault: { cutAfter: 1 } })
const hits: number = fault.hits
const { endpoint, credentials: { accessKeyId } }: { endpoint: string; credentials: { accessKeyId: string } } =
  hf.s3ClientConfig()
hf.clock.advance({ days: hits })
// @ts-expect-error there is no such fault
hf.faults.add({ fault: 'explode' })
// @ts-expect-error there is no such option
await Holdfast.start({ bucket: endpoint + accessKeyId })
`

/** The same for CommonJS, in both import syntaxes. */
const TYPED_COMMON = `
import holdfast = require('holdfast')
import { Holdfast, type InjectedFault } from 'holdfast'

async function use(options: holdfast.HoldfastOptions): Promise<Holdfast> {
  const hf = await Holdfast.start(options)
  const fault: InjectedFault = hf.faults.add({ match: { key: /x/ }, fault: 'slow-down' })
  hf.clock.advance({ days: fault.hits })
  // @ts-expect-error there is no such option
  await holdfast.Holdfast.start({ bucket: hf.endpoint })
  return hf
}
use({ buckets: ['a'] })
`

const RESOLUTIONS = [
  ['nodenext', 'nodenext', 'typed.mts', TYPED],
  ['esnext', 'bundler', 'typed.mts', TYPED],
  ['nodenext', 'nodenext', 'typed.cts', TYPED_COMMON],
]

function run(command, args, cwd, env = process.env) {
  const { status } = spawnSync(command, args, { cwd, env, stdio: ['ignore', process.stdout, 'inherit'] })
  return status === 0
}

/** Packages that the examples need beside the store itself. */
function packagesOf(examples) {
  const wanted = new Set()
  for (const example of examples) {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'examples', example, 'package.json'), 'utf8'))
    for (const [name, version] of Object.entries(devDependencies)) {
      if (name !== 'holdfast') wanted.add(`${name}@${version}`)
    }
  }
  return [...wanted]
}

const QUIET = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error']

function install(folder) {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  if (!run('npm', ['pack', '--silent', '--pack-destination', folder], ROOT)) giveUp('npm pack failed')
  const archive = readdirSync(folder).find(name => name.endsWith('.tgz'))
  const store = `./${archive}`
  if (run('npm', ['install', ...QUIET, store, ...packagesOf(EXAMPLES)], folder)) return { hasRunners: true }
  if (!run('npm', ['install', ...QUIET, store], folder)) giveUp('npm install failed')
  return { hasRunners: false }
}

/** The page's blocks, concatenated: together they are one test. */
function codeOn(page) {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  if (blocks.length === 0) giveUp(`${page} has no code`)
  return blocks.map(([, code]) => code).join('\n')
}

function areTyped(folder, [module, resolution, name, text]) {
  writeFileSync(join(folder, name), text)
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022', '--types', '']
  return run(process.execPath, [TSC, ...flags, '--module', module, '--moduleResolution', resolution, name], folder)
}

function passes(folder, example) {
  const place = join(folder, example)
  cpSync(join(ROOT, 'examples', example), place, { recursive: true })
  if (example === 'vitest') writeFileSync(join(place, 'page.test.ts'), codeOn(PAGE))
  const PATH = `${join(folder, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
  return run('npm', ['test', '--silent'], place, { ...process.env, PATH })
}

installMissing()
build()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-embedded-'))
try {
  const { hasRunners } = install(folder)
  const steps = [
    ...RESOLUTIONS.map(how => [`types, ${how[1]}, ${how[2]}`, () => areTyped(folder, how)]),
    ...(hasRunners ? EXAMPLES : []).map(example => [`examples/${example}`, () => passes(folder, example)]),
  ]
  if (!hasRunners) console.log(`skipped - examples: ${packagesOf(EXAMPLES).join(', ')} cannot be installed here`)
  let failed = 0
  for (const [name, step] of steps) {
    const isGood = step()
    if (!isGood) failed++
    process.stdout.write(`${isGood ? 'ok' : 'not ok'} - ${name}\n`)
  }
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
