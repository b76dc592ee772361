/** Pages of other origins against a person who is signed in to the console. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { cookieOf, fromPage, send, signIn as signInDirectly } from '../../admin/console-fixture.ts'
import { holdfast, ROOT } from '../../cli/program.ts'
import { until } from '../../workers/program.ts'
import { assertQuiet } from '../browser.ts'
import { type Neighbour, startNeighbour } from '../neighbour.ts'
import { openConsole } from '../visit.ts'
import { OWNER, READER } from '../world.ts'

/** Names that the attacker owns and lets resolve to the server. */
const visit = openConsole([], { switches: ['--host-resolver-rules=MAP *.test 127.0.0.1'] })
const { open, signIn } = visit
let neighbour: Neighbour
before(async () => {
  neighbour = await startNeighbour()
})
after(() => neighbour?.close())

const consolePort = (): number => Number(new URL(visit.world.server.consoleUrl).port)
const cookieName = (): string => `holdfast-session-${consolePort()}`

const BODIES = {
  '/v1/session': READER,
  '/v1/session/presign': { requests: [{ method: 'GET' }] },
  '/v1/accounts': { displayName: 'forged', email: 'a=b@example.com' },
}

/** Everything that a page can send to another origin by itself. Resolves to what it could see of the responses. */
const forgery = (consoleUrl: string): string => `(async () => {
  const seen = []
  const attempt = (path, options) =>
    fetch(${JSON.stringify(consoleUrl)} + path, { credentials: 'include', ...options }).then(
      response => seen.push(response.type === 'opaque' ? 'unreadable' : path + ' ' + response.status),
      () => seen.push('unreadable'),
    )
  for (const [path, json] of Object.entries(${JSON.stringify(BODIES)})) {
    const body = JSON.stringify(json)
    const frame = document.createElement('iframe')
    frame.name = path
    document.body.append(frame)
    const form = document.body.appendChild(document.createElement('form'))
    const action = ${JSON.stringify(consoleUrl)} + path
    Object.assign(form, { method: 'post', enctype: 'text/plain', target: path, action })
    const field = form.appendChild(document.createElement('input'))
    const [name, ...value] = body.includes('=') ? body.split('=') : [body, '']
    Object.assign(field, { name, value: value.join('=') })
    const answered = new Promise(resolve => frame.addEventListener('load', resolve))
    form.submit()
    await answered
    await attempt(path, { method: 'POST', body, mode: 'no-cors' })
    await attempt(path, { method: 'POST', body })
    await attempt(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    await attempt(path, { method: 'POST', body, headers: { 'x-holdfast-console': 'sign-in' } })
  }
  await attempt('/v1/session', { method: 'DELETE' })
  await attempt('/v1/session', { method: 'GET' })
  await attempt('/v1/session', { method: 'GET', headers: { 'x-holdfast-console': 'sign-in' } })
  await attempt('/v1/session', { method: 'GET', mode: 'no-cors' })
  return seen.filter(line => line !== 'unreadable')
})()`

/** Admin requests that the server has logged, as `ROUTE STATUS`. */
const answered = (): string[] =>
  visit.world.server
    .errors()
    .split('\n')
    .filter(line => line.includes('"admin"'))
    .map(line => JSON.parse(line) as { admin: string; status: number })
    .map(({ admin, status }) => `${admin} ${status}`)

const untilAnswered = (line: string, count: number): Promise<void> =>
  until(`${count} times ${line}`, () => answered().filter(one => one === line).length >= count)

/** The session as the console's own page sees it. */
const sessionIn = (page: Page): Promise<{ accessKey?: string; status: number }> =>
  page.evaluate(`fetch('/v1/session', { headers: { 'x-holdfast-console': localStorage['holdfast-console-token'] } })
    .then(async response => ({ status: response.status, ...(await response.json()) }))`)

async function sessionId(context: BrowserContext): Promise<string> {
  const cookies = await context.cookies(visit.world.server.consoleUrl)
  return cookies.find(({ name, path }) => name === cookieName() && path === '/')?.value ?? ''
}

test('after signing in, the secret key is nowhere in the browser and not in the log', async () => {
  await open('/buckets')
  await signIn(ROOT)
  await visit.page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  const kept = (await visit.page.evaluate(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, history.state, location.href, document.cookie, window.name,
    document.documentElement.outerHTML, [...document.querySelectorAll('input')].map(input => input.value),
    await indexedDB.databases(), await caches.keys(), performance.getEntries().map(entry => entry.name),
  ]))()`)) as string
  assert(kept.includes('holdfast-console-token'), 'the token is what the page keeps')
  assert(!kept.includes(ROOT.secretKey))
  await visit.page.goBack().catch(() => {})
  await open('/buckets')
  assert(!(await visit.page.content()).includes(ROOT.secretKey))
  await untilAnswered('SignIn 201', 1)
  assert(!visit.world.server.errors().includes(ROOT.secretKey))
  const [cookie] = await visit.watched.context.cookies(visit.world.server.consoleUrl)
  assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], [cookieName(), true, 'Strict'])
  assertQuiet(visit.watched)
})

for (const host of ['127.0.0.1', 'attacker.test']) {
  test(`a page of another server on ${host} can neither change nor read anything (CSRF)`, async () => {
    const known = answered().filter(line => line === 'CreateAccount 403').length
    const before = await holdfast(['account', 'list', '--endpoint', visit.world.server.consoleUrl])
    assert.equal(before.code, 0, before.errors)
    const page = await visit.watched.context.newPage()
    await page.goto(`http://${host}:${neighbour.port}/`)
    assert.deepEqual(await page.evaluate(forgery(visit.world.server.consoleUrl)), [])
    // The form, and the two requests that need no preflight.
    await untilAnswered('CreateAccount 403', known + 3)
    const lines = answered()
    assert.equal(lines.filter(line => line === 'SignIn 201').length, 1)
    assert.deepEqual(
      lines.filter(line => /^(CreateAccount|PresignRequests|SignOut) 2/.test(line)),
      [],
    )
    assert.equal((await holdfast(['account', 'list', '--endpoint', visit.world.server.consoleUrl])).out, before.out)
    assert.equal((await sessionIn(visit.page)).accessKey, ROOT.accessKey)
    await page.close()
  })
}

test('no page can frame the console, or hold on to a window with it (clickjacking)', async () => {
  const { consoleUrl } = visit.world.server
  const page = await visit.watched.context.newPage()
  await page.goto(`http://127.0.0.1:${neighbour.port}/`)
  for (const path of ['/', '/buckets', '/v1/session']) {
    await page.evaluate(`new Promise(resolve => {
      const frame = document.createElement('iframe')
      frame.addEventListener('load', resolve)
      frame.src = ${JSON.stringify(consoleUrl + path)}
      document.body.append(frame)
    })`)
  }
  const frames = page.frames().filter(frame => frame !== page.mainFrame())
  assert.deepEqual(
    frames.map(frame => frame.url()),
    ['chrome-error://chromewebdata/', 'chrome-error://chromewebdata/', 'chrome-error://chromewebdata/'],
  )
  const opening = page.waitForEvent('popup')
  await page.evaluate(`void window.open(${JSON.stringify(`${consoleUrl}/buckets`)})`)
  const opened = await opening
  await opened.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  assert.equal(await opened.evaluate('window.opener'), null)
  await opened.close()
  await page.close()
})

test('a server on another port receives the cookie, but cannot use it', async () => {
  const page = await visit.watched.context.newPage()
  await page.goto(`http://127.0.0.1:${neighbour.port}/`)
  const cookie = neighbour.cookie()
  assert.match(cookie, new RegExp(`^${cookieName()}=\\S{20,}$`))
  const port = consolePort()
  const statusWith = async (headers: Record<string, string>, method = 'GET', path = '/v1/session'): Promise<number> =>
    (await send(port, { method, path, headers: { cookie, ...headers } })).status
  assert.equal(await statusWith({}), 403)
  assert.equal(await statusWith(fromPage(port, 'guessed')), 401)
  assert.equal(await statusWith(fromPage(port, cookie.split('=')[1]!)), 401)
  assert.equal(await statusWith(fromPage(port, 'guessed'), 'POST', '/v1/session/presign'), 401)
  // The same cookie is good for the page that has the token.
  assert.equal((await sessionIn(visit.page)).accessKey, ROOT.accessKey)
  await page.close()
})

test('a foreign name that resolves to the server gets neither a page nor the API (DNS rebinding)', async () => {
  const rebound = `http://rebound.test:${consolePort()}`
  // The page of the attacker has no policy that forbids requests; the refusal has one.
  const context = await visit.browser.newContext({ bypassCSP: true })
  const page = await context.newPage()
  for (const path of ['/', '/buckets']) assert.equal((await page.goto(rebound + path))?.status(), 421)
  const statuses = await page.evaluate(`Promise.all([
    fetch('/v1/session', { headers: { 'x-holdfast-console': 'sign-in' } }),
    fetch('/v1/session', {
      method: 'POST',
      headers: { 'x-holdfast-console': 'sign-in', 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify(READER))},
    }),
  ]).then(responses => responses.map(response => response.status))`)
  assert.deepEqual(statuses, [421, 421])
  await context.close()
})

test('a cookie planted before signing in is not adopted, and its session ends (session fixation)', async () => {
  const port = consolePort()
  const planted = await signInDirectly(port, OWNER)
  const attacker = { cookie: cookieOf(planted), token: String(planted.json().token) }
  const asAttacker = (cookie: string): Promise<{ readonly status: number }> =>
    send(port, { path: '/v1/session', headers: { cookie, ...fromPage(port, attacker.token) } })
  assert.equal((await asAttacker(attacker.cookie)).status, 200)
  const context = await visit.browser.newContext()
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${neighbour.port}/`)
  for (const path of ['/', '/v1']) await page.evaluate(`document.cookie = '${attacker.cookie}; path=${path}'`)
  await page.goto(visit.world.server.consoleUrl)
  await page.getByLabel('Access key').fill(READER.accessKey)
  await page.getByRole('textbox', { name: 'Secret key' }).fill(READER.secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  const id = await sessionId(context)
  assert.notEqual(`${cookieName()}=${id}`, attacker.cookie)
  assert.equal((await asAttacker(attacker.cookie)).status, 401)
  assert.equal((await asAttacker(`${cookieName()}=${id}`)).status, 401)
  // The planted cookie is still sent to the API, before the right one, and does no harm.
  assert.equal((await sessionIn(page)).accessKey, READER.accessKey)
  await context.close()
})
