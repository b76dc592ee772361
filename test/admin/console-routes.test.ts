/** Routes that the console's pages need, for administrators and for those who are not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalIdOf } from '../../src/model/account.ts'
import type { Version } from '../../src/model/version.ts'
import { LedgerCheck } from '../../src/rules/ledger.ts'
import { type SignedInPage, signedInPage } from './console-fixture.ts'
import { type Answer, type Consoled, ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const TWO = '222222222222'

const policyOf = (...actions: string[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }] })

/** A page signed in with a key of the account, or of a new user with this policy. */
async function pageOf(consoled: Consoled, accountId: string, policy?: string): Promise<SignedInPage> {
  const { accounts } = consoled
  const user = policy === undefined ? undefined : 'ann'
  if (user !== undefined) {
    await accounts.createUser(accountId, user)
    const policies = [{ name: 'p', document: policy!, fromFile: false }]
    await accounts.changeUser(accountId, user, () => ({ policies }))
  }
  const key = { accessKey: `AK${accountId.slice(0, 3)}${user ?? ''}`, secretKey: 'a-secret-of-some-length' }
  await accounts.createKey({ accountId, user, ...key })
  return signedInPage(consoled, key)
}

const create = async ({ ask, accounts }: Consoled): Promise<void> => {
  for (const accountId of [ONE, TWO]) await accounts.create({ accountId })
  await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', accountId: ONE, lock: true } })
  await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'open', accountId: ONE } })
  await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'other', accountId: TWO } })
}

const put = ({ parts }: Consoled, key: string): Promise<Version> =>
  parts.store.objects.put({ bucket: 'kept', key, owner: canonicalIdOf(ONE), body: [Buffer.from(key)] })

const namesIn = (answer: Answer): unknown[] => (answer.json().buckets as { name: string }[]).map(({ name }) => name)

test('buckets show versioning, lock, encryption, public access and usage at a glance', () =>
  withConsole(async consoled => {
    await create(consoled)
    const { parts, ask } = consoled
    const algorithm = '<SSEAlgorithm>AES256</SSEAlgorithm>'
    const rule = `<ApplyServerSideEncryptionByDefault>${algorithm}</ApplyServerSideEncryptionByDefault>`
    const root = 'ServerSideEncryptionConfiguration'
    const document = `<${root}><Rule>${rule}</Rule></${root}>`
    await parts.store.documents.put('kept', 'encryption', document)
    const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::open/*' }
    const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
    await ask({ method: 'PUT', path: '/v1/buckets/open/policy', body: { document: policy } })
    const { buckets } = (await ask({ path: '/v1/buckets' })).json() as { buckets: Record<string, unknown>[] }
    const [kept, open] = buckets
    assert.deepEqual([kept!.name, kept!.owner, kept!.versioning, kept!.lockEnabled], ['kept', ONE, 'on', true])
    assert.deepEqual([kept!.encryption, kept!.public], [{ algorithm: 'AES256' }, { policy: false, acl: false }])
    assert.deepEqual([open!.encryption, open!.public], [null, { policy: true, acl: false }])
    const closed = { blockPublicAcls: false, ignorePublicAcls: false, blockPublicPolicy: false }
    const publicAccessBlock = { ...closed, restrictPublicBuckets: true }
    await parts.store.buckets.configure('open', () => ({ publicAccessBlock }))
    const after = (await ask({ path: '/v1/buckets' })).json() as { buckets: Record<string, unknown>[] }
    assert.deepEqual(after.buckets[1]!.public, { policy: false, acl: false })
    assert.deepEqual([kept!.documents, open!.documents], [['encryption'], ['policy']])
    assert.deepEqual(after.buckets[1]!.documents, ['policy', 'publicAccessBlock'])
  }))

test('A83: a caller who is not an administrator sees only permitted buckets of their own account', () =>
  withConsole(async consoled => {
    await create(consoled)
    const account = await pageOf(consoled, ONE)
    await consoled.parts.store.documents.put('kept', 'tagging', '<Tagging/>')
    const all = await account.ask({ path: '/v1/buckets' })
    assert.deepEqual((all.json().buckets as Record<string, unknown>[])[0]!.documents, ['tagging'])
    assert.deepEqual(namesIn(all), ['kept', 'open'])
    assert('usage' in (all.json().buckets as object[])[0]!)
    assert.equal((await account.ask({ path: `/v1/buckets?accountId=${TWO}` })).status, 403)
    assert.deepEqual(namesIn(await account.ask({ path: `/v1/buckets?accountId=${ONE}` })), ['kept', 'open'])
    assert.deepEqual(namesIn(await account.ask({ path: '/v1/buckets?name=open' })), ['open'])
    assert.deepEqual(namesIn(await account.ask({ path: '/v1/buckets?name=other' })), [])
    assert.deepEqual(namesIn(await account.ask({ path: '/v1/buckets?contains=pe' })), ['open'])
    assert.deepEqual(namesIn(await account.ask({ path: '/v1/buckets?contains=the' })), [])
    const lister = await pageOf(consoled, ONE, policyOf('s3:ListAllMyBuckets', 's3:GetBucketVersioning'))
    const [first] = (await lister.ask({ path: '/v1/buckets' })).json().buckets as Record<string, unknown>[]
    assert.deepEqual(Object.keys(first!).sort(), ['createdAt', 'documents', 'name', 'owner', 'versioning'])
    assert.deepEqual(first!.documents, [])
    const stranger = await pageOf(consoled, TWO, policyOf('s3:GetObject'))
    assert.equal((await stranger.ask({ path: '/v1/buckets' })).status, 403)
  }))

test('an administrator finds users of all accounts by parts of names, in upper and lower case', () =>
  withConsole(async consoled => {
    const { accounts, ask } = consoled
    await accounts.create({ accountId: ONE, displayName: 'Harbour' })
    await accounts.create({ accountId: TWO })
    for (const name of ['Ann', 'ben']) await accounts.createUser(ONE, name)
    await accounts.createUser(TWO, 'joann')
    const found = async (query: string): Promise<unknown> =>
      ((await ask({ path: `/v1/users?${query}` })).json().users as { name: string }[]).map(({ name }) => name)
    assert.deepEqual(await found('contains=ANN'), ['Ann', 'joann'])
    assert.deepEqual(await found('contains=ann&limit=1'), ['Ann'])
    assert.deepEqual(await found('contains=harb'), ['Ann', 'ben'])
    assert.deepEqual(await found(`contains=${TWO}`), ['joann'])
    assert.deepEqual(await found('contains=nobody'), [])
    const page = await pageOf(consoled, TWO)
    assert.equal((await page.ask({ path: '/v1/users' })).status, 403)
  }))

test('callers may explain their own access, without details of other accounts’ buckets', () =>
  withConsole(async consoled => {
    await create(consoled)
    await put(consoled, 'there')
    const page = await pageOf(consoled, ONE, policyOf('s3:ListAllMyBuckets'))
    const explained = (body: object): Promise<Answer> => page.ask({ method: 'POST', path: '/v1/explain', body })
    const question = { action: 's3:GetObject', bucket: 'kept', key: 'there' }
    assert.equal((await explained({ ...question, as: ROOT.accessKey })).status, 403)
    assert.equal((await explained(question)).status, 403)
    const own = (await explained({ ...question, as: 'AK111ann' })).json()
    assert.deepEqual([own.verdict, (own.access as { reasons: unknown[] }).reasons.length > 0], ['refused', true])
    const missing = (await explained({ ...question, key: 'gone', as: 'AK111ann' })).json()
    assert.deepEqual([missing.verdict, missing.isMissing], ['refused', false])
    assert.doesNotMatch(String(missing.text), /no such object$/m)
    const foreign = (await explained({ ...question, bucket: 'other', as: 'AK111ann' })).json()
    assert.deepEqual([foreign.verdict, (foreign.access as { reasons: unknown[] }).reasons], ['refused', []])
    const creation = { action: 's3:CreateBucket', bucket: 'not-there-yet' }
    const questions = [{ action: 's3:ListAllMyBuckets' }, question, creation]
    const answer = await page.ask({ method: 'POST', path: '/v1/session/permissions', body: { questions } })
    const verdicts = (answer.json().answers as { verdict: string }[]).map(({ verdict }) => verdict)
    assert.deepEqual(verdicts, ['allowed', 'refused', 'refused'])
  }))

test('held and retained versions are listed in pages, current ones first, with the origin of a lock', () =>
  withConsole(async consoled => {
    await create(consoled)
    const { parts, clock } = consoled
    const { objects } = parts.store
    const until = clock.now() + 86_400_000
    await put(consoled, 'a')
    const old = await put(consoled, 'b')
    await objects.setHold({ bucket: 'kept', key: 'b', versionId: old.id }, true)
    await put(consoled, 'b')
    const held = await put(consoled, 'c')
    await objects.setHold({ bucket: 'kept', key: 'c', versionId: held.id }, true)
    const retention = { mode: 'governance', until } as const
    const retained = await put(consoled, 'd')
    await objects.setRetention({ bucket: 'kept', key: 'd', versionId: retained.id }, retention)
    const page = await pageOf(consoled, ONE)
    const found: Record<string, unknown>[] = []
    for (let next = ''; found.length < 10; ) {
      const answer = (await page.ask({ path: `/v1/buckets/kept/held?limit=1${next}` })).json()
      found.push(...(answer.versions as Record<string, unknown>[]))
      if (answer.next === undefined) break
      next = `&after=${answer.next}`
    }
    const shown = found.map(({ key, hold, latest, retention: kept }) => [key, hold, latest, kept])
    assert.deepEqual(shown, [
      ['c', true, true, undefined],
      ['d', false, true, { mode: 'governance', until: new Date(until).toISOString(), inForce: true }],
      ['b', true, false, undefined],
    ])
    // The first entry is the bucket's configuration; each lock is one more.
    const origins = found.map(({ heldSince, retainedSince }) => heldSince ?? retainedSince)
    assert.deepEqual(
      origins.map(origin => (origin as { sequence: number }).sequence),
      [3, 4, 2],
    )
    const prefixed = (await page.ask({ path: '/v1/buckets/kept/held?prefix=b' })).json()
    assert.deepEqual([(prefixed.versions as unknown[]).length, prefixed.next], [1, undefined])
    for (const after of ['zz', '6f', `6f${'61'.repeat(8)}`, '76ff']) {
      const { status } = await page.ask({ path: `/v1/buckets/kept/held?after=${after}` })
      assert(status === 200 || status === 400, after)
    }
    const lister = await pageOf(consoled, ONE, policyOf('s3:ListBucketVersions'))
    assert.deepEqual((await lister.ask({ path: '/v1/buckets/kept/held' })).json().versions, [])
    const stranger = await pageOf(consoled, TWO)
    assert.equal((await stranger.ask({ path: '/v1/buckets/kept/held' })).status, 403)
  }))

test('pages of a ledger verify as its export does', () =>
  withConsole(async consoled => {
    await create(consoled)
    const { parts, ask } = consoled
    for (const key of ['a', 'b', 'c']) {
      const { id } = await put(consoled, key)
      await parts.store.objects.setHold({ bucket: 'kept', key, versionId: id }, true)
    }
    const check = new LedgerCheck({ publicKey: String((await ask({ path: '/v1/ledgers' })).json().publicKey) })
    interface Page {
      readonly header: string
      readonly lines: string[]
      readonly closing: string
      readonly entries: number
    }
    let read = 0
    for (let pages = 0; pages < 10; pages++) {
      const after = read === 0 ? '' : `&after=${read}`
      const answer = await ask({ path: `/v1/ledgers/kept/entries?limit=2${after}` })
      const page = answer.json() as unknown as Page
      if (read === 0) check.take(page.header)
      for (const line of page.lines) check.take(line)
      read += page.lines.length
      if (read < page.entries) continue
      check.take(page.closing)
      break
    }
    assert.deepEqual([check.end().problem, check.end().entries, read], [undefined, 4, 4])
    const beyond = (await ask({ path: '/v1/ledgers/kept/entries?after=99' })).json()
    assert.deepEqual(beyond.lines, [])
    const page = await pageOf(consoled, ONE)
    assert.equal((await page.ask({ path: '/v1/ledgers/kept/entries' })).status, 403)
  }))

test('metrics come as JSON, with labels in their parts', () =>
  withConsole(
    async ({ ask }) => {
      assert.deepEqual((await ask({ path: '/v1/metrics?prefix=holdfast_re' })).json().samples, [
        { name: 'holdfast_requests_total', labels: { operation: 'a"b\\c\nd', code: 'x' }, value: 3 },
        { name: 'holdfast_request_seconds_bucket', labels: { le: '0.1' }, value: 2 },
        { name: 'holdfast_request_seconds_sum', labels: {}, value: 0.5 },
      ])
      assert.equal(((await ask({ path: '/v1/metrics' })).json().samples as unknown[]).length, 4)
    },
    {
      collectMetrics: async () => [
        ['holdfast_info', '', 1],
        ['holdfast_requests_total', '{operation="a\\"b\\\\c\\nd",code="x"}', 3],
        ['holdfast_request_seconds', '_bucket{le="0.1"}', 2],
        ['holdfast_request_seconds', '_sum', 0.5],
      ],
    },
  ))

test('damage, backups, processes and settings are shown to administrators', () =>
  withConsole(async ({ ask, parts }) => {
    assert.deepEqual((await ask({ path: '/v1/backups' })).json(), { running: false })
    const { backup, takenAt } = (await ask({ method: 'POST', path: '/v1/backups' })).json()
    const running = { running: true, takenAt, phase: 'records', sentBytes: 0, idleSeconds: 0 }
    assert.deepEqual((await ask({ path: '/v1/backups' })).json(), running)
    const sent = (await ask({ path: `/v1/backups/${backup}/records` })).text
    const progress = (await ask({ path: '/v1/backups' })).json()
    assert.deepEqual([progress.phase, (progress.sentBytes as number) > 0 && sent.length > 0], ['blobs', true])
    const key = Buffer.concat([Buffer.from('okept\0lost'), Buffer.from([0])])
    parts.store.context.losses.replace({ keys: [key], more: ['p'.charCodeAt(0)] })
    const damage = (await ask({ path: '/v1/damage' })).json()
    assert.deepEqual(
      [damage.lostRecords, damage.lost, damage.incompleteKinds],
      [1, [{ kind: 'o', bucket: 'kept', key: 'lost' }], ['p']],
    )
    assert.equal((damage.scrub as { state: string }).state, 'never')
    assert.deepEqual((await ask({ path: '/v1/processes' })).json(), { processes: [] })
    assert.deepEqual((await ask({ path: '/v1/settings' })).json(), { settings: {} })
  }))

test('editors can fetch the vocabulary of policies', () =>
  withConsole(async consoled => {
    await consoled.accounts.create({ accountId: ONE })
    const page = await pageOf(consoled, ONE)
    const words = (await page.ask({ path: '/v1/policies/vocabulary' })).json()
    const actions = words.actions as { action: string; on: string }[]
    assert.deepEqual(
      actions.find(({ action }) => action === 's3:GetObject'),
      { action: 's3:GetObject', on: 'object' },
    )
    assert((words.conditionKeys as string[]).includes('sourceip'))
    const body = { document: policyOf('s3:GetObject') }
    const valid = await page.ask({ method: 'POST', path: '/v1/policies/validate', body })
    assert.equal(valid.json().statements, 1)
  }))

test('a request that cannot be sent is refused when it is presigned', () =>
  withConsole(async consoled => {
    const page = await signedInPage(consoled)
    const bad: object[] = [
      { method: 'PATCH' },
      { method: 'GET', key: 'without a bucket' },
      { method: 'GET', bucket: '../x' },
      { method: 'GET', bucket: 'kept', key: '\ud800' },
      { method: 'GET', bucket: 'kept', query: { prefix: '\ud800' } },
      { method: 'GET', bucket: 'kept', query: { 'X-Amz-Signature': 'x' } },
      { method: 'GET', bucket: 'kept', query: { versions: 1 } },
      { method: 'PUT', bucket: 'kept', key: 'a', headers: { 'x-amz-meta-a': 'b\r\nc: d' } },
      { method: 'PUT', bucket: 'kept', key: 'a', headers: { 'a b': 'c' } },
      { method: 'PUT', bucket: 'kept', key: 'a', headers: { Host: 'evil.example' } },
      { method: 'GET', expiresInSeconds: 604_801 },
      { method: 'GET', other: 1 },
    ]
    for (const request of bad) {
      const answer = await page.ask({ method: 'POST', path: '/v1/session/presign', body: { requests: [request] } })
      assert.equal(answer.status, 400, JSON.stringify(request))
    }
    for (const requests of [[], 'x', [1], Array(1001).fill({ method: 'GET' })]) {
      const answer = await page.ask({ method: 'POST', path: '/v1/session/presign', body: { requests } })
      assert.equal(answer.status, 400)
    }
  }))

const DAY_MS = 86_400_000

test('a preview lists the effects of rules and the versions kept by locks, without acting', () =>
  withConsole(async consoled => {
    await create(consoled)
    const { parts, clock, ask } = consoled
    const { objects } = parts.store
    for (const key of ['log/a', 'log/a', 'log/b', 'photo']) await put(consoled, key)
    const held = await put(consoled, 'log/held')
    await objects.setHold({ bucket: 'kept', key: 'log/held', versionId: held.id }, true)
    const current = '<Expiration><Days>3</Days></Expiration>'
    const older = '<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>'
    const rule = `<ID>logs</ID><Filter><Prefix>log/</Prefix></Filter><Status>Enabled</Status>${current}${older}`
    const document = `<LifecycleConfiguration><Rule>${rule}</Rule></LifecycleConfiguration>`
    const path = '/v1/buckets/kept/lifecycle/preview'
    interface Preview {
      readonly at: string
      readonly actions: { action: string; key: string; rule: string; locked: boolean }[]
      readonly totals: object
      readonly complete: boolean
    }
    const preview = async (body: object): Promise<Preview> =>
      (await ask({ method: 'POST', path, body })).json() as unknown as Preview
    const named = ({ actions }: Preview) => actions.map(({ action, key, locked }) => [action, key, locked])
    assert.deepEqual(named(await preview({ document })), [])
    assert.deepEqual(named(await preview({ document, days: 2 })), [['remove version', 'log/a', false]])
    const later = await preview({ document, days: 4 })
    assert.deepEqual(named(later), [
      ['add delete marker', 'log/a', false],
      ['add delete marker', 'log/b', false],
      ['add delete marker', 'log/held', true],
      ['remove version', 'log/a', false],
    ])
    assert.deepEqual([later.totals, later.complete], [{ actions: 3, bytes: 5, locked: 1 }, true])
    assert.equal(later.at, new Date(clock.now() + 4 * DAY_MS).toISOString())
    assert.equal(later.actions[0]!.rule, 'logs')
    assert.deepEqual(named(await preview({ days: 4 })), [], 'there are no rules in force')
    await parts.store.documents.put('kept', 'lifecycle', document)
    assert.equal(named(await preview({ days: 4 })).length, 4)
    const listed = await parts.store.listing.versions({ bucket: 'kept', limit: 100 })
    assert.equal(listed.items.length, 5)
    const bad = await ask({ method: 'POST', path, body: { document: '<x/>' } })
    assert.deepEqual([bad.status, bad.json().code], [400, 'MalformedXML'])
    const stranger = await pageOf(consoled, TWO)
    assert.equal((await stranger.ask({ method: 'POST', path, body: {} })).status, 403)
  }))
