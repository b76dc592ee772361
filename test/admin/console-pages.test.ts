/** The console's pages: files of its build, links into it, and what a browser may do with them. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { consoleFiles } from '../../src/server/console-files.ts'
import { withFolder } from '../store/fixture.ts'
import { send } from './console-fixture.ts'
import { type Answer, withConsole } from './fixture.ts'

const INDEX =
  '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><script type="module" src="/assets/a-1.js">'
const SCRIPT = 'console.log(1)'
const BROWSER = { accept: 'text/html,application/xhtml+xml' }

function build(folder: string): void {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>')
  writeFileSync(join(folder, 'assets/a-1.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/a-1.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/a-1.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'notes.md'), 'not for browsers')
}

type Get = (path: string, headers?: Record<string, string>, method?: string) => Promise<Answer>

const withPages = (use: (get: Get, folder: string) => Promise<void>): Promise<void> =>
  withFolder(async outer => {
    writeFileSync(join(outer, 'outside.js'), 'outside')
    const folder = join(outer, 'console')
    await withConsole(
      ({ port }) => use((path, headers = {}, method = 'GET') => send(port, { path, headers, method }), folder),
      { files: consoleFiles(folder) },
    )
  })

test('the page is not stored, has a strict policy with a nonce of its own, and is the answer to links into it', () =>
  withPages(async (get, folder) => {
    build(folder)
    const nonces = new Set<string>()
    for (const path of ['/', '/index.html', '/buckets/photos', '/buckets/photos/a.b/c%2F..%2F?version=1', '/assetsx']) {
      const { status, text, headers } = await get(path, BROWSER)
      assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], path)
      assert.equal(headers['cache-control'], 'no-store')
      const nonce = /content="([\w-]{22})"/.exec(text)![1]!
      nonces.add(nonce)
      assert.deepEqual(String(headers['content-security-policy']).split('; '), [
        "default-src 'none'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "font-src 'self'",
        "img-src 'self' blob: data: http://127.0.0.1:9000",
        "connect-src 'self' http://127.0.0.1:9000",
        'media-src blob: http://127.0.0.1:9000',
        'frame-src blob: http://127.0.0.1:9000',
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ])
      assert.equal(headers['x-frame-options'], 'DENY')
    }
    assert.equal(nonces.size, 5)
    assert.deepEqual(await get('/', BROWSER, 'HEAD').then(it => [it.status, it.text]), [200, ''])
  }))

test('files with a hash in their name are immutable in caches and sent compressed', () =>
  withPages(async (get, folder) => {
    build(folder)
    const plain = await get('/assets/a-1.js')
    assert.deepEqual([plain.status, plain.text, plain.headers['content-encoding']], [200, SCRIPT, undefined])
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.match(String(plain.headers['content-security-policy']), /default-src 'none'/)
    for (const [accepted, coding, bytes] of [
      ['gzip, deflate, br', 'br', brotliCompressSync(SCRIPT)],
      ['gzip', 'gzip', gzipSync(SCRIPT)],
    ] as const) {
      const { headers } = await get('/assets/a-1.js', { 'accept-encoding': accepted })
      assert.deepEqual([headers['content-encoding'], headers['content-length']], [coding, String(bytes.length)])
      assert.equal(headers.vary, 'accept-encoding')
    }
    const icon = await get('/favicon.svg')
    assert.deepEqual([icon.text, icon.headers['cache-control']], ['<svg/>', 'no-cache'])
    for (const path of ['/assets/gone-2.js', '/notes.md', '/assets/a-1.js.br']) {
      assert.equal((await get(path)).status, 404, path)
    }
    assert.equal((await get('/assets/gone-2.js', BROWSER)).status, 404)
  }))

test('A83: no path leads out of the folder, and API paths are never answered with pages', () =>
  withPages(async (get, folder) => {
    build(folder)
    for (const path of ['/../outside.js', '/assets/../../outside.js', '/%2e%2e/outside.js', '/..%2foutside.js']) {
      const answer = await get(path)
      assert.deepEqual([answer.status, answer.text.includes('outside')], [404, false], path)
    }
    for (const path of ['/v1', '/v1/none', '/health', '/metrics/none']) {
      assert.equal((await get(path, BROWSER)).status, 404, path)
    }
    assert.equal((await get('/health/live', BROWSER)).text, 'live\n')
    assert.equal((await get('/', BROWSER, 'POST')).status, 404)
  }))

test('DNS rebinding: a foreign host name gets no page', () =>
  withPages(async (get, folder) => {
    build(folder)
    const { status, text } = await get('/', { ...BROWSER, host: 'evil.example:9001' })
    assert.equal(status, 421)
    assert.match(text, /--console-url/)
  }))

test('without a build the status page answers until there is one', () =>
  withPages(async (get, folder) => {
    assert.match((await get('/', BROWSER)).text, /This server is <strong class="ready">ready</)
    assert.equal((await get('/buckets', BROWSER)).status, 404)
    build(folder)
    assert.match((await get('/', BROWSER)).text, /assets\/a-1\.js/)
  }))
