/** Shared setup of all scripts: installed packages, built sources, a runtime. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const SOURCE_FOLDERS = ['src', 'test', 'bench']
const BUN_VERSION_MIN = [1, 4]
const NODE_VERSION_MIN = 20

const inRoot = (...parts) => join(ROOT, ...parts)
const changedAt = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

export const TSC = inRoot('node_modules', 'typescript', 'bin', 'tsc')
export const BIOME = inRoot('node_modules', '@biomejs', 'biome', 'bin', 'biome')

export function say(line) {
  process.stderr.write(`holdfast: ${line}\n`)
}

/** Ends the script with one line instead of a stack. */
export function giveUp(line, code = 1) {
  say(line)
  process.exit(code)
}

/** Runs a command to its end and returns whether it succeeded. Standard output stays the server's own. */
export function succeeds(command, args, stdout = process.stderr) {
  return spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', stdout, 'inherit'] }).status === 0
}

/** Runs `npm install` when the lock file is newer than what it last installed. */
export function installMissing() {
  if (changedAt(inRoot('node_modules', '.package-lock.json')) >= changedAt(inRoot('package-lock.json'))) return
  say('installing packages')
  // The compiler is a development package, so development packages are installed even if the environment omits them.
  if (!succeeds('npm', ['install', '--no-save', '--include=dev', '--no-audit', '--no-fund']))
    giveUp('npm install failed')
}

/** Paths of all files below a folder of the project, relative to the project. */
export function filesBelow(folder) {
  if (!existsSync(inRoot(folder))) return []
  return readdirSync(inRoot(folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name).slice(ROOT.length + 1))
}

const isSource = path => path.endsWith('.ts') && !path.endsWith('.d.ts')

/** Compiles when a source is newer than the last build that succeeded, and drops what a deleted source left behind. */
export function build() {
  const sources = SOURCE_FOLDERS.flatMap(filesBelow).filter(isSource)
  const outputs = SOURCE_FOLDERS.flatMap(folder => filesBelow(join('dist', folder)))
  removeOrphans(new Set(sources), outputs)
  const stamp = inRoot('dist', '.built')
  const builtAt = changedAt(stamp)
  const built = new Set(outputs)
  const isMissing = source => !built.has(join('dist', source.replace(/\.ts$/, '.js')))
  const isNewer = path => changedAt(inRoot(path)) > builtAt
  const missing = sources.some(isMissing)
  // Tests import the rules of the console, which the compiler then compiles as well.
  const others = [...filesBelow('console/src'), 'tsconfig.json', 'package-lock.json']
  if (!missing && ![...sources, ...others].some(isNewer)) return
  // The compiler trusts its build info and does not check that the output still exists.
  if (missing) rmSync(inRoot('dist', '.tsbuildinfo'), { force: true })
  say('building')
  const startedAt = new Date()
  if (!succeeds(process.execPath, [TSC, '-p', 'tsconfig.json'])) giveUp('the build failed')
  mkdirSync(inRoot('dist'), { recursive: true })
  writeFileSync(stamp, '')
  // A source that was edited while the compiler ran is newer than this.
  utimesSync(stamp, startedAt, startedAt)
}

/** A test whose source was deleted must not run. */
function removeOrphans(sources, outputs) {
  for (const output of outputs) {
    const stem = output.match(/^dist.(.*)(?:\.js|\.js\.map|\.d\.ts)$/)?.[1]
    if (stem !== undefined && !sources.has(`${stem}.ts`)) rmSync(inRoot(output))
  }
}

/** Node unless Bun is requested. Prints the choice on stderr. */
export function chooseRuntime(wanted) {
  if (wanted !== undefined && wanted !== 'node' && wanted !== 'bun') {
    giveUp(`unknown runtime "${wanted}": node or bun`, 2)
  }
  const bun = wanted === 'bun' ? findBun() : undefined
  if (wanted === 'bun' && bun === undefined) giveUp('no Bun that works was found')
  // Without this check an older runtime starts and fails later with obscure errors.
  if (bun === undefined && Number.parseInt(process.versions.node, 10) < NODE_VERSION_MIN) {
    giveUp(`Node ${NODE_VERSION_MIN} or newer is needed; this is ${process.versions.node}`, 2)
  }
  const runtime = bun ?? { name: 'node', version: process.versions.node, command: process.execPath, args: [] }
  say(`running on ${runtime.name} ${runtime.version}`)
  return runtime
}

/** Loads the metadata engine's binary, which every server needs. */
const BUN_PROBE = "await import('lmdb'); console.log(Bun.version)"

/** The package keeps its binary in one of two places, depending on whether install scripts were run. */
export function findBun() {
  const vendor = inRoot('node_modules', '@oven')
  const builds = existsSync(vendor) ? readdirSync(vendor) : []
  const candidates = [
    inRoot('node_modules', 'bun', 'bin', 'bun.exe'),
    ...builds.map(name => join(vendor, name, 'bin', 'bun')),
  ]
  for (const command of candidates.filter(path => existsSync(path))) {
    const version = rememberedVersion(command) ?? answerOf(command, ['--no-env-file', '-e', BUN_PROBE])
    if (version === undefined || !isRecent(version)) continue
    remember(command, version)
    // Node reads no .env file; settings must not depend on the runtime.
    return { name: 'bun', version, command, args: ['--no-env-file'] }
  }
  return undefined
}

/** The check takes a tenth of a second; its result is valid on this machine until other packages are installed. */
const MEMORY = inRoot('dist', '.bun')

function rememberedVersion(command) {
  const installedAt = Math.max(changedAt(command), changedAt(inRoot('node_modules', '.package-lock.json')))
  if (changedAt(MEMORY) <= installedAt) return undefined
  const [host, known, version] = readFileSync(MEMORY, 'utf8').split('\n')
  return host === hostname() && known === command ? version : undefined
}

function remember(command, version) {
  if (rememberedVersion(command) === version) return
  mkdirSync(inRoot('dist'), { recursive: true })
  writeFileSync(MEMORY, [hostname(), command, version].join('\n'))
}

function answerOf(command, args) {
  const { status, stdout } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', timeout: 20_000 })
  return status === 0 ? stdout.trim() : undefined
}

function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = BUN_VERSION_MIN
  return major > majorMin || (major === majorMin && minor >= minorMin)
}

/** Bun's fetch and curl send requests to this machine through a proxy, too, if the environment names one. */
export function withoutProxyHere(env = process.env) {
  const here = names => [names, '127.0.0.1', 'localhost', '.localhost'].filter(Boolean).join()
  return { ...env, NO_PROXY: here(env.NO_PROXY), no_proxy: here(env.no_proxy) }
}

const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']

/** Runs the command in place of this process: passes on input, output, signals and exit status. */
export function become(command, args, env = process.env) {
  const child = spawn(command, args, { stdio: 'inherit', env })
  for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal))
  child.on('error', error => giveUp(`${command}: ${error.message}`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
