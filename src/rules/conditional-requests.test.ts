import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import {
  bareEtag,
  checkCopySource,
  checkPrecondition,
  checkRead,
  parseEtags,
  quotedEtag,
  type ReadConditions,
  rangeApplies,
} from './conditional-requests.ts'
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

const readOutcome = (check: typeof checkRead | typeof checkCopySource, want: Partial<ReadConditions>): string => {
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
    assert.equal(readOutcome(checkRead, want), read, JSON.stringify(want))
    assert.equal(readOutcome(checkCopySource, want), copy, JSON.stringify(want))
  }
})

test('R49: a copy proceeds exactly when a read would', () => {
  const tags = fc.constantFrom(undefined, '"abc"', '"x"', '*', 'W/"abc"')
  const dates = fc.constantFrom(undefined, before, same, after, 'nonsense')
  const any = fc.record({ ifMatch: tags, ifNoneMatch: tags, ifModifiedSince: dates, ifUnmodifiedSince: dates })
  fc.assert(
    fc.property(any, want => {
      assert.equal(readOutcome(checkRead, want) === 'proceed', readOutcome(checkCopySource, want) === 'proceed')
      // An ETag condition makes the date condition beside it irrelevant.
      if (want.ifMatch !== undefined && want.ifNoneMatch !== undefined) {
        const { ifMatch, ifNoneMatch } = want
        assert.equal(readOutcome(checkRead, want), readOutcome(checkRead, { ifMatch, ifNoneMatch }))
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
          assert.equal(readOutcome(checkCopySource, want).slice(0, 3), refused ? '412' : 'pro', JSON.stringify(want))
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

const writeOutcome = (
  ifMatch: string[] | undefined,
  ifNoneMatch: string[] | undefined,
  etag: string | undefined,
): string => {
  try {
    checkPrecondition({ ifMatch, ifNoneMatch }, etag)
    return 'proceed'
  } catch (error) {
    assert(error instanceof Fault)
    return String(error.detail.Condition)
  }
}

test('R92–R94: both conditions are evaluated, If-Match first', () => {
  assert.equal(writeOutcome(undefined, undefined, undefined), 'proceed')
  assert.equal(writeOutcome(['a'], undefined, 'a'), 'proceed')
  assert.equal(writeOutcome(['b', 'a'], undefined, 'a'), 'proceed')
  assert.equal(writeOutcome(['*'], undefined, 'a'), 'proceed')
  assert.equal(writeOutcome(['b'], undefined, 'a'), 'If-Match')
  assert.equal(writeOutcome(['*'], undefined, undefined), 'If-Match')
  assert.equal(writeOutcome(undefined, ['a'], 'a'), 'If-None-Match')
  assert.equal(writeOutcome(undefined, ['*'], 'a'), 'If-None-Match')
  assert.equal(writeOutcome(undefined, ['*'], undefined), 'proceed')
  assert.equal(writeOutcome(undefined, ['b'], 'a'), 'proceed')
  assert.equal(writeOutcome(['b'], ['a'], 'a'), 'If-Match')
  assert.equal(writeOutcome(['a'], ['a'], 'a'), 'If-None-Match')
})

test('lists of tags: quotes optional, weak ones, any', () => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['"a"', ['a']],
    ['a', ['a']],
    ['*', ['*']],
    ['"a", "b-2",c', ['a', 'b-2', 'c']],
    ['  "a"\t,\t"b"  ', ['a', 'b']],
    ['"a,b"', ['a,b']],
    ['W/"a"', ['a']],
    ['W/"a", "b"', ['a', 'b']],
    ['""', ['']],
    ['', []],
    [' , ,', []],
    ['"a', ['"a']],
    ['"a"b', ['"a"b']],
    ['w/"a"', ['w/"a"']],
  ]
  for (const [header, tags] of rows) assert.deepEqual(parseEtags(header, 'weak'), tags, header)
})

test('a weak ETag does not satisfy If-Match', () => {
  assert.deepEqual(parseEtags('W/"a", "b"', 'strong'), ['W/"a"', 'b'])
})

test('quoted tags are parsed back from lists of any length', () => {
  const tag = fc.string().filter(text => !text.includes('"'))
  fc.assert(
    fc.property(fc.array(tag, { maxLength: 20 }), tags => {
      assert.deepEqual(parseEtags(tags.map(quotedEtag).join(', '), 'strong'), tags)
    }),
  )
})

test('parsing any header terminates', () => {
  const piece = fc.constantFrom('"', ',', ' ', 'W/', '*', 'a', '\t')
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const tags = parseEtags(pieces.join(''), 'weak')
      assert(tags.join('').length <= pieces.join('').length)
    }),
  )
  assert.equal(parseEtags('"a",'.repeat(4000), 'weak').length, 4000)
  assert.equal(parseEtags(' '.repeat(16_000), 'weak').length, 0)
})

test('R75: a tag in a document, with or without quotes', () => {
  assert.equal(bareEtag('"abc-3"'), 'abc-3')
  assert.equal(bareEtag(' abc '), 'abc')
  assert.equal(bareEtag('"'), '"')
  assert.equal(bareEtag('""'), '')
})
