/** Stored bytes, as the admin API and the metrics report them. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../../src/model/account.ts'
import { mergeSamples } from '../../src/telemetry/families.ts'
import { LABELLED_MAX, UsageMetrics } from '../../src/telemetry/usage-metrics.ts'
import { freshStore, makeBucket, OWNER, put } from '../store/fixture.ts'
import { figure, readExposition } from '../telemetry/exposition.ts'
import { ROOT, withConsole } from './fixture.ts'

const ONE = '111111111111'
const NONE = { objects: 0, versions: 0, deleteMarkers: 0, bytes: 0, versionBytes: 0, uploads: 0, uploadBytes: 0 }

test('usage of a bucket is shown immediately, and that of an account as the sum of its buckets', () =>
  withConsole(async ({ ask, parts, accounts }) => {
    const { store } = parts
    const { canonicalId } = await accounts.create({ accountId: ONE })
    const root = canonicalIdOf(ROOT_ACCOUNT_ID)
    for (const [name, owner] of [
      ['ours', root],
      ['theirs', canonicalId],
      ['theirs-too', canonicalId],
    ] as const) {
      await store.buckets.create({ name, owner, lockEnabled: false })
    }
    await store.buckets.setVersioning('theirs', 'on')
    const empty = (await ask({ path: '/v1/buckets/ours' })).json()
    assert.deepEqual(empty.usage, NONE)
    await put(store, 'ours', 'k', 'four')
    await put(store, 'theirs', 'k', 'four')
    await put(store, 'theirs', 'k', 'sixsix')
    await put(store, 'theirs-too', 'k', 'x')
    const theirs = { ...NONE, objects: 1, versions: 2, bytes: 6, versionBytes: 10 }
    assert.deepEqual((await ask({ path: '/v1/buckets/theirs' })).json().usage, theirs)
    const listed = (await ask({ path: '/v1/buckets' })).json().buckets as { name: string; usage: { bytes: number } }[]
    assert.deepEqual(
      listed.map(({ name, usage }) => [name, usage.bytes]),
      [
        ['ours', 4],
        ['theirs', 6],
        ['theirs-too', 1],
      ],
    )
    const both = { ...NONE, objects: 2, versions: 3, bytes: 7, versionBytes: 11 }
    const account = { accountId: ONE, buckets: 2, uncountedBuckets: 0, ...both }
    const { accounts: shown, ...total } = (await ask({ path: '/v1/usage' })).json()
    assert.deepEqual(total, {
      buckets: 3,
      uncountedBuckets: 0,
      ...NONE,
      ...{ objects: 3, versions: 4, bytes: 11, versionBytes: 15 },
    })
    assert.deepEqual((shown as unknown[])[1], account)
    assert.deepEqual((await ask({ path: `/v1/usage?accountId=${ONE}` })).json().accounts, [account])
    assert.equal((await ask({ path: '/v1/usage?accountId=222222222222' })).status, 404)
    assert.equal((await ask({ path: '/v1/usage', as: null })).status, 403)
    const { paths } = (await ask({ path: '/openapi.json' })).json() as {
      paths: Record<string, { get?: { operationId: string } }>
    }
    assert.equal(paths['/v1/usage']?.get?.operationId, 'GetUsage')
  }))

test('a bucket that has not been counted says so, and is missing from totals', () =>
  withConsole(async ({ ask, parts }) => {
    const { store } = parts
    await makeBucket(store, 'old')
    const { id } = await store.buckets.get('old')
    const key = Buffer.concat([Buffer.from('U'), Buffer.from(id, 'hex')])
    await store.context.meta.commit({ checks: [], writes: [{ key, value: undefined }] })
    assert.equal((await ask({ path: '/v1/buckets/old' })).json().usage, null)
    assert.equal((await ask({ path: '/v1/usage' })).json().uncountedBuckets, 1)
  }))

test('metrics always have totals, and series only for the largest buckets and accounts', async () => {
  const { store, clock } = await freshStore()
  const many = LABELLED_MAX + 5
  for (let i = 0; i < many; i++) {
    await makeBucket(store, `bucket-${i}`)
    await put(store, `bucket-${i}`, 'k', Buffer.alloc(i + 1))
  }
  const measures = new UsageMetrics(store.context, async owner => (owner === OWNER ? ONE : undefined))
  const read = async () => {
    const { exposition } = await import('../../src/telemetry/families.ts')
    return readExposition(exposition(mergeSamples(await measures.samples())))
  }
  const families = await read()
  const bytes = (many * (many + 1)) / 2
  assert.equal(figure(families, 'holdfast_store_bytes'), bytes)
  assert.equal(figure(families, 'holdfast_buckets'), many)
  assert.equal(figure(families, 'holdfast_account_version_bytes', { account: ONE }), bytes)
  assert.equal(families.get('holdfast_bucket_objects')!.series.length, LABELLED_MAX)
  assert.equal(figure(families, 'holdfast_bucket_bytes', { bucket: `bucket-${many - 1}` }), many)
  await put(store, 'bucket-0', 'another', 'four')
  // A few seconds old, and no older.
  clock.move(5_000)
  assert.equal(figure(await read(), 'holdfast_store_bytes'), bytes + 4)
})

const scrape = (port: number, authorization?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization }
    request({ port, path: '/metrics', headers }, answer => {
      let text = ''
      answer.on('data', chunk => {
        text += String(chunk)
      })
      answer.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })

test('public metrics name no bucket and no account', () =>
  withConsole(
    async ({ port, ask }) => {
      assert.doesNotMatch(await scrape(port), /secret-plans|111111111111/)
      assert.match(await scrape(port), /holdfast_store_bytes 4/)
      assert.match(await scrape(port, 'Bearer a-token-for-prometheus'), /bucket="secret-plans"/)
      assert.match((await ask({ path: '/metrics', as: ROOT })).text, /holdfast_store_bytes 4/)
    },
    {
      scraping: { token: 'a-token-for-prometheus', isPublic: true },
      collectMetrics: async () => [
        ['holdfast_store_bytes', '', 4],
        ['holdfast_bucket_bytes', '{bucket="secret-plans"}', 4],
        ['holdfast_account_bytes', '{account="111111111111"}', 4],
      ],
    },
  ))
