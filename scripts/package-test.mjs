/**
 * `npm run test:package`: installs from the lock file alone, here and as other machines would. Then makes the package,
 * installs it into an empty folder and runs the program from there: the whole round, and as `npx holdfast`. Also checks
 * that the package contains no unneeded files.
 */
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasConsole } from './console.mjs'
import { giveUp, ROOT, succeeds } from './runtime.mjs'

const NEEDED = [
  ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
  'dist/console-pages/index.html',
  ...[
    'dist/bundle/program/main.js',
    'dist/src/index.js',
    'dist/src/index.d.ts',
    'dist/cjs/index.cjs',
    'dist/cjs/index.d.cts',
  ],
]
const USELESS = /\.test\.|\.map$|(^|\/)(suite|test|bench|scripts)\b|(?<!\.d)\.ts$/
const READY_SECONDS_MAX = 60

const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const place = join(folder, 'project')

function npm(args, cwd) {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  if (status !== 0) giveUp(`npm ${args[0]} failed\n${stderr}`)
  return stdout
}

/** The path of the packed file. */
function pack() {
  const [packed] = JSON.parse(npm(['pack', '--json', '--silent', '--pack-destination', folder], ROOT))
  const paths = packed.files.map(({ path }) => path)
  const missing = NEEDED.filter(path => !paths.includes(path))
  if (missing.length > 0) giveUp(`not in the package: ${missing.join(', ')}`)
  const useless = paths.filter(path => USELESS.test(path))
  if (useless.length > 0) giveUp(`of no use in the package: ${useless.slice(0, 5).join(', ')}`)
  if (!readFileSync(join(ROOT, 'dist', 'bundle', 'program', 'main.js'), 'utf8').startsWith('#!/usr/bin/env node\n')) {
    giveUp('the program does not say what runs it')
  }
  console.log(`package: ${paths.length} files, ${Math.round(packed.size / 1024)} KiB packed`)
  return join(folder, packed.filename)
}

/** In memory and in a folder: the latter loads native modules. The store works if it refuses an unknown caller. */
const EMBEDDED = `
async function tried({ Holdfast }, kind) {
  for (const folder of [undefined, kind]) {
    const hf = await Holdfast.start({ buckets: ['one'], ...(folder === undefined ? {} : { folder }) })
    const { status } = await fetch(hf.endpoint + '/one')
    await hf.close()
    if (status !== 403) throw new Error(kind + ' answered ' + status)
  }
  const misspelt = await Holdfast.start({ buckets: [{ name: 'one', objectlock: true }] }).catch(error => error.message)
  if (!/did you mean objectLock/.test(misspelt)) throw new Error(kind + ' takes an option that there is not')
  process.stdout.write(kind + ' ')
}
tried(require('holdfast'), 'require')
  .then(() => import('holdfast'))
  .then(one => tried(one, 'import'))
`

function tryEmbedded() {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', EMBEDDED], { cwd: place, encoding: 'utf8' })
  if (status !== 0 || stdout !== 'require import ') giveUp(`the store cannot be embedded: ${stdout}${stderr}`)
}

/** Through npx, as a new user would. A separate process group, so that the signal reaches every process. */
function tryNpx() {
  const args = ['--no', 'holdfast', 'serve', '--listen', '127.0.0.1:0', '--console', '127.0.0.1:0', '--workers', '1']
  const child = spawn('npx', args, { cwd: place, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const end = signal => process.kill(-child.pid, signal)
  const overdue = setTimeout(() => end('SIGKILL'), READY_SECONDS_MAX * 1000)
  return new Promise(resolve => {
    let said = ''
    let isComplete = false
    child.stdout.on('data', async chunk => {
      said += chunk
      if (!said.endsWith('\n')) return
      const url = said.match(/ console (\S+)\n$/)?.[1]
      isComplete = url !== undefined && (await hasConsole(url).catch(() => false))
      end('SIGTERM')
    })
    child.once('close', () => {
      clearTimeout(overdue)
      if (!/^holdfast ready http:\S+ console http:\S+\n$/.test(said)) giveUp(`npx holdfast serve said: ${said}`)
      if (!isComplete) giveUp('npx holdfast serve does not have the console')
      resolve()
    })
  })
}

/** In a fresh copy, as on a new machine; for other platforms it only checks that npm finds every package. */
function tryCleanInstall() {
  const copy = join(folder, 'clean')
  mkdirSync(copy)
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, name), join(copy, name))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund']
  const others = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64'].map(name => name.split('-'))
  for (const [os, cpu] of others) npm(['ci', '--dry-run', `--os=${os}`, `--cpu=${cpu}`, ...options], copy)
  npm(['ci', ...options], copy)
}

tryCleanInstall()
const packed = pack()
mkdirSync(place)
writeFileSync(join(place, 'package.json'), '{ "private": true }\n')
npm(['install', '--no-audit', '--no-fund', packed], place)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const said = npm(['exec', '--no', '--', 'holdfast', '--version'], place)
if (said !== `holdfast ${version}\n`) giveUp(`npx holdfast --version said: ${said}`)
tryEmbedded()
await tryNpx()
process.env.HOLDFAST_TEST_PROGRAM = JSON.stringify([join(place, 'node_modules', '.bin', 'holdfast')])
process.env.HOLDFAST_TEST_NATIVE_HOME = place
const smoke = [join(ROOT, 'scripts', 'test.mjs'), 'test/cli/smoke.test.ts']
if (!succeeds(process.execPath, smoke, process.stdout)) giveUp('the tests failed')
