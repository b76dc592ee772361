/** P23. Disabling a key scans every version. The scan may take long, be interrupted, and be cancelled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry, Meta } from '../../src/meta/meta.ts'
import { SERVER_ACTOR } from '../../src/model/ledger.ts'
import type { Lock } from '../../src/model/version.ts'
import { keyRanges } from '../../src/store/commit/record-keys.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { shortOrLong } from '../long.ts'
import {
  below,
  bytesOf,
  chance,
  type Fresh,
  faultOf,
  freshStore,
  gate,
  makeBucket,
  OWNER,
  openOn,
  payload,
  put,
  turn,
  unhurried,
  verdict,
} from './fixture.ts'

const DISABLED = 'KMS.DisabledException'
const HELD: Lock = { hold: true, retention: undefined }
const UNLOCKED: Lock = { hold: undefined, retention: undefined }
/** Schedules of a race. */
const SEEDS = shortOrLong(40, 100)
/** More than the pages of a scan that are read before the crash. */
const VERSIONS = 8_500
const under = (name: string): KeyChoice => ({ by: 'named', name, context: undefined, bucketKey: false })

const putUnder = (store: Store, name: string, key: string, lock = UNLOCKED) =>
  store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [payload(10)], encryption: under(name), lock })

const beginUnder = (store: Store, name: string, key: string, lock: Lock) =>
  store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER, encryption: under(name), lock })

/** A separate request, as the console makes one. */
const asked = (store: Store): Store => store.forRequest(store.context.meta, SERVER_ACTOR)

/** Pauses at each page of versions; `pages` counts them. */
function slowed({ meta }: Pick<Fresh, 'meta'>): { pages: number; waiting: ReturnType<typeof gate>; undo(): void } {
  const seam = meta as { scan: Meta['scan'] }
  const { scan } = meta
  const slow = { pages: 0, waiting: gate(), undo: () => void (seam.scan = scan) }
  seam.scan = async (range, ...rest) => {
    if (range.start[0] === 'o'.charCodeAt(0) || range.start[0] === 'v'.charCodeAt(0)) {
      slow.pages++
      await slow.waiting.opened
    }
    return scan.call(meta, range, ...rest)
  }
  return slow
}

/** Disables a key and gets the response that the scan continues, which it does until the gate opens. */
async function askedTooLong(fresh: Fresh): Promise<ReturnType<typeof slowed>> {
  const slow = slowed(fresh)
  const asking = asked(fresh.store).namedKeys.disable('one')
  while (slow.pages === 0) await turn()
  // The response waits for the scan, which has already started.
  for (let left = 5; left > 0; left--) await turn()
  fresh.clock.move(5_000)
  assert.equal(await asking, 'checking')
  return slow
}

test('P23: a long scan continues in the background, and the next request reports its result', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket', 'locked')
  await putUnder(store, 'one', 'free')
  const slow = await askedTooLong(fresh)
  assert.deepEqual(asked(store).namedKeys.get('one'), { name: 'one', version: 1, disabled: false, checking: 0 })
  assert.equal(await faultOf(putUnder(store, 'one', 'more')), DISABLED)
  // It might be at a position that the scan has already passed.
  assert.equal(await faultOf(beginUnder(store, 'one', 'upload', HELD)), DISABLED)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'free' })).equals(payload(10)))
  // No other operation waits for the scan.
  await asked(store).namedKeys.rotate({ of: 'service' })
  await asked(store).namedKeys.enable('other')
  const again = asked(store).namedKeys.disable('one')
  slow.waiting.open()
  assert.equal(await again, 'disabled')
  assert.equal(await faultOf(bytesOf(store, { bucket: 'bucket', key: 'free' })), DISABLED)
  assert.equal(await asked(store).namedKeys.disable('one'), 'disabled')
  const told = (await store.ledger.entries('_store')).map(({ what }) => what)
  assert.equal(told.filter(what => what === 'key disabled').length, 1)
})

test('P23: a refusal found after the response is reported to the next request, without another scan', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await putUnder(store, 'one', 'held', HELD)
  const slow = await askedTooLong(fresh)
  slow.waiting.open()
  while (asked(store).namedKeys.get('one').checking !== undefined) await turn()
  const before = slow.pages
  assert.equal(await faultOf(asked(store).namedKeys.disable('one')), 'KeyInUse')
  assert.equal(slow.pages, before)
  await putUnder(store, 'one', 'more')
  await store.objects.setHold({ bucket: 'bucket', key: 'held', versionId: id }, false)
  assert.equal(await asked(store).namedKeys.disable('one'), 'disabled')
})

/** The records of many versions that use no key. */
async function makeVersions(): Promise<readonly Entry[]> {
  const { store, meta } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const names = Array.from({ length: VERSIONS }, (_, n) => `k${String(n).padStart(6, '0')}`)
  for (let from = 0; from < VERSIONS; from += 100) {
    await Promise.all(names.slice(from, from + 100).map(name => put(store, 'bucket', name, 'plain')))
  }
  return meta.scan(keyRanges.current('bucket'), VERSIONS)
}

/** Made once, and stored directly by each test. */
let versions: ReturnType<typeof makeVersions> | undefined

/** Crashes in the middle of a scan of many versions, of which the last uses the key. */
async function killedInALook(lock = UNLOCKED): Promise<Fresh> {
  const fresh = await freshStore()
  const { store, meta } = fresh
  await makeBucket(store, 'bucket', 'locked')
  versions ??= makeVersions()
  const records = await versions
  assert.equal(records.length, VERSIONS)
  for (let from = 0; from < VERSIONS; from += 100) {
    await meta.commit({ checks: [], writes: records.slice(from, from + 100) })
  }
  await putUnder(store, 'one', 'last', lock)
  const { scan } = meta
  let pages = 0
  const dead = gate()
  const seam = meta as { scan: Meta['scan'] }
  seam.scan = async (...args) => {
    if (++pages > 16) await dead.opened
    return scan.apply(meta, args)
  }
  void store.namedKeys.disable('one').catch(() => {})
  while (pages <= 16) await turn()
  seam.scan = scan
  return fresh
}

test('P23: a scan interrupted by a crash resumes where it was', async () => {
  for (const lock of [UNLOCKED, HELD]) {
    const fresh = await killedInALook(lock)
    const next = await openOn(fresh)
    assert.equal(await faultOf(putUnder(next, 'one', 'more')), DISABLED, 'the key is not closed')
    const slow = slowed(fresh)
    slow.waiting.open()
    assert.equal(await verdict(next.namedKeys.disable('one')), lock === HELD ? 'KeyInUse' : 'ok')
    assert.ok(slow.pages <= 3, `${slow.pages} pages`)
    slow.undo()
    assert.equal(next.context.keyring.keyState('one').disabled, lock !== HELD)
  }
})

test('P23: an interrupted scan starts over once the key was enabled', async () => {
  const fresh = await killedInALook()
  const next = await openOn(fresh)
  await next.namedKeys.enable('one')
  await putUnder(next, 'one', 'a', HELD)
  const slow = slowed(fresh)
  slow.waiting.open()
  assert.equal(await faultOf(next.namedKeys.disable('one')), 'KeyInUse')
  slow.undo()
  assert.ok((await bytesOf(next, { bucket: 'bucket', key: 'a' })).equals(payload(10)))
})

test('P23: a key enabled during a scan stays enabled, and no lock is overlooked', async () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { store } = await freshStore(seed, meta => unhurried(meta, chance(seed)))
    await makeBucket(store, 'bucket', 'locked')
    const { id } = await putUnder(store, 'one', 'key')
    const which = { bucket: 'bucket', key: 'key', versionId: id }
    const enabling = async (): Promise<void> => {
      for (let left = below(chance(seed), 60); left > 0; left--) await turn()
      await asked(store).namedKeys.enable('one')
    }
    const [disabled, held] = await Promise.all([
      verdict(asked(store).namedKeys.disable('one')),
      verdict(enabling().then(() => asked(store).objects.setHold(which, true))),
    ])
    outcomes.add(`${disabled} ${held}`)
    const isDisabled = store.context.keyring.keyState('one').disabled
    if (held === 'ok') assert.ok((await bytesOf(store, which)).equals(payload(10)), `seed ${seed}: ${disabled}`)
    assert.equal(isDisabled, held !== 'ok', `seed ${seed}`)
  }
  assert.ok(outcomes.has('OperationAborted ok'), [...outcomes].join())
})
