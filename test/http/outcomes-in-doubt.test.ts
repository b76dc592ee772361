/**
 * A commit whose outcome is not known yet, as after the loss of a database: the client gets 503 in bounded time, and
 * everything in memory that depends on the outcome is right whichever way it turns out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineUnavailable } from '../../src/lib/engine-unavailable.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { TRANSACTION_MS_MAX } from '../../src/store/commit/transaction-deadline.ts'
import { assertExact } from '../store/usage-reference.ts'
import { get, lockBucket, put } from './actions.ts'
import type { RemoteMeta } from './remote-meta.ts'
import { withRemoteServer } from './remote-server.ts'
import { makeBucket, type Received, type Sending, type Served } from './server.ts'

type Outcome = 'committed' | 'committed late' | 'not committed' | 'never sent'
const OUTCOMES: readonly Outcome[] = ['committed', 'committed late', 'not committed', 'never sent']

const TURNS_MAX = 10_000
const PACKED = Buffer.alloc(20_000, 'packed')
/** Stored in a file of its own, which is removed at once when the upload fails. */
const SOLO = Buffer.alloc(2 * 2 ** 20, 'solo')

/** Commits that wait for their outcome. */
class Doubt {
  readonly #meta: RemoteMeta
  readonly #outcome: Outcome
  #settle: (() => void)[] = []
  #arrived = (): void => {}
  /** Resolves when the first commit is in doubt. */
  readonly begun = new Promise<void>(resolve => {
    this.#arrived = resolve
  })

  constructor(meta: RemoteMeta, outcome: Outcome) {
    this.#meta = meta
    this.#outcome = outcome
    meta.inDoubt = commit => this.#hold(commit)
  }

  async #hold(commit: () => Promise<boolean>): Promise<boolean> {
    const early = this.#outcome === 'committed' ? await commit() : undefined
    const settled = new Promise<void>(resolve => this.#settle.push(resolve))
    this.#arrived()
    await settled
    if (this.#outcome === 'never sent') throw new EngineUnavailable('no primary')
    // A batch that was given up is sent again.
    return early ?? commit()
  }

  end(): void {
    this.#meta.inDoubt = undefined
    for (const settle of this.#settle) settle()
  }
}

/** Sends requests whose commits stay in doubt until the clients have been answered. */
async function answersInDoubt(
  meta: RemoteMeta,
  { s3, clock }: Served,
  outcome: Outcome,
  requests: readonly Sending[],
): Promise<readonly Received[]> {
  const doubt = new Doubt(meta, outcome)
  const answers = requests.map(request => s3.send(request))
  await doubt.begun
  let isAnswered = false
  const all = Promise.all(answers).finally(() => {
    isAnswered = true
  })
  // Requests reach their transactions one after the other.
  for (let turn = 0; turn < TURNS_MAX && !isAnswered; turn++) {
    clock.move(TRANSACTION_MS_MAX)
    await new Promise(resolve => setImmediate(resolve))
  }
  const wasAnswered = isAnswered
  doubt.end()
  const received = await all
  assert(wasAnswered, 'the clients waited for the outcome')
  return received
}

/** Background work has ended, and every invariant holds. */
async function assertSound(meta: RemoteMeta, { parts }: Served): Promise<void> {
  const { store } = parts
  await store.context.drafts.drained()
  const reclaimer = new Reclaimer(store.context)
  while ((await reclaimer.step()) === 'busy') {}
  assert.deepEqual((await fsck(store.context)).problems, [])
  await assertExact(meta, 'afterwards')
}

function assertUnavailable(answers: readonly Received[]): void {
  for (const answer of answers) {
    assert.equal(answer.status, 503)
    assert.equal(answer.code(), 'ServiceUnavailable')
    assert.equal(answer.headers.get('connection'), 'close')
  }
}

for (const outcome of OUTCOMES) {
  test(`in doubt, then ${outcome}: an upload is either there or leaves nothing`, () =>
    withRemoteServer(async (client, meta, served) => {
      const bucket = await makeBucket(client)
      await put(client, bucket, '/before', PACKED)
      for (const body of [PACKED, SOLO]) {
        const request = { method: 'PUT', bucket, path: `/${body.length}`, body }
        assertUnavailable(await answersInDoubt(meta, served, outcome, [request]))
        await assertSound(meta, served)
        const found = await get(client, bucket, request.path)
        assert.equal(found.status, outcome === 'never sent' ? 404 : 200)
        if (found.status === 200) assert(found.body.equals(body))
        await put(client, bucket, request.path, 'later')
        await put(client, bucket, '/after', PACKED)
        await assertSound(meta, served)
      }
    }))

  test(`in doubt, then ${outcome}: the ledger holds exactly the changes that took effect`, () =>
    withRemoteServer(async (client, meta, served) => {
      const { ledger } = served.parts.store
      const bucket = await lockBucket(client)
      const requests = ['a', 'b', 'c'].map(key => ({
        method: 'PUT',
        bucket,
        path: `/${key}`,
        body: key,
        headers: [
          [':object-lock-legal-hold', 'ON'],
          [':checksum-crc32', { a: '6Le+Qw==', b: 'cb7v+Q==', c: 'Brnfbw==' }[key]!],
        ] as const,
      }))
      assertUnavailable(await answersInDoubt(meta, served, outcome, requests))
      const last = await client.send({ ...requests[0]!, path: '/last' })
      assert.equal(last.status, 200, last.body.toString())
      await assertSound(meta, served)
      assert.equal((await ledger.verify(bucket)).problem, undefined)
      let created = 0
      for (const key of ['a', 'b', 'c']) if ((await get(client, bucket, `/${key}`)).status === 200) created++
      // The group in doubt may be any of the three; the others were not begun when the clients were answered.
      if (outcome === 'never sent') assert.equal(created, 0)
      else assert(created >= 1)
      assert.equal(await entriesOf(served, bucket, 'created'), created + 1)
    }))

  test(`in doubt, then ${outcome}: a refusal by a lock is recorded before it is answered`, () =>
    withRemoteServer(async (client, meta, served) => {
      const bucket = await lockBucket(client)
      const headers = [
        [':object-lock-legal-hold', 'ON'],
        [':checksum-crc32', '6Le+Qw=='],
      ] as const
      const held = await client.send({ method: 'PUT', bucket, path: '/k', body: 'a', headers })
      assert.equal(held.status, 200, held.body.toString())
      const removal = { method: 'DELETE', bucket, path: `/k?versionId=${held.own('version-id')}` }
      assertUnavailable(await answersInDoubt(meta, served, outcome, [removal]))
      assert.equal((await client.send(removal)).status, 403)
      await assertSound(meta, served)
      assert.equal((await get(client, bucket, '/k')).status, 200)
      const refused = await entriesOf(served, bucket, 'delete refused')
      assert.equal(refused, outcome === 'never sent' ? 1 : 2)
      assert.equal((await served.parts.store.ledger.verify(bucket)).problem, undefined)
    }))
}

async function entriesOf({ parts }: Served, bucket: string, what: string): Promise<number> {
  return (await parts.store.ledger.entries(bucket)).filter(entry => entry.what === what).length
}
