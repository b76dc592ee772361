/** Sessions of the console: their beginning, their end, and attacks on them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sessions } from '../../src/admin/console/sessions.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { until } from '../http/wire.ts'
import { FIRST } from '../workers/certificates.ts'
import { cookieOf, fromPage, originOf, send, signedInPage, signIn } from './console-fixture.ts'
import { type Answer, type Consoled, type Key, ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const IDLE_MS = 30 * 60_000
const LIFETIME_MS = 12 * 3_600_000

const codeOf = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]

/** A key of an account that is no administrator, or of one of its users. */
async function plainKey({ accounts }: Consoled, user?: string): Promise<Key> {
  await accounts.create({ accountId: ONE })
  if (user !== undefined) await accounts.createUser(ONE, user)
  const key = { accessKey: 'AKPLAIN', secretKey: 'the-secret-of-the-plain' }
  await accounts.createKey({ accountId: ONE, user, ...key })
  return key
}

test('a session begins with a key and its secret and ends when signed out', () =>
  withConsole(async ({ port, log, clock }) => {
    const answer = await signIn(port)
    const { token, ...session } = answer.json()
    assert.equal(answer.status, 201)
    assert.match(String(token), /^[\w-]{43}$/)
    const now = clock.now()
    assert.deepEqual(session, {
      accessKey: ROOT.accessKey,
      account: { accountId: '000000000000', displayName: 'root' },
      administrator: true,
      startedAt: new Date(now).toISOString(),
      idleEndsAt: new Date(now + IDLE_MS).toISOString(),
      endsAt: new Date(now + LIFETIME_MS).toISOString(),
      objectUrl: 'http://127.0.0.1:9000',
      websiteHosts: [],
      region: 'us-east-1',
      version: '0.0.0',
    })
    const headers = { cookie: cookieOf(answer), ...fromPage(port, String(token)) }
    assert.deepEqual((await send(port, { path: '/v1/session', headers })).json(), session)
    assert.equal((await send(port, { path: '/v1/accounts', headers })).status, 200)
    const out = await send(port, { method: 'DELETE', path: '/v1/session', headers })
    assert.deepEqual(
      [out.status, /=; Max-Age=0; Path=\/; HttpOnly/.test(String(out.headers['set-cookie']))],
      [204, true],
    )
    assert.deepEqual(codeOf(await send(port, { path: '/v1/session', headers })), [401, 'Unauthenticated'])
    assert.equal((await send(port, { method: 'DELETE', path: '/v1/session', headers })).status, 204)
    assert(!JSON.stringify(log).includes(ROOT.secretKey))
    assert(!JSON.stringify(log).includes(String(token)))
  }))

test('the cookie cannot be read by scripts, is not sent across sites, and names its port', () =>
  withConsole(async ({ port }) => {
    const [cookie] = (await signIn(port)).headers['set-cookie'] as string[]
    const [pair, ...attributes] = cookie!.split('; ')
    assert.match(pair!, new RegExp(`^holdfast-session-${port}=[\\w-]{43}$`))
    assert.deepEqual(attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict'])
  }))

test('over TLS the cookie is secure, and the names of the certificate are names of the console', () =>
  withConsole(
    async ({ port }) => {
      const secure = { origin: `https://localhost:${port}`, host: `localhost:${port}` }
      const answer = await signIn(port, ROOT, secure, 'https')
      assert.equal(answer.json().objectUrl, 'https://localhost:9000')
      assert.match(
        String(answer.headers['set-cookie']),
        new RegExp(`^__Host-holdfast-session-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Secure$`),
      )
      const foreign = { origin: `https://evil.example:${port}`, host: `evil.example:${port}` }
      assert.equal((await signIn(port, ROOT, foreign, 'https')).status, 421)
    },
    { certificate: FIRST },
  ))

test('behind a proxy with TLS the cookie is secure and belongs to that host alone', () => {
  const url = 'https://console.example.com'
  const settings = { host: '127.0.0.1', urls: [url], objectUrl: 'https://objects.example.com', objectPort: 9000 }
  return withConsole(
    async ({ port }) => {
      const answer = await signIn(port, ROOT, { host: 'console.example.com', origin: url })
      assert.equal(answer.json().objectUrl, 'https://objects.example.com')
      const [cookie] = answer.headers['set-cookie'] as string[]
      assert.match(cookie!, /^__Host-holdfast-session-443=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
      const plain = await signIn(port, ROOT, { host: 'console.example.com', origin: 'http://console.example.com' })
      assert.deepEqual(codeOf(plain), [403, 'AccessDenied'])
    },
    { console: settings },
  )
})

test('a session ends when it is idle, and at the latest after its lifetime', () =>
  withConsole(async consoled => {
    const { clock } = consoled
    const page = await signedInPage(consoled)
    const status = async (headers = {}): Promise<number> => (await page.ask({ path: '/v1/session', headers })).status
    clock.move(IDLE_MS - 1)
    assert.equal(await status(), 200)
    clock.move(IDLE_MS - 1)
    assert.equal(await status({ 'x-holdfast-idle': '1' }), 200)
    clock.move(1)
    assert.equal(await status(), 401, 'the request of a timer did not postpone the end')
    const other = await signedInPage(consoled)
    for (let passed = 0; passed < LIFETIME_MS; passed += IDLE_MS / 2) {
      assert.equal((await other.ask({ path: '/v1/session' })).status, 200)
      clock.move(IDLE_MS / 2)
    }
    assert.equal((await other.ask({ path: '/v1/session' })).status, 401)
  }))

test('a session ends with its key: disabled, deleted, or created again with another secret', () =>
  withConsole(async consoled => {
    const { accounts } = consoled
    const key = await plainKey(consoled)
    const page = await signedInPage(consoled, key)
    const status = async (): Promise<number> => (await page.ask({ path: '/v1/session' })).status
    assert.equal(await status(), 200)
    await accounts.removeKey(key.accessKey)
    const replaced = { ...key, secretKey: 'another-secret-of-it' }
    await accounts.createKey({ accountId: ONE, user: undefined, ...replaced })
    assert.equal(await status(), 401)
    const again = await signedInPage(consoled, replaced)
    await accounts.changeKey(key.accessKey, { disabled: true })
    assert.equal((await again.ask({ path: '/v1/session' })).status, 401)
  }))

test('a caller who is not an administrator can sign in but not use administrator routes', () =>
  withConsole(async consoled => {
    const page = await signedInPage(consoled, await plainKey(consoled, 'ann'))
    const session = (await page.ask({ path: '/v1/session' })).json()
    assert.deepEqual([session.administrator, session.user], [false, 'ann'])
    const answer = await page.ask({ path: '/v1/accounts' })
    assert.deepEqual(codeOf(answer), [403, 'AccessDenied'])
    assert.match(String(answer.json().message), /administrator/)
    const asked = { method: 'POST', path: '/v1/accounts', body: { accountId: '222222222222' } }
    assert.equal((await page.ask(asked)).status, 403)
  }))

test('A82: session fixation: an id that the browser sent is never the id of the new session', () =>
  withConsole(async consoled => {
    const { port } = consoled
    const planted = `holdfast-session-${port}=${'A'.repeat(43)}`
    const answer = await signIn(port, ROOT, { cookie: planted })
    assert.notEqual(cookieOf(answer), planted)
    const token = String(answer.json().token)
    const known = await send(port, { path: '/v1/session', headers: { cookie: planted, ...fromPage(port, token) } })
    assert.equal(known.status, 401)
    // The session that was there before ends, and its cookie is worth nothing.
    const first = await signedInPage(consoled)
    await signIn(port, ROOT, { cookie: first.cookie })
    assert.equal((await first.ask({ path: '/v1/session' })).status, 401)
  }))

test("a cookie planted by another port's page does not replace the session of the page", () =>
  withConsole(async consoled => {
    const { port } = consoled
    const attacker = await signedInPage(consoled, await plainKey(consoled))
    const victim = await signedInPage(consoled)
    for (const cookie of [`${attacker.cookie}; ${victim.cookie}`, `${victim.cookie}; ${attacker.cookie}`]) {
      const headers = { cookie, ...fromPage(port, victim.token) }
      assert.equal((await send(port, { path: '/v1/session', headers })).json().accessKey, ROOT.accessKey)
    }
    const headers = { cookie: attacker.cookie, ...fromPage(port, victim.token) }
    assert.equal((await send(port, { path: '/v1/session', headers })).status, 401)
  }))

test('A82: cookie theft: the cookie alone, as a server on another port receives it, is refused', () =>
  withConsole(async consoled => {
    const { port } = consoled
    const { cookie, token } = await signedInPage(consoled)
    for (const path of ['/v1/session', '/v1/accounts', '/metrics']) {
      assert.equal((await send(port, { path, headers: { cookie } })).status, 403, path)
    }
    const guessed = await send(port, { path: '/v1/accounts', headers: { cookie, ...fromPage(port, 'guess') } })
    assert.deepEqual(codeOf(guessed), [401, 'Unauthenticated'])
    const alone = await send(port, { path: '/v1/accounts', headers: fromPage(port, token) })
    assert.equal(alone.status, 401, 'nor does the token alone')
  }))

test('CSRF: a request that another page caused changes nothing, although the cookie comes with it', () =>
  withConsole(async consoled => {
    const { port, accounts } = consoled
    const page = await signedInPage(consoled)
    const { cookie, token } = page
    const create = { method: 'POST', path: '/v1/accounts', body: { accountId: ONE } }
    const own: Record<string, string> = { cookie, ...fromPage(port, token) }
    const attacks: Record<string, string>[] = [
      { cookie, origin: 'http://evil.example' },
      { cookie, origin: originOf(port) },
      { ...own, origin: 'http://evil.example' },
      { ...own, origin: 'http://127.0.0.1:9000' },
      { ...own, origin: 'null' },
      { ...own, 'sec-fetch-site': 'same-site' },
      { ...own, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of attacks) {
      assert.deepEqual(codeOf(await send(port, { ...create, headers })), [403, 'AccessDenied'], JSON.stringify(headers))
    }
    const { origin: _, ...withoutOrigin } = own
    assert.equal((await send(port, { ...create, headers: withoutOrigin })).status, 403)
    assert.equal(
      (await accounts.list()).some(account => account.accountId === ONE),
      false,
    )
    assert.equal((await page.ask(create)).status, 201)
    // Signing in is protected as well: otherwise a page could sign its visitor in as somebody else.
    assert.equal((await signIn(port, ROOT, { origin: 'http://evil.example' })).status, 403)
    assert.equal((await signIn(port, ROOT, { 'sec-fetch-site': 'cross-site' })).status, 403)
    // A form can send everything but the header.
    const { 'x-holdfast-console': _token, ...ofForm } = fromPage(port, '')
    const signInByForm = { method: 'POST', path: '/v1/session', body: ROOT, headers: ofForm }
    assert.equal((await send(port, signInByForm)).status, 403)
  }))

test('a preflight of another origin is granted nothing', () =>
  withConsole(async ({ port }) => {
    const headers = {
      origin: 'http://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-holdfast-console',
    }
    const answer = await send(port, { method: 'OPTIONS', path: '/v1/session', headers })
    assert.equal(answer.status, 405)
    assert.deepEqual(
      Object.keys(answer.headers).filter(name => name.startsWith('access-control')),
      [],
    )
  }))

test('DNS rebinding: a foreign host name gets no session and no use of one', () =>
  withConsole(async consoled => {
    const { port } = consoled
    const page = await signedInPage(consoled)
    for (const name of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example']) {
      const [host, origin] = [`${name}:${port}`, `http://${name}:${port}`]
      assert.deepEqual(codeOf(await signIn(port, ROOT, { host, origin })), [421, 'MisdirectedRequest'], name)
      assert.equal((await page.ask({ path: '/v1/session', headers: { host, origin } })).status, 421)
    }
    for (const name of ['localhost', '[::1]', '10.1.2.3']) {
      const answer = await signIn(port, ROOT, { host: `${name}:${port}`, origin: `http://${name}:${port}` })
      assert.deepEqual([answer.status, answer.json().objectUrl], [201, `http://${name}:9000`])
    }
  }))

test('every answer forbids framing, sniffing, referrers and use by other origins', () =>
  withConsole(async consoled => {
    const page = await signedInPage(consoled)
    for (const path of ['/', '/v1/session', '/v1/none', '/openapi.json', '/health/live']) {
      const { headers } = await page.ask({ path })
      assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/, path)
      assert.deepEqual(
        [headers['x-frame-options'], headers['x-content-type-options'], headers['referrer-policy']],
        ['DENY', 'nosniff', 'no-referrer'],
      )
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['cache-control'], 'no-store')
    }
  }))

test('failed sign-ins are delayed, unknown keys are not distinguishable, and the right secret never waits', () =>
  withConsole(async ({ port, clock }) => {
    const wrong = await signIn(port, { ...ROOT, secretKey: 'guess' })
    const unknown = await signIn(port, { accessKey: 'AKNOBODY', secretKey: 'guess' })
    const { requestId: _1, ...first } = wrong.json()
    const { requestId: _2, ...second } = unknown.json()
    assert.deepEqual([wrong.status, first], [403, second])
    for (let i = 1; i < 5; i++) assert.equal((await signIn(port, { ...ROOT, secretKey: `guess ${i}` })).status, 403)
    let answer: Answer | undefined
    const slow = signIn(port, { ...ROOT, secretKey: 'guess' }).then(one => {
      answer = one
    })
    assert.equal((await signIn(port)).status, 201)
    assert.equal(answer, undefined)
    assert(
      await until(() => {
        clock.move(250)
        return answer !== undefined
      }),
    )
    await slow
    assert.equal(answer!.status, 403)
    // Thirty failures of one address within a minute.
    for (let i = 0; i < 30; i++) await signIn(port, { accessKey: `AKNOBODY${i}`, secretKey: 'guess' })
    const refused = await signIn(port, { accessKey: 'AKELSE', secretKey: 'guess' })
    assert.deepEqual([refused.status, Number(refused.headers['retry-after']) > 0], [429, true])
    assert.equal((await signIn(port)).status, 201)
  }))

test('an overlong access key is refused and not tracked', () =>
  withConsole(async ({ port, log }) => {
    const long = { accessKey: 'A'.repeat(500_000), secretKey: 'guess' }
    const statuses: number[] = []
    for (let i = 0; i < 10; i++) void signIn(port, long).then(({ status }) => statuses.push(status))
    assert(await until(() => statuses.length === 10), 'none of them waits')
    assert(statuses.every(status => status === 403))
    assert.deepEqual(
      log.filter(({ error }) => error !== undefined),
      [],
    )
  }))

test('sessions are bounded: the oldest is evicted, and expired ones are removed', () =>
  withConsole(async ({ clock }) => {
    const sessions = new Sessions(clock, systemRandom)
    const account = { accountId: ONE, canonicalId: '', displayName: '', email: undefined }
    const credential = { accessKey: 'AK', secretKey: 'secret', account, user: undefined }
    const first = sessions.begin(credential)
    for (let i = 0; i < 10_000; i++) sessions.begin(credential)
    assert.deepEqual([sessions.size, sessions.find(first.id, first.token)], [10_000, undefined])
    clock.move(IDLE_MS)
    sessions.begin(credential)
    assert.equal(sessions.size, 1)
  }))
