/** Which callers are admitted at the console's port, and which are not. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/admin/index.ts'
import type { Accounts } from '../../src/store/identity/accounts.ts'
import { exchangeRaw } from '../http/raw-exchange.ts'
import { type Answer, type Asking, type Key, ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const TWO = '222222222222'
const THE_ROOT = '000000000000'

/** A path of the route with all parameters filled in. */
const pathOf = (path: string): string => path.replaceAll(/\{\w+\}/g, 'x')

test('a server with a full disk is not ready, except for readers', () => {
  let isFull = true
  return withConsole(
    async ({ ask }) => {
      const said = async (path: string): Promise<readonly [number, string]> => {
        const { status, text } = await ask({ path, as: null })
        return [status, text]
      }
      const text = 'disk full: reads and deletes are served, writes are refused\n'
      assert.deepEqual(await said('/health/ready'), [503, text])
      assert.deepEqual(await said('/health/ready?for=reads'), [200, text])
      assert.deepEqual(await said('/health/live'), [200, 'live\n'])
      isFull = false
      assert.deepEqual(await said('/health/ready'), [200, 'ready\n'])
    },
    { isDiskFull: () => isFull },
  )
})

test('A32: every route requires authentication, except health, the status page and the API description', () =>
  withConsole(async ({ ask, clock }) => {
    for (const path of ['/health/live', '/health/ready']) {
      const { status, text } = await ask({ path, as: null })
      assert.deepEqual([status, text], [200, `${path.slice(8)}\n`])
    }
    assert.equal((await ask({ path: '/openapi.json', as: null })).status, 200)
    for (const { method, path, name } of ADMIN_ROUTES.routes) {
      if (name === 'GetDescription') continue
      const answer = await ask({ method, path: pathOf(path), as: null })
      assert.deepEqual([answer.status, answer.json().code], [403, 'AccessDenied'], name)
      clock.move(60_001)
    }
    for (const path of [
      '//',
      '/index.html',
      '/metrics/',
      '/debug',
      '/v1',
      '/v1/',
      '/%2e%2e/etc/passwd',
      '/health',
      '/health/live/',
    ]) {
      assert.equal((await ask({ path, as: null })).status, 404, path)
    }
  }))

test('A81: the status page shows readiness, runs no script and forbids framing', () =>
  withConsole(async ({ ask }) => {
    const { status, text, headers } = await ask({ path: '/', as: null })
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.match(text, /This server is <strong class="ready">ready</)
    const policy = String(headers['content-security-policy'])
    const style = /<style>(.*?)<\/style>/s.exec(text)![1]!
    const hash = createHash('sha256').update(style).digest('base64')
    for (const rule of ["default-src 'none'", `style-src 'sha256-${hash}'`, "frame-ancestors 'none'"]) {
      assert(policy.split('; ').includes(rule), rule)
    }
    assert.doesNotMatch(text, /<script|<form|\son\w+=|https?:/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(await ask({ method: 'HEAD', path: '/', as: null }).then(it => [it.status, it.text]), [200, ''])
    assert.equal((await ask({ method: 'POST', path: '/', as: null })).status, 404)
  }))

test('A33: the right key with a wrong secret and an unknown key are refused alike', () =>
  withConsole(async ({ ask, log }) => {
    const wrong = await ask({ path: '/v1/accounts', as: { ...ROOT, secretKey: 'guess' } })
    const unknown = await ask({ path: '/v1/accounts', as: { accessKey: 'AKNOBODY', secretKey: 'guess' } })
    assert.deepEqual([wrong.status, unknown.status], [403, 403])
    const { requestId: _1, ...first } = wrong.json()
    const { requestId: _2, ...second } = unknown.json()
    assert.deepEqual(first, second)
    assert.equal((await ask({ path: '/v1/accounts' })).status, 200)
    assert(!JSON.stringify(log).includes('secret'))
  }))

test('A18: a signature for another service, region or time never reaches a route', () =>
  withConsole(async ({ ask, clock }) => {
    for (const dialect of ['svc', 's3'] as const) {
      for (const service of ['s3', 'svc', 'iam', 's3tables', 'sts', 'Admin', 'admin2']) {
        const answer = await ask({ path: '/v1/accounts', dialect, service })
        assert.deepEqual([answer.status, answer.json().code], [400, 'AuthorizationHeaderMalformed'], service)
      }
      assert.equal((await ask({ path: '/v1/accounts', dialect, region: 'eu-1' })).status, 400)
      assert.equal((await ask({ path: '/v1/accounts', dialect })).status, 200)
      clock.move(60_001)
    }
    for (const ahead of [901_000, -901_000]) {
      assert.equal((await ask({ path: '/v1/accounts', ahead })).json().code, 'RequestTimeTooSkewed')
    }
  }))

test('a body that does not match its signature has no effect', () =>
  withConsole(async ({ ask, accounts }) => {
    const make = (more: Partial<Asking>): Promise<Answer> =>
      ask({ method: 'POST', path: '/v1/accounts', body: { accountId: ONE }, ...more })
    assert.equal((await make({ hash: 'a'.repeat(64) })).json().code, 'XSvcContentSHA256Mismatch')
    assert.equal((await make({ hash: 'UNSIGNED-PAYLOAD' })).json().code, 'InvalidRequest')
    await assert.rejects(accounts.get(ONE))
    assert.equal((await make({})).status, 201)
  }))

async function keyOf(accounts: Accounts, accountId: string, user?: string): Promise<Key> {
  const key = { accessKey: `AK${accountId}${user ?? ''}`, secretKey: 'secret' }
  await accounts.createKey({ ...key, accountId, user })
  return key
}

test('A25 A26: only administrator accounts may administer, never users, whatever their policies say', () =>
  withConsole(async ({ ask, accounts }) => {
    await accounts.create({ accountId: ONE, admin: true })
    await accounts.create({ accountId: TWO })
    const document = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
    for (const accountId of [ONE, THE_ROOT]) {
      await accounts.createUser(accountId, 'all')
      await accounts.changeUser(accountId, 'all', () => ({ policies: [{ name: 'p', document, fromFile: false }] }))
    }
    const admin = await keyOf(accounts, ONE)
    const others = [
      await keyOf(accounts, TWO),
      await keyOf(accounts, ONE, 'all'),
      await keyOf(accounts, THE_ROOT, 'all'),
    ]
    assert.equal((await ask({ path: '/v1/accounts', as: admin })).status, 200)
    const gains: readonly Asking[] = [
      { method: 'POST', path: `/v1/accounts/${TWO}/keys`, body: {} },
      { method: 'PATCH', path: `/v1/accounts/${TWO}`, body: { admin: true } },
      { method: 'PUT', path: `/v1/accounts/${ONE}/users/all/policies/more`, body: { document } },
      { method: 'POST', path: '/v1/accounts', body: { accountId: '333333333333', admin: true } },
    ]
    for (const as of others) {
      for (const gain of gains) {
        const answer = await ask({ ...gain, as })
        assert.deepEqual([answer.status, answer.json().code], [403, 'AccessDenied'], `${as.accessKey} ${gain.path}`)
      }
    }
    assert.equal((await accounts.get(TWO)).admin, false)
    assert.equal((await accounts.keys({ accountId: TWO })).length, 1)
    // The current flag counts, not the one at creation.
    await accounts.change(ONE, { admin: false })
    assert.equal((await ask({ path: '/v1/accounts', as: admin })).status, 403)
  }))

test('invalid input is refused by parameter name, and nothing crashes', () =>
  withConsole(async ({ ask, log }) => {
    const post = (body: unknown): Asking => ({ method: 'POST', path: '/v1/accounts', body })
    const cases: readonly (readonly [Asking, number, RegExp])[] = [
      [post('{'), 400, /not valid JSON/],
      [post('[]'), 400, /not a JSON object/],
      [{ method: 'POST', path: '/v1/buckets', body: {} }, 400, /name is missing/],
      [post({ accountId: 7 }), 400, /accountId is not a non-empty string/],
      [post({ accountId: ONE, admin: 'maybe' }), 400, /admin is not true or false/],
      [post({ accountId: ONE, extra: 1 }), 400, /extra is not a parameter of this route/],
      [
        post('{"__proto__": {"admin": true}, "accountId": "111111111111"}'),
        400,
        /__proto__ is not a parameter of this route/,
      ],
      [{ path: '/v1/accounts?x=1' }, 400, /x is not a parameter of this route/],
      [{ path: '/v1/accounts/%zz' }, 400, /parse/],
      [{ path: '/v1/accounts/%2e%2e' }, 400, /12 digits/],
      [{ path: '/v1/keys/a%2Fb' }, 400, /accessKey is not/],
      [{ method: 'PUT', path: '/v1/accounts', body: {} }, 405, /not allowed/],
      [post({ accountId: ONE, displayName: 'x'.repeat(2 ** 20) }), 400, /exceeds/],
    ]
    for (const [asking, status, message] of cases) {
      const answer = await ask(asking)
      assert.equal(answer.status, status, String(message))
      assert.match(String(answer.json().message), message)
    }
    assert.deepEqual(
      log.filter(line => 'error' in line),
      [],
    )
  }))

test('responses forbid caching, framing and sniffing', () =>
  withConsole(async ({ ask }) => {
    const { headers } = await ask({ path: '/v1/accounts' })
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.equal(headers['access-control-allow-origin'], undefined)
  }))

test('versions other than HTTP/1.0 and HTTP/1.1 are refused', () =>
  withConsole(async ({ port }) => {
    for (const [version, status] of [
      ['0.9', 400],
      ['2.0', 400],
      ['3.0', 400],
      ['1.0', 200],
      ['1.1', 200],
    ] as const) {
      const answer = await exchangeRaw(port, 'plain', `GET /health/live HTTP/${version}\r\nHost: x\r\n\r\n`)
      assert.equal(answer.status, status, version)
      assert.equal(answer.body.includes('live'), status === 200, version)
    }
  }))
