/** Signing in with OpenID Connect. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { type ExpectedToken, InvalidIdToken, verifyIdToken } from '../../src/admin/console/oidc/id-token.ts'
import { OidcSignIn } from '../../src/admin/console/oidc/oidc-sign-in.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { BadConfig, readConfig } from '../../src/server/config.ts'
import { cookieOf, fromPage, originOf, send } from './console-fixture.ts'
import { type Answer, type Consoled, withConsole } from './fixture.ts'
import { CLIENT, startIssuer, type TestIssuer } from './oidc-issuer.ts'

const ACCOUNT = '222222222222'
const CLAIM = 'holdfast_user'

interface Scene extends Consoled {
  readonly issuer: TestIssuer
}

async function withIssuer(use: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock(Date.now())
  const issuer = await startIssuer(() => clock.now())
  issuer.claims = { [CLAIM]: `${ACCOUNT}/ann` }
  const settings = { issuer: issuer.url, clientId: CLIENT.id, clientSecret: CLIENT.secret, claim: CLAIM, name: 'Tests' }
  const oidc = new OidcSignIn(settings, clock, systemRandom)
  try {
    await withConsole(
      async consoled => {
        const { accounts } = consoled
        await accounts.create({ accountId: ACCOUNT, displayName: 'company' })
        await accounts.createUser(ACCOUNT, 'ann')
        await accounts.createKey({ accountId: ACCOUNT, user: 'ann', accessKey: 'AKANN', secretKey: 'secret-of-ann' })
        await use({ ...consoled, issuer })
      },
      { oidc },
      clock,
    )
  } finally {
    await issuer.close()
  }
}

const post = (port: number, path: string, body: unknown, cookie = ''): Promise<Answer> =>
  send(port, { method: 'POST', path, body, headers: { ...fromPage(port, 'sign-in'), cookie } })

interface Returned {
  readonly cookie: string
  readonly code: string
  readonly state: string
}

/** The browser's way to the issuer and back. */
async function visitIssuer({ port }: Pick<Consoled, 'port'>): Promise<Returned> {
  const begun = await post(port, '/v1/session/oidc', {})
  assert.equal(begun.status, 200, begun.text)
  const response = await fetch(String(begun.json().url), { redirect: 'manual' })
  const back = new URL(response.headers.get('location')!)
  assert.equal(back.origin + back.pathname, `${originOf(port)}/sign-in/return`)
  const { code, state } = Object.fromEntries(back.searchParams) as { code: string; state: string }
  return { cookie: cookieOf(begun), code, state }
}

const finish = (port: number, { cookie, code, state }: Returned): Promise<Answer> =>
  post(port, '/v1/session/oidc/finish', { code, state }, cookie)

test('a person acts as the user whom the claim names, until the key is disabled', () =>
  withIssuer(async ({ port, accounts, ...scene }) => {
    const options = await send(port, { path: '/v1/session/options', headers: fromPage(port, 'sign-in') })
    assert.deepEqual(options.json(), { oidc: { name: 'Tests' } })
    const answer = await finish(port, await visitIssuer({ port }))
    assert.equal(answer.status, 201, answer.text)
    const { token, accessKey, user, administrator } = answer.json()
    assert.deepEqual([accessKey, user, administrator], ['AKANN', 'ann', false])
    const headers = { cookie: cookieOf(answer), ...fromPage(port, String(token)) }
    assert.equal((await send(port, { path: '/v1/session', headers })).status, 200)
    assert(!JSON.stringify(scene.log).includes('code-'))
    await accounts.changeKey('AKANN', { disabled: true })
    assert.equal((await send(port, { path: '/v1/session', headers })).status, 401)
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 403)
  }))

test('a sign-in is finished once, in time, in the browser that began it', () =>
  withIssuer(async ({ port, clock }) => {
    const refusal = async (change: (returned: Returned) => Partial<Returned>): Promise<void> => {
      const returned = await visitIssuer({ port })
      const answer = await finish(port, { ...returned, ...change(returned) })
      assert.equal(answer.status, 403, answer.text)
      // An attempt uses it up.
      assert.equal((await finish(port, returned)).status, 403)
    }
    await refusal(() => ({ state: 'guessed' }))
    await refusal(() => ({ code: 'guessed' }))
    const other = await visitIssuer({ port })
    assert.equal((await finish(port, { ...(await visitIssuer({ port })), cookie: '' })).status, 403)
    assert.equal((await finish(port, { ...(await visitIssuer({ port })), cookie: other.cookie })).status, 403)
    const used = await visitIssuer({ port })
    assert.equal((await finish(port, used)).status, 201)
    assert.equal((await finish(port, used)).status, 403)
    const again = await visitIssuer({ port })
    assert.equal((await finish(port, { ...again, code: used.code })).status, 403)
    const late = await visitIssuer({ port })
    clock.move(601_000)
    assert.equal((await finish(port, late)).status, 403)
  }))

test('A23: tokens that are unsigned or not issued for this sign-in are refused', () =>
  withIssuer(async ({ port, issuer, clock, accounts }) => {
    const good = issuer.claims
    const seconds = Math.floor(clock.now() / 1000)
    const wrong: Readonly<Record<string, unknown>>[] = [
      { nonce: 'another' },
      { aud: 'another' },
      { aud: [CLIENT.id, 'another'] },
      { azp: 'another' },
      { iss: 'https://issuer.example' },
      { exp: seconds - 120 },
      { exp: undefined },
      { iat: seconds + 120 },
      { nbf: seconds + 120 },
      { sub: '' },
      { [CLAIM]: undefined },
      { [CLAIM]: [`${ACCOUNT}/ann`] },
      { [CLAIM]: `${ACCOUNT}/nobody` },
      { [CLAIM]: ACCOUNT },
      { [CLAIM]: 'ann' },
      { [CLAIM]: `${ACCOUNT}/../ann` },
    ]
    for (const claims of wrong) {
      issuer.claims = { ...good, ...claims }
      assert.equal((await finish(port, await visitIssuer({ port }))).status, 403, JSON.stringify(claims))
    }
    issuer.claims = good
    for (const header of [{ alg: 'none' }, { alg: 'HS256' }, { alg: 'ES256' }, { crit: ['x'] }]) {
      issuer.header = header
      assert.equal((await finish(port, await visitIssuer({ port }))).status, 403, JSON.stringify(header))
    }
    issuer.header = {}
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 201)
    await accounts.removeUser(ACCOUNT, 'ann')
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 403)
  }))

test('sign-ins that an address begins and does not finish are limited, and push out no other', () =>
  withIssuer(async ({ port, clock }) => {
    for (let i = 0; i < 40; i++) assert.equal((await finish(port, await visitIssuer({ port }))).status, 201)
    const pending = await visitIssuer({ port })
    for (let i = 1; i < 30; i++) assert.equal((await post(port, '/v1/session/oidc', {})).status, 200)
    const refused = await post(port, '/v1/session/oidc', {})
    assert.equal(refused.status, 429)
    assert(Number(refused.headers['retry-after']) > 0)
    assert.equal((await finish(port, pending)).status, 201)
    assert.equal((await post(port, '/v1/session/oidc', {})).status, 200, 'a finished one makes room')
    assert.equal((await post(port, '/v1/session/oidc', {})).status, 429)
    clock.move(61_000)
    assert.equal((await post(port, '/v1/session/oidc', {})).status, 200)
  }))

test('log and session name the person who acts as the user', () =>
  withIssuer(async ({ port, issuer, ...scene }) => {
    const person = { issuer: issuer.url, subject: 'person' }
    const answer = await finish(port, await visitIssuer({ port }))
    assert.deepEqual(answer.json().person, person)
    const headers = { cookie: cookieOf(answer), ...fromPage(port, String(answer.json().token)) }
    const shown = await send(port, { path: '/v1/session', headers })
    assert.deepEqual(shown.json().person, person)
    issuer.claims = { [CLAIM]: `${ACCOUNT}/nobody` }
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 403)
    const logged = scene.log.map(({ admin, status, person: who }) => [admin, status, who])
    assert.deepEqual(logged, [
      ['BeginOidcSignIn', 200, undefined],
      ['FinishOidcSignIn', 201, person],
      ['GetSession', 200, person],
      ['BeginOidcSignIn', 200, undefined],
      ['FinishOidcSignIn', 403, person],
    ])
  }))

test('a new key of the issuer is fetched when a token names it, with a rate limit', () =>
  withIssuer(async ({ port, issuer, clock }) => {
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 201)
    issuer.rotate()
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 403)
    assert.equal(issuer.keyReads(), 1)
    clock.move(31_000)
    assert.equal((await finish(port, await visitIssuer({ port }))).status, 201)
    assert.equal(issuer.keyReads(), 2)
  }))

test('pages of other origins cannot begin or finish a sign-in', () =>
  withIssuer(async ({ port }) => {
    const returned = await visitIssuer({ port })
    const { cookie, code, state } = returned
    const headers = {
      cookie,
      ...fromPage(port, 'sign-in'),
      origin: 'http://127.0.0.1:1',
      'sec-fetch-site': 'same-site',
    }
    const path = '/v1/session/oidc'
    assert.equal((await send(port, { method: 'POST', path, headers, body: {} })).status, 403)
    const body = { code, state }
    assert.equal((await send(port, { method: 'POST', path: `${path}/finish`, headers, body })).status, 403)
    assert.equal((await finish(port, returned)).status, 201)
  }))

test('without an issuer nobody can sign in that way', () =>
  withConsole(async ({ port }) => {
    const options = await send(port, { path: '/v1/session/options', headers: fromPage(port, 'sign-in') })
    assert.deepEqual(options.json(), {})
    assert.equal((await post(port, '/v1/session/oidc', {})).status, 400)
  }))

test('an unreachable issuer is distinguished from a refusal', async () => {
  const clock = new ManualClock(Date.now())
  const gone = await startIssuer(() => clock.now())
  await gone.close()
  const settings = { issuer: gone.url, clientId: CLIENT.id, clientSecret: undefined, claim: CLAIM, name: 'Gone' }
  await withConsole(
    async ({ port }) => assert.equal((await post(port, '/v1/session/oidc', {})).status, 503),
    { oidc: new OidcSignIn(settings, clock, systemRandom) },
    clock,
  )
})

test('ES256 and EdDSA are verified as RS256 is', () => {
  const expected: ExpectedToken = { issuer: 'https://i', clientId: 'c', nonce: 'n', now: 1_000_000 }
  const part = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url')
  const claims = { iss: 'https://i', aud: 'c', nonce: 'n', sub: 's', exp: 1300, iat: 1000 }
  for (const [alg, pair] of [
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ] as const) {
    const signed = `${part({ alg })}.${part(claims)}`
    const bytes = Buffer.from(signed)
    const signature =
      alg === 'ES256'
        ? sign('sha256', bytes, { key: pair.privateKey, dsaEncoding: 'ieee-p1363' })
        : sign(null, bytes, pair.privateKey)
    const keys = [pair.publicKey.export({ format: 'jwk' })]
    assert.equal(verifyIdToken(`${signed}.${signature.toString('base64url')}`, keys, expected).sub, 's')
    signature[0]! ^= 1
    const forged = `${signed}.${signature.toString('base64url')}`
    assert.throws(() => verifyIdToken(forged, keys, expected), InvalidIdToken)
  }
})

test('a token whose published key is malformed is refused', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'ES256', kid: 'k' })}.${part({})}.AAAA`
  const keys = [{ kty: 'EC', crv: 'P-256', kid: 'k', x: 'AA', y: 'AA' }]
  const expected: ExpectedToken = { issuer: 'https://issuer.test', clientId: 'c', nonce: 'n', now: 0 }
  assert.throws(() => verifyIdToken(token, keys, expected), InvalidIdToken)
})

test('OpenID Connect flags must be set together, and an issuer needs TLS except on loopback', () => {
  const read = (...flags: string[]) => readConfig(flags, {})?.oidc
  assert.equal(read(), undefined)
  const oidc = read('--oidc-issuer', 'https://login.example/realm', '--oidc-client-id', 'console')
  assert.deepEqual(
    [oidc?.issuer, oidc?.claim, oidc?.name],
    ['https://login.example/realm', 'holdfast_user', 'login.example'],
  )
  assert.equal(read('--oidc-issuer', 'http://127.0.0.1:1', '--oidc-client-id', 'console')?.name, '127.0.0.1')
  assert.throws(() => read('--oidc-issuer', 'http://login.example', '--oidc-client-id', 'console'), BadConfig)
  assert.throws(() => read('--oidc-issuer', 'https://login.example?x', '--oidc-client-id', 'console'), BadConfig)
  assert.throws(() => read('--oidc-issuer', 'https://login.example'), BadConfig)
  assert.throws(() => read('--oidc-claim', 'user'), BadConfig)
})
