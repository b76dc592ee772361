/**
 * Builds the console, the static files in dist/console-pages that the server sends to browsers, and their compressed forms.
 * Only what starts or packs a server needs it; tests do not.
 */
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { filesBelow, giveUp, ROOT, say, succeeds } from './runtime.mjs'

const FOLDER = join('dist', 'console-pages')
const STAMP = join(ROOT, 'dist', '.console-built')
const VITE = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js')
const COMPRESSED = /\.(js|css|html|svg)$/

const changedAt = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Runs when a source or a package is newer than the last build that succeeded. */
export function buildConsole() {
  const sources = [...filesBelow('console'), 'package-lock.json']
  const builtAt = changedAt(join(ROOT, FOLDER, 'index.html')) === 0 ? 0 : changedAt(STAMP)
  if (!sources.some(path => changedAt(join(ROOT, path)) > builtAt)) return
  say('building the console')
  const startedAt = new Date()
  const config = join('console', 'vite.config.mjs')
  if (!succeeds(process.execPath, [VITE, 'build', '--config', config, '--logLevel', 'warn'])) {
    giveUp('the build of the console failed')
  }
  for (const path of filesBelow(FOLDER).filter(path => COMPRESSED.test(path))) compress(join(ROOT, path))
  mkdirSync(dirname(STAMP), { recursive: true })
  writeFileSync(STAMP, '')
  // A source that was edited while the build ran is newer than this.
  utimesSync(STAMP, startedAt, startedAt)
}

/** The page itself is not compressed: the server completes it for every visit. */
function compress(path) {
  if (path.endsWith('index.html')) return
  const bytes = readFileSync(path)
  // The best quality takes seconds on a slow machine and saves three percent.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}

/** Whether a server has the console: its page, and a script that the page names. */
export async function hasConsole(url) {
  const page = await fetch(url, { headers: { accept: 'text/html' } })
  const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
  if (script === undefined) return false
  const { ok, headers } = await fetch(new URL(script, url), { headers: { 'accept-encoding': 'br' } })
  return ok && headers.get('content-encoding') === 'br'
}
