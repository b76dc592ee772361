/** Objects and uploads expire exactly when the headers announce, to the millisecond. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { DamagedRecord, type Meta } from '../../src/meta/meta.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { shortOrLong } from '../long.ts'
import { text } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { type Client, inBoth, makeBucket, type Served } from './server.ts'

const DAY_MS = 86_400_000
const RUNS = shortOrLong(12, 60)

const within = (name: string, inside: string | number): string => `<${name}>${inside}</${name}>`
const tag = (value: string): string => within('Tag', within('Key', 'kind') + within('Value', value))

const filters = fc.oneof(
  fc.constant(''),
  fc.constantFrom('logs/', 'logs/a', 'data/').map(text => within('Prefix', text)),
  fc.constantFrom('x', 'y').map(tag),
  fc.nat(9).map(size => within('ObjectSizeGreaterThan', size)),
  fc.nat(9).map(size => within('And', within('Prefix', 'logs/') + within('ObjectSizeLessThan', size + 1))),
)

const ages = fc.integer({ min: 1, max: 5 }).map(days => within('Days', days))
const dates = fc.integer({ min: 1, max: 9 }).map(day => within('Date', `2026-01-0${day}T00:00:00Z`))

interface Scene {
  readonly rules: string
  readonly key: string
  readonly size: number
  readonly tag: string
  readonly offset: number
  readonly versioned: boolean
}

const rulesOf = (action: fc.Arbitrary<string>, filter: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(filter, action, fc.constantFrom('Enabled', 'Enabled', 'Disabled')), { minLength: 1, maxLength: 4 })
    .map(all =>
      all.map(([f, a, status]) => within('Rule', within('Status', status) + within('Filter', f) + a)).join(''),
    )

const scenes = (rules: fc.Arbitrary<string>): fc.Arbitrary<Scene> =>
  fc.record({
    rules,
    key: fc.constantFrom('logs/a', 'logs/b', 'data/a'),
    size: fc.nat(10),
    tag: fc.constantFrom('x', 'y'),
    // At midnight to the millisecond, and at any other time.
    offset: fc.oneof(fc.constant(0), fc.nat(DAY_MS - 1)),
    versioned: fc.boolean(),
  })

/** Each run gets a server whose clock is at the scene's time of day. */
async function begin(client: Client, { clock, parts }: Served, scene: Scene, run: number): Promise<string> {
  // The next midnight, so that no run starts before another's time.
  clock.move(DAY_MS - (clock.now() % DAY_MS) + scene.offset)
  const bucket = await makeBucket(client, `bucket-${run}`)
  if (scene.versioned) await parts.store.buckets.setVersioning(bucket, 'on')
  const set = await documentsOf(client, bucket, 'lifecycle').put(within('LifecycleConfiguration', scene.rules))
  assert.equal(set.status, 200, set.body.toString())
  return bucket
}

async function work({ parts }: Served): Promise<void> {
  const worker = new Lifecycle(parts.store.context)
  await runUntilIdle(worker)
  assert.equal(worker.failures, 0, String(worker.lastFailure))
}

/** It exists a millisecond before, and is gone at that moment. */
async function goesAt(served: Served, due: number, isThere: () => Promise<boolean>): Promise<void> {
  const { clock } = served
  if (due > clock.now()) {
    clock.move(due - 1 - clock.now())
    await work(served)
    assert.equal(await isThere(), true, 'a millisecond before')
    clock.move(1)
  }
  await work(served)
  assert.equal(await isThere(), false, 'at the moment that was told')
}

async function stays(served: Served, isThere: () => Promise<boolean>): Promise<void> {
  served.clock.move(400 * DAY_MS)
  await work(served)
  assert.equal(await isThere(), true, 'nothing was told')
}

inBoth(
  'R59, R89: the expiration header is the first time at which the worker expires an object',
  async (client, served) => {
    let run = 0
    const property = fc.asyncProperty(
      scenes(
        rulesOf(
          fc.oneof(ages, dates).map(inside => within('Expiration', inside)),
          filters,
        ),
      ),
      async scene => {
        const bucket = await begin(client, served, scene, run++)
        const path = `/${scene.key}`
        const headers = [[':tagging', `kind=${scene.tag}`]] as const
        const put = await client.send({ method: 'PUT', bucket, path, body: 'x'.repeat(scene.size), headers })
        assert.equal(put.status, 200)
        const head = () => client.send({ method: 'HEAD', bucket, path })
        const told = put.own('expiration')
        assert.equal((await head()).own('expiration'), told)
        const isThere = async (): Promise<boolean> => (await head()).status === 200
        if (told === undefined) return stays(served, isThere)
        await goesAt(served, Date.parse(/^expiry-date="([^"]*)"/.exec(told)?.[1] ?? ''), isThere)
      },
    )
    await fc.assert(property, { numRuns: RUNS })
  },
)

inBoth('R67: the abort date is the first time at which the worker aborts an upload', async (client, served) => {
  let run = 0
  const aborting = fc.integer({ min: 1, max: 5 }).map(days => within('DaysAfterInitiation', days))
  const action = aborting.map(inside => within('AbortIncompleteMultipartUpload', inside))
  const prefixes = fc.constantFrom('', 'logs/', 'logs/a', 'data/').map(prefix => within('Prefix', prefix))
  const property = fc.asyncProperty(scenes(rulesOf(action, prefixes)), async scene => {
    const bucket = await begin(client, served, scene, run++)
    const begun = await client.send({ method: 'POST', bucket, path: `/${scene.key}?uploads` })
    const path = `/${scene.key}?uploadId=${text(begun.xml(), 'UploadId')}`
    const list = () => client.send({ method: 'GET', bucket, path })
    const told = begun.own('abort-date')
    assert.equal((await list()).own('abort-date'), told)
    const isThere = async (): Promise<boolean> => (await list()).status === 200
    if (told === undefined) return stays(served, isThere)
    await goesAt(served, Date.parse(told), isThere)
  })
  await fc.assert(property, { numRuns: RUNS })
})

inBoth('R89: unreadable lifecycle rules do not fail a write', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const rule = within('Rule', `${within('Status', 'Enabled')}<Filter/>${within('Expiration', within('Days', 1))}`)
  const set = await documentsOf(client, bucket, 'lifecycle').put(within('LifecycleConfiguration', rule))
  assert.equal(set.status, 200, set.body.toString())
  const made = await client.send({ method: 'PUT', bucket, path: '/k', body: 'first' })
  assert.ok(made.own('expiration'))
  const meta = parts.store.context.meta as { get: Meta['get'] }
  const look = meta.get.bind(meta)
  meta.get = async key => {
    if (key.equals(recordKey.document(bucket, 'lifecycle'))) throw new DamagedRecord(key)
    return look(key)
  }
  const answer = await client.send({ method: 'PUT', bucket, path: '/k', body: 'second' })
  meta.get = look
  assert.deepEqual([answer.status, answer.own('expiration')], [200, undefined])
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'second')
})
