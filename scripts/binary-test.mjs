/**
 * `npm run test:binary`: makes the single executable in an empty folder and runs the tests of the
 * program on it: the whole round, and every command. Prints its size and its start time.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasConsole } from './console.mjs'
import { giveUp, ROOT, succeeds } from './runtime.mjs'

const TESTS = ['smoke', 'commands', 'locks'].map(name => `test/cli/${name}.test.ts`)
const STARTS = 5

const folder = mkdtempSync(join(tmpdir(), 'holdfast-binary-'))
const [binary, home, data] = ['holdfast', 'home', 'data'].map(name => join(folder, name))
const cache = join(home, '.cache', 'holdfast')
/** An environment with nothing of this machine but its system folders. */
const env = { PATH: '/usr/bin:/bin', HOME: home }

/** Milliseconds from the start of the process to its ready line. */
function timeOfStart() {
  const startedAt = performance.now()
  const args = ['serve', '--data', data, '--workers', '2', '--listen', '127.0.0.1:0', '--console', '127.0.0.1:0']
  const child = spawn(binary, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  return new Promise((resolve, reject) => {
    let ready
    child.stdout.once('data', async chunk => {
      ready = performance.now() - startedAt
      const url = String(chunk).match(/ console (\S+)\n$/)?.[1]
      if (url === undefined || !(await hasConsole(url).catch(() => false))) reject(new Error('it has no console'))
      child.kill('SIGTERM')
    })
    child.once('error', reject)
    child.once('exit', code =>
      ready === undefined || code !== 0 ? reject(new Error(`it ended with ${code}`)) : resolve(ready),
    )
  })
}

/** Runs a command that needs every native module; returns its output and how it ended. */
const check = more => {
  const { stdout, status } = spawnSync(binary, ['fsck', '--data', data], { env: { ...env, ...more }, encoding: 'utf8' })
  return `${status} ${stdout}`
}

/** A damaged file, as after a power cut, is repaired, and a folder that others can write to is skipped. */
function checkUnpacking() {
  const expected = check()
  if (!expected.startsWith('0 ')) giveUp(`fsck: ${expected}`)
  const parts = readdirSync(cache).map(name => join(cache, name))
  if (parts.length === 0) giveUp('no native part was unpacked')
  for (const part of parts) {
    const whole = readFileSync(part)
    writeFileSync(part, Buffer.alloc(whole.length))
    if (check() !== expected || !readFileSync(part).equals(whole)) giveUp(`${part}: damage went unnoticed`)
  }
  chmodSync(cache, 0o777)
  if (check({ TMPDIR: folder }) !== expected) giveUp('there is no second folder to unpack to')
  const second = join(folder, `holdfast-${process.getuid()}`)
  if (!existsSync(second)) giveUp('native parts were loaded from where others can write')
  chmodSync(cache, 0o700)
}

process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
mkdirSync(home)
if (!succeeds(process.execPath, [join(ROOT, 'scripts', 'binary.mjs'), '--out', binary])) giveUp('nothing to test')
const made = readFileSync(binary)
// Searches for names of files in the folder: `/app` alone occurs in every runtime.
if (['dist', 'node_modules', 'scripts'].some(name => made.includes(join(ROOT, name, '/'))))
  giveUp('the executable knows the folder that it was made in')
process.env.HOLDFAST_TEST_PROGRAM = JSON.stringify([binary])
process.env.HOLDFAST_TEST_NATIVE_HOME = cache
process.env.HOME = home
if (!succeeds(process.execPath, [join(ROOT, 'scripts', 'test.mjs'), ...TESTS], process.stdout))
  giveUp('the tests failed')
const times = []
for (let i = 0; i < STARTS; i++) times.push(Math.round(await timeOfStart()))
checkUnpacking()
const size = (statSync(binary).size / 2 ** 20).toFixed(1)
console.log(`single executable: ${size} MiB; serves with two workers after ${times.join(', ')} ms`)
