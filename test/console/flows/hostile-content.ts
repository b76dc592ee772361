/** Objects, names and metadata made to attack the person who looks at them in the console. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, until } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany } from '../world.ts'

const visit = openConsole()
const { open, button, signIn } = visit

const RIGHT_TO_LEFT = '\u202e'
const MARKUP = '<img src=x onerror="document.title=1">'
/** As the console shows them. */
const shown = (name: string): string => name.replace(RIGHT_TO_LEFT, '\\u{202e}')

/** Reports into its own page what a script in an object can reach of the console. */
const reachingScript = (consoleUrl: string): string => `
  const results = []
  const read = (path, headers) =>
    fetch('${consoleUrl}' + path, { credentials: 'include', headers }).then(response => response.text())
  const report = () => { document.documentElement.setAttribute('data-results', JSON.stringify(results)) }
  const attempt = async (name, work) => {
    try { results.push(name + ': ' + await work()) } catch { results.push(name + ': refused') }
  }
  ;(async () => {
    await attempt('opener', () => window.opener === null ? 'none' : 'reached')
    await attempt('token', () => localStorage['holdfast-console-token'] ?? 'none')
    await attempt('cookie', () => document.cookie === '' ? 'none' : document.cookie)
    for (const headers of [{}, { 'x-holdfast-console': 'guessed' }])
      await attempt('session', () => read('/v1/session', headers))
    await attempt('page', () => read('/buckets', {}))
    report()
  })()`

const NOTHING_REACHED = [
  'opener: none',
  'token: none',
  'cookie: none',
  'session: refused',
  'session: refused',
  'page: refused',
]

async function put(key: string, type: string, body: string, headers: [string, string][] = []): Promise<void> {
  await visit.world
    .client('hostile')
    .requestOnce({ method: 'PUT', key, headers: [['content-type', type], ...headers], body: Buffer.from(body) })
}

/** Nothing that was meant as text became an element or turned the direction of the text around it. */
async function assertShownAsText(): Promise<void> {
  assert.equal(await visit.page.locator('img[src="x"], b, script:not([src])').count(), 0)
  const text = (await visit.page.evaluate(`document.title + document.body.innerText +
    [...document.querySelectorAll('*')].map(one => (one.title ?? '') + (one.ariaLabel ?? '')).join()`)) as string
  assert(!text.includes(RIGHT_TO_LEFT))
  assert.notEqual(await visit.page.title(), '1')
}

test('every page forbids inline scripts and other hosts, and has none of them', async () => {
  await visit.world.client('hostile').requestOnce({ method: 'PUT' })
  const { consoleUrl } = visit.world.server
  const paths = [
    '/',
    '/index.html',
    '/buckets',
    '/buckets/hostile/object?key=a.html',
    '/ledger',
    '/no/such.page',
    '/%3Cb%3E',
  ]
  for (const path of paths) {
    const response = await fetch(consoleUrl + path, { headers: { accept: 'text/html' } })
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.equal(response.status, 200, path)
    assert.match(policy, /(^|; )default-src 'none'(;|$)/)
    assert.match(policy, /(^|; )script-src 'self'(;|$)/)
    assert.match(policy, /(^|; )frame-ancestors 'none'(;|$)/)
    assert.doesNotMatch(policy, /unsafe-|\*/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    const html = await response.text()
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)[^>]*>|\son\w+=|<style|javascript:|(src|href)="https?:/i)
  }
  for (const path of ['/v1/session', '/health/live', '/no/such.js', '/openapi.json']) {
    const { headers } = await fetch(consoleUrl + path)
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/, path)
  }
  await open('/buckets')
  await signIn(ROOT)
  await visit.page.getByRole('link', { name: 'hostile' }).waitFor()
  await visit.page.evaluate(`{
    const script = document.createElement('script')
    script.textContent = 'document.title = "ran"'
    document.body.append(script)
  }`)
  assert.notEqual(await visit.page.title(), 'ran')
  assertQuiet(visit.watched, /inline script violates/)
})

test('A79: HTML and SVG objects reach nothing of the console, in the preview or in a separate tab', async () => {
  const { consoleUrl, url } = visit.world.server
  const script = reachingScript(consoleUrl)
  await put('page.html', 'text/html', `<!doctype html><h1>page</h1><script>${script}</script>`)
  const opening = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
  await put('drawing.svg', 'image/svg+xml', `${opening}<script><![CDATA[${script}]]></script></svg>`)
  await open('/buckets/hostile/object?key=page.html&tab=preview')
  const frame = visit.page.locator('iframe')
  await visit.page.frameLocator('iframe').getByRole('heading', { name: 'page' }).waitFor()
  assert.equal(await visit.page.frameLocator('iframe').locator('html').getAttribute('data-results'), null)
  assert.equal(await frame.getAttribute('sandbox'), '')
  const links = [(await frame.getAttribute('src'))!]
  assertQuiet(visit.watched, /Blocked script execution/)
  await open('/buckets/hostile/object?key=drawing.svg&tab=preview')
  links.push((await visit.page.getByRole('img', { name: /Preview/ }).getAttribute('src'))!)
  for (const link of links) {
    const coming = visit.watched.context.waitForEvent('page')
    await visit.page.evaluate(`{
      const link = Object.assign(document.createElement('a'), { href: ${JSON.stringify(link)}, target: '_blank' })
      link.click()
    }`)
    const tab = await coming
    await until(tab, `document.documentElement.hasAttribute('data-results')`)
    assert.equal(await tab.evaluate('location.origin'), url)
    const results = await tab.evaluate(`document.documentElement.getAttribute('data-results')`)
    assert.deepEqual(JSON.parse(String(results)), NOTHING_REACHED)
    await tab.close()
  }
  assertQuiet(visit.watched)
})

test('a share link of a page is a download, on the address of the object API', async () => {
  await open('/buckets/hostile/object?key=page.html')
  await button('Share').click()
  await button('Make the link').click()
  const link = await visit.page.getByRole('textbox', { name: 'Link' }).inputValue()
  assert.equal(new URL(link).origin, visit.world.server.url)
  const tab = await visit.watched.context.newPage()
  const coming = tab.waitForEvent('download')
  await tab.goto(link).catch(() => {})
  assert.equal((await coming).suggestedFilename(), 'page.html')
  await tab.close()
  assertQuiet(visit.watched)
})

test('markup and bidirectional controls in keys and metadata are shown as text', async () => {
  const name = `${MARKUP}${RIGHT_TO_LEFT}txt.exe`
  const note = `${MARKUP}${RIGHT_TO_LEFT}note`
  await put(`folder ${MARKUP}/${name}`, `text/plain; x="${MARKUP}"`, `${MARKUP}`, [
    ['x-amz-meta-note', Buffer.from(note).toString('latin1')],
  ])
  await open('/buckets/hostile')
  await visit.page.getByRole('link', { name: `folder ${MARKUP}/` }).click()
  await visit.page.getByRole('link', { name: shown(name) }).waitFor()
  await assertShownAsText()
  await visit.page.getByRole('checkbox', { name: `Select ${shown(name)}` }).check()
  await button('Delete').click()
  await visit.page.getByRole('dialog').waitFor()
  await assertShownAsText()
  await visit.page.keyboard.press('Escape')
  await visit.page.getByRole('link', { name: shown(name) }).click()
  await visit.page.getByRole('heading', { name: shown(name), level: 1 }).waitFor()
  await visit.page.getByText(shown(note)).first().waitFor()
  await assertShownAsText()
  await visit.page.getByRole('tab', { name: 'Preview' }).click()
  await visit.page.getByRole('region').filter({ hasText: MARKUP }).waitFor()
  await assertShownAsText()
  await visit.page.getByRole('tab', { name: 'Versions' }).click()
  await visit.page.getByRole('list', { name: 'Versions, newest first' }).waitFor()
  await assertShownAsText()
  assertQuiet(visit.watched)
})

test('bucket names and searches of an address are shown as text', async () => {
  await putMany(visit.world.client('hostile'), ['plain.txt'])
  for (const name of [MARKUP, `bucket${RIGHT_TO_LEFT}`]) {
    await open(`/buckets/${encodeURIComponent(name)}`)
    await visit.page.getByRole('alert').or(visit.page.getByText('There is no such page')).first().waitFor()
    await assertShownAsText()
  }
  await open('/buckets/hostile')
  await visit.page.getByRole('link', { name: 'plain.txt' }).waitFor()
  assertQuiet(visit.watched, /40[0-9]/)
  await open(`/buckets/hostile?search=${encodeURIComponent(`${MARKUP}${RIGHT_TO_LEFT}`)}`)
  await visit.page
    .getByRole('status')
    .filter({ hasText: shown(`${MARKUP}${RIGHT_TO_LEFT}`) })
    .waitFor()
  await assertShownAsText()
  assertQuiet(visit.watched)
})

test('names of uploaded files are shown as text, and become keys as they are', async () => {
  const name = `<b>bold<b> ${RIGHT_TO_LEFT}gpj.exe`
  await open('/buckets/hostile?prefix=uploads%2F')
  const chooser = visit.page.waitForEvent('filechooser')
  await button('Upload files').click()
  await (await chooser).setFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('harmless') })
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  await visit.page.getByRole('link', { name: shown(name) }).waitFor()
  await assertShownAsText()
  const { body } = await visit.world.client('hostile').requestOnce({ method: 'GET', key: `uploads/${name}` })
  assert.equal(body.toString(), 'harmless')
  assertQuiet(visit.watched)
})
