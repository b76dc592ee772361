/**
 * Lifecycle compared with a model: random histories, locks and rules. The model knows a bucket as the listing shows it
 * and applies the rules one version at a time, in an independent implementation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../src/lib/clock.ts'
import type { Random } from '../../src/lib/random.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { type Lock, NO_ATTRIBUTES } from '../../src/model/version.ts'
import { DELETE_MARKER } from '../../src/store/objects/objects.ts'
import type { Store } from '../../src/store/store.ts'
import { shortOrLong } from '../long.ts'
import { assertWhole, below, chance, freshStore, makeBucket, OWNER, oneOf, remove, settle } from './fixture.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SEEDS = shortOrLong(40, 300, 'HOLDFAST_MODEL_SEEDS')
const KEYS = ['a/1', 'a/2', 'b/1'] as const
const KINDS = ['off', 'on', 'suspended', 'locked'] as const

interface Rule {
  readonly prefix: string
  readonly tag: string | undefined
  readonly over: number | undefined
  readonly expire: number | 'marker' | undefined
  readonly noncurrent: { readonly days: number; readonly keep: number } | undefined
}

interface Seen {
  readonly key: string
  readonly id: string
  readonly marker: boolean
  readonly at: number
  readonly size: number
  readonly tag: string | undefined
  readonly lock: Lock
}

const maybe = <T>(random: Random, make: () => T): T | undefined => (random.fraction() < 0.5 ? make() : undefined)

function someRule(random: Random): Rule {
  const isPlain = random.fraction() < 0.6
  const expire = maybe(random, () => (isPlain && random.fraction() < 0.3 ? ('marker' as const) : 1 + below(random, 4)))
  return {
    prefix: oneOf(random, ['', 'a/', 'a/1', 'b']),
    tag: isPlain ? undefined : maybe(random, () => oneOf(random, ['x', 'y'])),
    over: isPlain ? undefined : maybe(random, () => below(random, 8)),
    expire,
    noncurrent:
      expire === undefined || random.fraction() < 0.5
        ? { days: 1 + below(random, 3), keep: below(random, 3) }
        : undefined,
  }
}

const element = (name: string, inside: string | number): string => `<${name}>${inside}</${name}>`

function asXml({ prefix, tag, over, expire, noncurrent }: Rule): string {
  const filter =
    element('Prefix', prefix) +
    (tag === undefined ? '' : element('Tag', element('Key', 'k') + element('Value', tag))) +
    (over === undefined ? '' : element('ObjectSizeGreaterThan', over))
  const inner = expire === 'marker' ? element('ExpiredObjectDeleteMarker', 'true') : element('Days', expire ?? 0)
  const keep = noncurrent?.keep ? element('NewerNoncurrentVersions', noncurrent.keep) : ''
  return element(
    'Rule',
    element('Status', 'Enabled') +
      element('Filter', element('And', filter)) +
      (expire === undefined ? '' : element('Expiration', inner)) +
      (noncurrent === undefined
        ? ''
        : element('NoncurrentVersionExpiration', element('NoncurrentDays', noncurrent.days) + keep)),
  )
}

async function lookAt(store: Store): Promise<Seen[]> {
  const { items } = await store.listing.versions({ bucket: 'bucket', limit: 1000 })
  const seen = items.map(async ({ key, version: { id, marker, modifiedAt, size } }) => {
    const { lock, attributes } = marker
      ? DELETE_MARKER
      : await store.objects.head({ bucket: 'bucket', key, versionId: id })
    return { ...{ key, id, marker, at: modifiedAt, size, lock }, tag: attributes.tags[0]?.[1] }
  })
  return Promise.all(seen)
}

/** The first midnight at least this many days later. */
function midnightAfter(from: number, days: number): number {
  const date = new Date(from)
  date.setUTCDate(date.getUTCDate() + days)
  if (date.getTime() % DAY_MS === 0) return date.getTime()
  date.setUTCHours(24, 0, 0, 0)
  return date.getTime()
}

function fits(rule: Rule, seen: Seen): boolean {
  if (!seen.key.startsWith(rule.prefix)) return false
  if (seen.marker) return rule.tag === undefined && rule.over === undefined
  return (rule.tag === undefined || rule.tag === seen.tag) && (rule.over === undefined || seen.size > rule.over)
}

const isLocked = ({ lock }: Seen, now: number): boolean =>
  lock.hold === true || (lock.retention !== undefined && lock.retention.until > now)

/** The remaining versions of one key, newest first. */
function survivors(
  versions: readonly Seen[],
  rules: readonly Rule[],
  kind: (typeof KINDS)[number],
  now: number,
): Seen[] {
  let left = [...versions]
  const top = left[0]!
  const expires = ({ expire }: Rule, { at }: Seen): boolean =>
    typeof expire === 'number' && midnightAfter(at, expire) <= now
  if (!top.marker && top.lock.hold !== true && rules.some(rule => fits(rule, top) && expires(rule, top))) {
    if (kind === 'off') return []
    const marker = { ...top, id: kind === 'suspended' ? 'null' : 'new', marker: true, at: now, size: 0 }
    if (kind === 'suspended') left = left.filter(({ id }) => id !== 'null')
    left.unshift({ ...marker, tag: undefined, lock: { hold: undefined, retention: undefined } })
  }
  for (let i = 1; i < left.length; ) {
    const one = left[i]!
    const goes = rules.some(
      rule =>
        rule.noncurrent !== undefined &&
        fits(rule, one) &&
        i - 1 >= rule.noncurrent.keep &&
        midnightAfter(left[i - 1]!.at, rule.noncurrent.days) <= now,
    )
    if (goes && !isLocked(one, now)) left.splice(i, 1)
    else i++
  }
  const [last, ...more] = left
  const isLone = more.length === 0 && last!.marker
  return isLone && rules.some(rule => fits(rule, last!) && (rule.expire === 'marker' || expires(rule, last!)))
    ? []
    : left
}

async function live(store: Store, clock: ManualClock, random: Random, kind: (typeof KINDS)[number]): Promise<void> {
  for (let left = 3 + below(random, 8); left > 0; left--) {
    clock.move(below(random, 20) * HOUR_MS)
    const key = oneOf(random, KEYS)
    if (random.fraction() < 0.25) {
      await remove(store, 'bucket', key)
      continue
    }
    const until = clock.now() + (1 + below(random, 100)) * HOUR_MS
    const lock: Lock = {
      hold: maybe(random, () => random.fraction() < 0.4),
      retention: maybe(random, () => ({ mode: oneOf(random, ['governance', 'compliance'] as const), until })),
    }
    await store.objects.put({
      ...{ bucket: 'bucket', key, owner: OWNER, body: [Buffer.alloc(below(random, 10))] },
      attributes: { ...NO_ATTRIBUTES, tags: [['k', oneOf(random, ['x', 'y'])]] },
      ...(kind === 'locked' ? { lock } : {}),
    })
  }
}

const shown = ({ key, id, marker, at }: Seen): string => (marker ? `${key} ! ${at}` : `${key} ${id}`)

test('lifecycle leaves what a model leaves, whatever the history, the locks and the rules', async () => {
  const changes = { taken: 0, marked: 0, locked: 0 }
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = chance(seed)
    const { store, clock } = await freshStore(seed)
    const kind = oneOf(random, KINDS)
    await makeBucket(store, 'bucket', kind)
    for (let round = 0; round < 4; round++) {
      await live(store, clock, random, kind)
      const rules = Array.from({ length: 1 + below(random, 3) }, () => someRule(random))
      await store.documents.put('bucket', 'lifecycle', element('LifecycleConfiguration', rules.map(asXml).join('')))
      clock.move(below(random, 60) * HOUR_MS)
      const before = await lookAt(store)
      const expected = KEYS.flatMap(key => {
        const versions = before.filter(one => one.key === key)
        return versions.length === 0 ? [] : survivors(versions, rules, kind, clock.now())
      })
      const worker = new Lifecycle(store.context)
      await runUntilIdle(worker)
      assert.equal(worker.failures, 0, `seed ${seed}: ${worker.lastFailure}`)
      const after = await lookAt(store)
      assert.deepEqual(after.map(shown), expected.map(shown), `seed ${seed}, round ${round}, ${kind}`)
      changes.taken += worker.removed
      changes.marked += worker.marked
      changes.locked += worker.locked
    }
    await settle(store)
    await assertWhole(store)
  }
  assert(changes.taken > SEEDS && changes.marked > SEEDS / 4 && changes.locked > SEEDS / 8, JSON.stringify(changes))
})
