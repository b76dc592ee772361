/**
 * `npm run test:docs`: runs the command blocks of the pages below as they are written, in a fresh clone, and compares what they
 * print with what the page shows. A block of `sh` is run; a following block of `text` is its expected output, where `…`
 * matches anything.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, giveUp, installMissing, ROOT, withoutProxyHere } from './runtime.mjs'

const PAGES = [
  ...['README.md', 'docs/tour.md'],
  ...['docs/clients/aws.md', 'docs/clients/boto3.md', 'docs/clients/javascript.md'],
]
const BLOCK_SECONDS_MAX = 120
const READY = 'holdfast ready '
const MARK = '@@ block'
/** Ports of the server that the pages start, unless another process uses them. */
const PORTS = [9000, 9001]

/** A page's blocks: the commands, and the expected output if the page has it. */
function blocksOf(page) {
  const fences = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  return fences.flatMap(([, kind, text], index) => {
    if (kind !== 'sh') return []
    const next = fences[index + 1]
    const shown = next?.[1] === 'text' ? next[2] : undefined
    return [{ text, shown }]
  })
}

/** Commands that are separate steps in continuous integration are not run again here. */
const ciSteps = new Set(
  [...readFileSync(join(ROOT, '.ci', 'run'), 'utf8').matchAll(/^step \S+ (.*)$/gm)].map(([, command]) =>
    command.replace(' --silent', ''),
  ),
)

/** The page's comment for a reader who runs the server in a separate terminal. */
const STOP_LINE = '# Ctrl-C in the first terminal'

/** The server keeps running; every other command runs to its end. */
function asScript({ text }, index) {
  const lines = text
    .trimEnd()
    .split('\n')
    .filter(line => !ciSteps.has(line))
  const replaced = line => (line === STOP_LINE ? 'stop' : line.replace(/^(?=npm start\b)/, 'serve_in_background '))
  const body = lines.map(replaced).join('\n')
  // Starts on a new line, even after output without a trailing line break.
  return `printf '\\n${MARK} ${index}\\n'\n${body}\n`
}

const PRELUDE = `
set -euo pipefail
stop() {
  [ -z "$server" ] || { kill "$server"; wait "$server" || true; }
  server=
}
serve_in_background() {
  stop
  "$@" > "$log" 2>&1 &
  server=$!
  while kill -0 "$server"; do
    grep -q '^${READY}' "$log" && return
    sleep 0.1
  done
  cat "$log" >&2
  return 1
}
server=
log=$PWD/../server.log
trap stop EXIT
`

const literally = text => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
const asPattern = shown => new RegExp(`^${shown.trim().split('…').map(literally).join('[\\s\\S]*?')}$`)

/** This port, or another one if it is in use. */
function portLike(port) {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', error => (error.code === 'EADDRINUSE' ? resolve(portLike(0)) : reject(error)))
    server.listen(port, '127.0.0.1', () => {
      const { port: found } = server.address()
      server.close(() => resolve(found))
    })
  })
}

/** A fresh clone, which the first page builds by the commands that a newcomer types. */
function cloneInto(folder) {
  const clone = join(folder, 'holdfast')
  // The checkout may belong to another user; git does not read it without this setting.
  const settings = join(folder, 'gitconfig')
  writeFileSync(settings, '[safe]\n\tdirectory = *\n')
  const cloning = { stdio: 'inherit', env: { ...process.env, GIT_CONFIG_GLOBAL: settings } }
  if (spawnSync('git', ['clone', '--quiet', ROOT, clone], cloning).status !== 0) giveUp('git clone failed')
  cpSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  return clone
}

/** Runs a page in the clone; prints one line for each block and counts them. */
async function tryPage(clone, path) {
  cpSync(join(ROOT, path), join(clone, path))
  const [listen, console] = await Promise.all(PORTS.map(portLike))
  const page = readFileSync(join(clone, path), 'utf8').replaceAll(`:${PORTS[0]}`, `:${listen}`)
  const blocks = blocksOf(page)
  const script = PRELUDE + blocks.map(asScript).join('')
  const timeout = BLOCK_SECONDS_MAX * 1000 * (blocks.length + 1)
  const env = withoutProxyHere()
  if (listen !== PORTS[0]) env.HOLDFAST_LISTEN = `127.0.0.1:${listen}`
  if (console !== PORTS[1]) env.HOLDFAST_CONSOLE = `127.0.0.1:${console}`
  const run = spawnSync('bash', ['-c', script], { cwd: clone, env, encoding: 'utf8', timeout, maxBuffer: 2 ** 28 })
  const counts = judge(path, blocks, run, leftBehind(clone))
  restore(clone)
  return counts
}

/** A page removes what it created. The data folder of the first `npm start` is the reader's own, and git ignores it. */
function leftBehind(clone) {
  const { stdout } = spawnSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' })
  const isPage = line => PAGES.some(page => line.endsWith(page))
  return stdout.split('\n').filter(line => line !== '' && !isPage(line))
}

/** No page sees the data or the files of the page before it. Only the build is shared. */
function restore(clone) {
  const kept = ['node_modules', 'dist'].flatMap(name => ['--exclude', name])
  if (spawnSync('git', ['clean', '-fdxq', ...kept], { cwd: clone }).status !== 0) giveUp('git clean failed')
}

function judge(path, blocks, { stdout, stderr, status }, rubbish) {
  const printed = stdout.split(new RegExp(`^${MARK} \\d+\\n`, 'm')).slice(1)
  let failed = 0
  for (const [index, { text, shown }] of blocks.entries()) {
    const name = `${path}: ${text.split('\n')[0]}`
    const wasRun = index < printed.length - 1 || (index === printed.length - 1 && status === 0)
    const matches = shown === undefined || asPattern(shown).test((printed[index] ?? '').replaceAll('\r', '').trim())
    if (wasRun && matches) console.log(`ok - ${name}`)
    else {
      failed++
      console.log(
        `not ok - ${name}\n--- printed\n${printed[index] ?? '(not run)'}\n--- shown\n${shown ?? '(anything)'}`,
      )
    }
  }
  if (status !== 0) console.log(stderr)
  else if (rubbish.length > 0) {
    failed++
    console.log(`not ok - ${path}: leaves behind ${rubbish.join(', ')}`)
  }
  return { passed: Math.max(0, blocks.length - failed), failed }
}

installMissing()
build()
const totals = { passed: 0, failed: 0 }
const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
try {
  const clone = cloneInto(folder)
  for (const page of PAGES) {
    const { passed, failed } = await tryPage(clone, page)
    totals.passed += passed
    totals.failed += failed
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${totals.passed} passed, ${totals.failed} failed`)
process.exitCode = totals.failed === 0 ? 0 : 1
