import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import { checkCopySource, checkRead, type ReadConditions, rangeApplies } from './conditions.ts'
import { formatHttpDate } from './http-date.ts'

const AT = Date.UTC(2026, 0, 1, 12) + 345
const is = { etag: 'abc', modifiedAt: AT }
const [before, same, after] = [-1000, 0, 1000].map(offset => formatHttpDate(AT + offset)) as [string, string, string]

const NONE: ReadConditions = {
  ifMatch: undefined,
  ifNoneMatch: undefined,
  ifModifiedSince: undefined,
  ifUnmodifiedSince: undefined,
}

const outcome = (check: typeof checkRead | typeof checkCopySource, want: Partial<ReadConditions>): string => {
  try {
    return check({ ...NONE, ...want }, is) === 'known' ? '304' : 'proceed'
  } catch (error) {
    assert(error instanceof Fault)
    return `${error.status} ${error.detail.Condition}`
  }
}

const ROWS: readonly (readonly [Partial<ReadConditions>, read: string, copy: string])[] = [
  [{}, 'proceed', 'proceed'],
  [{ ifMatch: '"abc"' }, 'proceed', 'proceed'],
  [{ ifMatch: 'abc' }, 'proceed', 'proceed'],
  [{ ifMatch: '"x", "abc"' }, 'proceed', 'proceed'],
  [{ ifMatch: '*' }, 'proceed', 'proceed'],
  [{ ifMatch: '"x"' }, '412 If-Match', '412 x-svc-copy-source-If-Match'],
  [{ ifMatch: '' }, '412 If-Match', '412 x-svc-copy-source-If-Match'],
  [{ ifMatch: 'W/"abc"' }, '412 If-Match', '412 x-svc-copy-source-If-Match'],
  [{ ifNoneMatch: '"abc"' }, '304', '412 x-svc-copy-source-If-None-Match'],
  [{ ifNoneMatch: 'W/"abc"' }, '304', '412 x-svc-copy-source-If-None-Match'],
  [{ ifNoneMatch: '*' }, '304', '412 x-svc-copy-source-If-None-Match'],
  [{ ifNoneMatch: '"x"' }, 'proceed', 'proceed'],
  [{ ifModifiedSince: before }, 'proceed', 'proceed'],
  [{ ifModifiedSince: same }, '304', '412 x-svc-copy-source-If-Modified-Since'],
  [{ ifModifiedSince: after }, '304', '412 x-svc-copy-source-If-Modified-Since'],
  [{ ifModifiedSince: 'nonsense' }, 'proceed', 'proceed'],
  [{ ifUnmodifiedSince: before }, '412 If-Unmodified-Since', '412 x-svc-copy-source-If-Unmodified-Since'],
  [{ ifUnmodifiedSince: same }, 'proceed', 'proceed'],
  [{ ifUnmodifiedSince: after }, 'proceed', 'proceed'],
  [{ ifUnmodifiedSince: 'nonsense' }, 'proceed', 'proceed'],
  [{ ifMatch: '"abc"', ifUnmodifiedSince: before }, 'proceed', 'proceed'],
  [{ ifMatch: '"x"', ifUnmodifiedSince: after }, '412 If-Match', '412 x-svc-copy-source-If-Match'],
  [{ ifNoneMatch: '"abc"', ifModifiedSince: before }, '304', '412 x-svc-copy-source-If-None-Match'],
  [{ ifNoneMatch: '"x"', ifModifiedSince: after }, 'proceed', 'proceed'],
  [{ ifMatch: '"x"', ifNoneMatch: '"abc"' }, '412 If-Match', '412 x-svc-copy-source-If-Match'],
  [{ ifMatch: '"abc"', ifNoneMatch: '"abc"' }, '304', '412 x-svc-copy-source-If-None-Match'],
]

test('G11 R49: conditions on reads and on the source of a copy', () => {
  for (const [want, read, copy] of ROWS) {
    assert.equal(outcome(checkRead, want), read, JSON.stringify(want))
    assert.equal(outcome(checkCopySource, want), copy, JSON.stringify(want))
  }
})

test('R49: a copy proceeds exactly when a read would', () => {
  const tags = fc.constantFrom(undefined, '"abc"', '"x"', '*', 'W/"abc"')
  const dates = fc.constantFrom(undefined, before, same, after, 'nonsense')
  const any = fc.record({ ifMatch: tags, ifNoneMatch: tags, ifModifiedSince: dates, ifUnmodifiedSince: dates })
  fc.assert(
    fc.property(any, want => {
      assert.equal(outcome(checkRead, want) === 'proceed', outcome(checkCopySource, want) === 'proceed')
      // An ETag condition makes the date condition beside it irrelevant.
      if (want.ifMatch !== undefined && want.ifNoneMatch !== undefined) {
        const { ifMatch, ifNoneMatch } = want
        assert.equal(outcome(checkRead, want), outcome(checkRead, { ifMatch, ifNoneMatch }))
      }
    }),
  )
})

test('R49: every combination, against the rule as it is written', () => {
  const holds = (sent: string | undefined, ...good: readonly string[]) =>
    sent === undefined ? 'unsent' : good.includes(sent)
  const tags = [undefined, '"abc"', '"x"', '*', 'W/"abc"'] as const
  const dates = [undefined, before, same, after, 'nonsense'] as const
  for (const ifMatch of tags) {
    for (const ifNoneMatch of tags) {
      for (const ifModifiedSince of dates) {
        for (const ifUnmodifiedSince of dates) {
          const match = holds(ifMatch, '"abc"', '*')
          const none = holds(ifNoneMatch, '"x"')
          const unmodified = holds(ifUnmodifiedSince, same, after, 'nonsense')
          const modified = holds(ifModifiedSince, before, 'nonsense')
          const refused =
            match === false ||
            (match === 'unsent' && unmodified === false) ||
            none === false ||
            (none === 'unsent' && modified === false)
          const want = { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince }
          assert.equal(outcome(checkCopySource, want).slice(0, 3), refused ? '412' : 'pro', JSON.stringify(want))
        }
      }
    }
  }
})

test('G11: a range applies to the object it was begun on', () => {
  assert(rangeApplies(undefined, is))
  assert(rangeApplies('"abc"', is))
  assert(rangeApplies('abc', is))
  assert(rangeApplies(same, is))
  for (const text of ['"x"', 'W/"abc"', '*', before, after, 'nonsense', '']) assert(!rangeApplies(text, is), text)
})
