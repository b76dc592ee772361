/** The routes of the admin API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/admin/index.ts'
import { RouteTable, route } from '../../src/admin/route.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { type Answer, ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 'svc:GetObject', Resource: '*' }] }

test('an account is created, changed and deleted', () =>
  withConsole(async ({ ask, parts, log }) => {
    const made = await ask({ method: 'POST', path: '/v1/accounts', body: { accountId: ONE, displayName: 'one' } })
    assert.deepEqual([made.status, made.json().displayName, made.json().admin], [201, 'one', false])
    assert.equal((await ask({ method: 'POST', path: '/v1/accounts', body: { accountId: ONE } })).status, 409)
    const at = `/v1/accounts/${ONE}`
    const changed = (await ask({ method: 'PATCH', path: at, body: { email: 'one@example.com', admin: true } })).json()
    assert.deepEqual([changed.email, changed.admin, changed.displayName], ['one@example.com', true, 'one'])
    const listed = (await ask({ path: '/v1/accounts' })).json().accounts as { accountId: string }[]
    assert.deepEqual(
      listed.map(({ accountId }) => accountId),
      ['000000000000', ONE, '925556999980'],
    )
    const user = await ask({ method: 'POST', path: `${at}/users`, body: { name: 'u' } })
    assert.equal(user.status, 201)
    const read = `${at}/users/u/policies/read`
    const attached = await ask({ method: 'PUT', path: read, body: { document: POLICY } })
    assert.deepEqual(attached.json().policies, [{ name: 'read', fromFile: false, document: POLICY }])
    const bad = await ask({ method: 'PUT', path: read, body: { document: { Statement: 1 } } })
    assert.deepEqual([bad.status, bad.json().code], [400, 'MalformedPolicy'])
    const key = (await ask({ method: 'POST', path: `${at}/keys`, body: { user: 'u' } })).json() as Record<
      string,
      string
    >
    assert.match(key.secretKey!, /^\S{40}$/)
    const directory = new IdentityCache(parts.store.context, undefined)
    const found = await (await directory.now()).findCredential(key.accessKey!)
    assert.equal(found?.secretKey, key.secretKey)
    const keys = await ask({ path: `${at}/keys?user=u` })
    assert.equal((keys.json().keys as unknown[]).length, 1)
    assert(!keys.text.includes(key.secretKey!), 'a secret is told once')
    assert.equal((await ask({ method: 'DELETE', path: `${at}/users/u/policies/none` })).status, 404)
    assert.deepEqual((await ask({ method: 'DELETE', path: read })).json().policies, [])
    const off = await ask({ method: 'PATCH', path: `/v1/keys/${key.accessKey}`, body: { disabled: true } })
    assert.equal(off.json().disabled, true)
    assert.equal(await (await directory.now()).findCredential(key.accessKey!), undefined)
    assert.equal((await ask({ method: 'DELETE', path: at })).status, 409)
    assert.equal((await ask({ method: 'DELETE', path: `${at}/users/u` })).status, 204)
    assert.equal((await ask({ method: 'DELETE', path: at })).status, 204)
    assert.equal((await ask({ path: at })).status, 404)
    assert.equal(log.filter(line => line.admin === 'CreateKey' && line.caller === ROOT.accessKey).length, 1)
    assert(!JSON.stringify(log).includes(key.secretKey!))
  }))

test('a key with the root key’s id is refused', () =>
  withConsole(async ({ ask, accounts }) => {
    await accounts.create({ accountId: ONE })
    const body = { accessKey: ROOT.accessKey }
    assert.equal((await ask({ method: 'POST', path: `/v1/accounts/${ONE}/keys`, body })).status, 409)
  }))

test('buckets are created for an account, configured, and deleted when empty', () =>
  withConsole(async ({ ask, accounts }) => {
    await accounts.create({ accountId: ONE })
    const make = (body: object): Promise<Answer> => ask({ method: 'POST', path: '/v1/buckets', body })
    const made = await make({ name: 'first', accountId: ONE })
    assert.deepEqual([made.status, made.json().owner, made.json().versioning], [201, ONE, 'off'])
    assert.equal((await make({ name: 'second', lock: true })).json().lockEnabled, true)
    assert.deepEqual([(await make({ name: 'NO' })).status, (await make({ name: 'first' })).status], [400, 409])
    const names = async (path: string): Promise<string[]> =>
      ((await ask({ path })).json().buckets as { name: string }[]).map(({ name }) => name)
    assert.deepEqual(await names('/v1/buckets'), ['first', 'second'])
    assert.deepEqual(await names(`/v1/buckets?accountId=${ONE}`), ['first'])
    assert.deepEqual(await names('/v1/buckets?limit=1'), ['first'])
    assert.deepEqual(await names('/v1/buckets?after=first'), ['second'])
    const put = (path: string, body: object): Promise<Answer> => ask({ method: 'PUT', path, body })
    const early = await put('/v1/buckets/first/lock', {})
    assert.deepEqual([early.status, early.json().code], [409, 'InvalidBucketState'])
    assert.equal((await put('/v1/buckets/first/versioning', { versioning: 'on' })).json().versioning, 'on')
    const locked = await put('/v1/buckets/first/lock', { mode: 'governance', days: 7 })
    assert.deepEqual(locked.json().defaultRetention, { mode: 'governance', days: 7 })
    assert.equal((await put('/v1/buckets/first/lock', { mode: 'governance' })).status, 400)
    assert.equal((await put('/v1/buckets/first/lock', { mode: 'governance', days: 40_000 })).status, 400)
    assert.equal((await put('/v1/buckets/first/versioning', { versioning: 'suspended' })).status, 409)
    assert.equal((await ask({ method: 'DELETE', path: `/v1/accounts/${ONE}` })).json().code, 'DeleteConflict')
    assert.equal((await ask({ method: 'DELETE', path: '/v1/buckets/first' })).status, 204)
    assert.equal((await ask({ path: '/v1/buckets/first' })).status, 404)
  }))

const PUBLIC =
  '{"Version":"2012-10-17",  "Statement":{"Effect":"Allow","Principal":"*","Action":"svc:GetObject",' +
  '"Resource":"arn:svc:svc:::pub/*"}}'

test('a bucket policy is stored byte for byte and validated as in the object API', () =>
  withConsole(async ({ ask, parts }) => {
    await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'pub' } })
    const at = '/v1/buckets/pub/policy'
    const document = PUBLIC
    assert.equal((await ask({ path: at })).json().code, 'NoSuchBucketPolicy')
    const put = await ask({ method: 'PUT', path: at, body: { document } })
    assert.equal(put.status, 204, put.text)
    assert.deepEqual((await ask({ path: at })).json(), { document, public: true })
    const check = (body: object): Promise<Answer> => ask({ method: 'POST', path: '/v1/policies/validate', body })
    assert.deepEqual((await check({ document, bucket: 'pub' })).json(), { statements: 1, public: true })
    assert.equal((await check({ document, bucket: 'other' })).status, 400)
    assert.equal((await check({ document })).status, 400)
    assert.equal((await check({ document: POLICY })).status, 200)
    const closed = { blockPublicAcls: false, ignorePublicAcls: false, restrictPublicBuckets: false }
    await parts.store.buckets.configure('pub', () => ({ publicAccessBlock: { ...closed, blockPublicPolicy: true } }))
    assert.equal((await ask({ method: 'PUT', path: at, body: { document } })).status, 403)
    assert.equal((await ask({ method: 'DELETE', path: at })).status, 204)
    assert.equal((await ask({ path: at })).status, 404)
  }))

test('a scrub round is started once and reports what it read', () =>
  withConsole(async ({ ask, parts }) => {
    await parts.store.buckets.create({ name: 'full', owner: 'o', lockEnabled: false })
    assert.equal((await ask({ path: '/v1/scrub' })).json().state, 'never')
    const started = await ask({ method: 'POST', path: '/v1/scrub' })
    assert.deepEqual([started.status, started.json().state], [202, 'running'])
    let state: Record<string, unknown> = {}
    // Each request gives the round time to continue; it has one record to read.
    for (let i = 0; i < 1000 && state.state !== 'done'; i++) state = (await ask({ path: '/v1/scrub' })).json()
    assert.equal(state.state, 'done')
    assert.deepEqual(state.damage, [])
    assert((state.records as number) > 0)
  }))

interface Described {
  readonly openapi: string
  readonly paths: Readonly<
    Record<string, Record<string, { operationId: string; parameters: unknown[]; requestBody?: unknown }>>
  >
}

test('the description names every route and what it takes', () =>
  withConsole(async ({ ask }) => {
    const described = (await ask({ path: '/openapi.json' })).json() as unknown as Described
    assert.equal(described.openapi, '3.0.3')
    const named = Object.values(described.paths).flatMap(at => Object.values(at).map(one => one.operationId))
    assert.deepEqual(named.sort(), ADMIN_ROUTES.routes.map(({ name }) => name).sort())
    const create = described.paths['/v1/accounts/{accountId}/keys']!.post!
    assert.equal(create.parameters.length, 1)
    assert(JSON.stringify(create.requestBody).includes('secretKey'))
  }))

test('the description can be fetched without a signature', () =>
  withConsole(async ({ port }) => {
    const described = await fetch(`http://127.0.0.1:${port}/openapi.json`)
    assert.equal(described.status, 200)
    const { paths } = (await described.json()) as { paths: Record<string, Record<string, { security?: unknown }>> }
    assert.deepEqual(paths['/openapi.json']!.get!.security, [])
    assert.equal(paths['/v1/accounts']!.get!.security, undefined)
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/accounts`)).status, 403)
  }))

const twin = (name: string, path: string) =>
  route({ name, method: 'GET', path, summary: '', permission: 'admin', input: {}, run: async () => ({}) })

test('a table with two routes for one request is refused', () => {
  const [one] = ADMIN_ROUTES.routes
  assert.throws(() => new RouteTable([...ADMIN_ROUTES.routes, twin('Other', '/v1/accounts')]), /match the same request/)
  assert.throws(() => new RouteTable([one!, one!]), /two routes have the name/)
  assert.throws(() => twin('Odd', '/v1/{x}'), /its path parameters and its input differ/)
})

/** Matches nothing that is stored, and has broken lookups before. */
const ODD = ['%00', 'a%00b', 'x'.repeat(3_000), '..', '%20', '__proto__', '%F0%9F%98%80', '%ED%A0%80']

test('A87: an invalid name is refused on every route, never an internal error', () =>
  withConsole(async ({ ask, log }) => {
    for (const { method, path, input } of ADMIN_ROUTES.routes) {
      const fields = Object.keys(input).filter(name => input[name]!.place === 'body')
      for (const odd of ODD) {
        const text = /%ED/.test(odd) ? odd : decodeURIComponent(odd)
        const body = fields.length === 0 ? undefined : Object.fromEntries(fields.map(name => [name, text]))
        const answer = await ask({
          method,
          path: path.replace(/\{\w+\}/g, odd),
          ...(body === undefined ? {} : { body }),
        })
        assert(answer.status < 500, `${method} ${path} ${odd.slice(0, 20)}: ${answer.text}`)
      }
    }
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    )
  }))
