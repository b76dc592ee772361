/** A clock that the test moves: what expires by it, and what is unaffected. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { SCHEMES } from '../../src/auth/signing.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { md5Header } from '../http/actions.ts'
import { BASE_HOST, Client, type DialectName } from '../http/server.ts'
import { signedByQuery } from '../specimens/signing.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, type Embedded, using } from './fixture.ts'

const DAY_MS = 86_400_000

async function inBoth(use: (embedded: Embedded, dialect: DialectName) => Promise<void>, buckets?: object[]) {
  for (const dialect of ['svc', 's3'] as const) {
    await using(buckets === undefined ? {} : { buckets: buckets as never }, e => use(e, dialect), dialect)
  }
}

test('a moved clock still accepts signatures with the real time', () =>
  inBoth(async ({ hf, put, get }) => {
    for (const move of [
      () => hf.clock.advance({ days: 400 }),
      () => hf.clock.set('2001-02-03T04:05:06Z'),
      () => hf.clock.set(new Date(Date.now() + 7 * DAY_MS)),
      () => hf.clock.reset(),
    ]) {
      move()
      assert.equal((await put('k', 'x')).status, 200)
      const modified = Date.parse((await get('k')).headers.get('last-modified') ?? '')
      assert(Math.abs(modified - hf.clock.now().getTime()) < 60_000, 'objects are as old as the clock says')
    }
  }))

test('a signature that matches neither the clock nor the real time is refused', () =>
  inBoth(async ({ hf, root }, dialect) => {
    hf.clock.advance({ days: 1 })
    const now = Date.now()
    for (const [time, status] of [
      [now, 200],
      [now + DAY_MS, 200],
      [now + DAY_MS / 2, 403],
      [now - 1_000_000, 403],
      [now + 2 * DAY_MS, 403],
    ] as const) {
      assert.equal(await statusOf(presigned(root, dialect, time, 600_000), hf.port), time > now + DAY_MS ? 403 : 404)
      const client = new Client(dialect, new ManualClock(time), hf.port)
      const answer = await client.send({ method: 'GET', bucket: BUCKET, path: '/', as: root })
      assert.equal(answer.status, status, `${(time - now) / 1000} seconds from now`)
      if (status === 403) assert.equal(answer.code(), 'RequestTimeTooSkewed')
    }
  }))

function presigned(root: Embedded['root'], dialect: DialectName, now: number, seconds: number) {
  const { accessKey, secretKey } = root
  const signer = { scheme: SCHEMES[dialect], accessKey, secretKey, region: 'us-east-1', now }
  const unsigned = { method: 'GET', target: '/k', headers: [['Host', `${BUCKET}.${BASE_HOST}`]] as [string, string][] }
  return signedByQuery(signer, unsigned, { contentHash: undefined, seconds }).request
}

function statusOf({ target }: { readonly target: string }, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host: `${BUCKET}.${BASE_HOST}` }
    const asked = request({ port, host: '127.0.0.1', path: target, headers }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.on('error', reject)
    asked.end()
  })
}

test('a presigned URL ends by the clock', () =>
  inBoth(async ({ hf, root, put }, dialect) => {
    await put('k', 'x')
    const url = presigned(root, dialect, Date.now(), 600)
    assert.equal(await statusOf(url, hf.port), 200)
    hf.clock.advance({ minutes: 9 })
    assert.equal(await statusOf(url, hf.port), 200)
    hf.clock.advance({ minutes: 2 })
    assert.equal(await statusOf(url, hf.port), 403)
    const fresh = presigned(root, dialect, hf.clock.now().getTime(), 600)
    assert.equal(await statusOf(fresh, hf.port), 200, 'one that was signed by the clock begins by it')
    hf.clock.set('2001-02-03T04:05:06Z')
    assert.equal(await statusOf(url, hf.port), 200, 'one of the real time is not too early for a clock that is behind')
  }))

test('P19: a retention ends by the clock, whatever it jumps over', () =>
  inBoth(
    async ({ hf, send }) => {
      const put = await send({ method: 'PUT', path: '/k', body: 'x' })
      const version = put.own('version-id')
      const until = new Date(Date.now() + 30 * DAY_MS).toISOString()
      const body = `<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>${until}</RetainUntilDate></Retention>`
      const path = `/k?versionId=${version}`
      const kept = await send({
        method: 'PUT',
        path: `/k?retention&versionId=${version}`,
        body,
        headers: [md5Header(body)],
      })
      assert.equal(kept.status, 200)
      hf.clock.advance({ days: 29, hours: 23 })
      assert.equal((await send({ method: 'DELETE', path })).code(), 'AccessDenied')
      hf.clock.set(new Date(Date.now() - DAY_MS))
      assert.equal((await send({ method: 'DELETE', path })).code(), 'AccessDenied')
      hf.clock.set(Date.parse(until) + 1000)
      assert.equal((await send({ method: 'DELETE', path })).status, 204)
    },
    [{ name: BUCKET, objectLock: true }],
  ))

test('lifecycle rules are applied when asked for, by the clock', () =>
  withFolder(async folder => {
    for (const options of [{}, { folder }]) {
      await using(options, async ({ hf, send, put, get }) => {
        const rule = '<ID>all</ID><Status>Enabled</Status><Filter/><Expiration><Days>30</Days></Expiration>'
        const body = `<LifecycleConfiguration><Rule>${rule}</Rule></LifecycleConfiguration>`
        assert.equal((await send({ method: 'PUT', path: '/?lifecycle', body, headers: [md5Header(body)] })).status, 200)
        await put('k', 'x')
        hf.clock.advance({ days: 29 })
        assert.equal((await hf.runLifecycle()).removed, 0)
        assert.equal((await get('k')).status, 200)
        hf.clock.advance({ days: 3 })
        assert.deepEqual(await hf.runLifecycle(), { removed: 1, marked: 0, aborted: 0, locked: 0 })
        assert.equal((await get('k')).status, 404)
      })
    }
  }))

test('time that passes after the clock was set back counts', () =>
  using({}, async ({ hf, send, put }) => {
    const rule = '<ID>all</ID><Status>Enabled</Status><Filter/><Expiration><Days>3</Days></Expiration>'
    const body = `<LifecycleConfiguration><Rule>${rule}</Rule></LifecycleConfiguration>`
    for (const back of [() => hf.reset(), () => hf.clock.set('2020-01-01T00:00:00Z')]) {
      hf.clock.advance({ days: 31 })
      await put('k', 'x')
      await back()
      await send({ method: 'PUT', path: '/?lifecycle', body, headers: [md5Header(body)] })
      await put('k', 'x')
      hf.clock.advance({ days: 9 })
      assert.equal((await hf.runLifecycle()).removed, 1)
    }
  }))

test('P26: default retention counts from the time that the test has set, also one that is long past', () =>
  inBoth(
    async ({ hf, send }) => {
      const kept = '<DefaultRetention><Mode>COMPLIANCE</Mode><Days>10</Days></DefaultRetention>'
      const inside = `<ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>${kept}</Rule>`
      const body = `<ObjectLockConfiguration>${inside}</ObjectLockConfiguration>`
      const set = await send({ method: 'PUT', path: '/?object-lock', body, headers: [md5Header(body)] })
      assert.equal(set.status, 200)
      hf.clock.set('2020-01-01T00:00:00Z')
      const made = await send({ method: 'PUT', path: '/k', body: 'x', headers: [md5Header('x')] })
      const path = `/k?versionId=${made.own('version-id')}`
      hf.clock.advance({ days: 9 })
      assert.equal((await send({ method: 'DELETE', path })).code(), 'AccessDenied')
      hf.clock.advance({ days: 1, seconds: 1 })
      assert.equal((await send({ method: 'DELETE', path })).status, 204)
    },
    [{ name: BUCKET, objectLock: true }],
  ))

test('maintenance runs lifecycle, also when it is called twice at once', () =>
  using({}, async ({ hf, send, put, get }) => {
    const rule = '<ID>all</ID><Status>Enabled</Status><Filter/><Expiration><Days>1</Days></Expiration>'
    const body = `<LifecycleConfiguration><Rule>${rule}</Rule></LifecycleConfiguration>`
    await send({ method: 'PUT', path: '/?lifecycle', body, headers: [md5Header(body)] })
    await put('k', 'x')
    hf.clock.advance({ days: 3 })
    await Promise.all([hf.runMaintenance(), hf.runMaintenance()])
    assert.equal((await get('k')).status, 404)
  }))

test('an invalid span or moment is refused, and the clock stays', () =>
  using({}, async ({ hf }) => {
    assert.throws(() => hf.clock.advance({ days: -1 }), TypeError)
    assert.throws(() => hf.clock.advance({ days: Number.NaN }), TypeError)
    assert.throws(() => hf.clock.advance({ weeks: 1 } as never), /no weeks/)
    assert.throws(() => hf.clock.set('tomorrow'), TypeError)
    assert(Math.abs(hf.clock.now().getTime() - Date.now()) < 60_000)
  }))
