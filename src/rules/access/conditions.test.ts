import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contains, readAddress, readRange } from './addresses.ts'
import type { ConditionContext } from './condition-keys.ts'
import { holds, readCondition } from './conditions.ts'
import { readDate } from './dates.ts'

const ask = (operator: string, wanted: string | string[], actual: string[] | undefined, key = 's3:prefix'): boolean => {
  const condition = readCondition(operator, key, [wanted].flat(), true)
  const context: ConditionContext = new Map(actual === undefined ? [] : [[condition.key, actual]])
  return holds(condition, context, false)
}

test('G8: operators, as a table', () => {
  const ann = 'arn:svc:iam::111111111111:user/ann'
  const rows: [string, string | string[], string, boolean][] = [
    ['StringEquals', 'a', 'a', true],
    ['StringEquals', ['b', 'a'], 'a', true],
    ['StringEquals', 'a', 'A', false],
    ['StringEquals', 'a*', 'ab', false],
    ['StringNotEquals', ['b', 'a'], 'a', false],
    ['StringNotEquals', ['b', 'a'], 'c', true],
    ['StringEqualsIgnoreCase', 'ÄB', 'äb', true],
    ['StringEqualsIgnoreCase', 'k', '\u212a', false],
    ['StringNotEqualsIgnoreCase', 'AB', 'ab', false],
    ['StringLike', 'a*c?', 'abbcd', true],
    ['StringNotLike', 'a*', 'b', true],
    ['NumericEquals', '10', '10.0', true],
    ['NumericEquals', '10', 'ten', false],
    ['NumericNotEquals', '10', '11', true],
    ['NumericLessThan', '10', '10', false],
    ['NumericLessThanEquals', '10', '10', true],
    ['NumericGreaterThan', '-1', '0', true],
    ['NumericGreaterThanEquals', '9', '10', true],
    ['DateEquals', '2026-01-01', '2026-01-01T01:00:00+01:00', true],
    ['DateNotEquals', '2026-01-01', '2026-01-02', true],
    ['DateLessThan', '2026-01-01T00:00:00Z', '2025-12-31T23:59:59.999Z', true],
    ['DateLessThanEquals', '1767225600', '2026-01-01T00:00:00Z', true],
    ['DateGreaterThan', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', false],
    ['DateGreaterThanEquals', '2026-01-01T00:00Z', '2026-01-01T00:00:00Z', true],
    ['Bool', 'true', 'TRUE', true],
    ['Bool', 'true', 'false', false],
    ['IpAddress', '10.0.0.0/8', '10.255.0.1', true],
    ['IpAddress', '10.0.0.0/8', 'not an address', false],
    ['NotIpAddress', ['10.0.0.0/8', '::/0'], '11.0.0.1', true],
    ['NotIpAddress', ['10.0.0.0/8', '::/0'], '2001:db8::1', false],
    ['ArnEquals', 'arn:aws:iam::111111111111:user/*', ann, true],
    ['ArnLike', 'arn:*:iam::1*:user/an?', ann, true],
    ['ArnLike', 'arn:*:user/ann:::', ann, false],
    ['ArnNotEquals', ann, ann, false],
    ['ArnNotLike', 'arn:svc:iam::2*:*', ann, true],
  ]
  for (const [operator, wanted, actual, expected] of rows) {
    assert.equal(ask(operator, wanted, [actual]), expected, `${operator} ${wanted} ${actual}`)
    assert.equal(ask(`${operator}IfExists`, wanted, [actual]), expected, `${operator}IfExists ${wanted} ${actual}`)
    assert.equal(ask(`${operator}IfExists`, wanted, undefined), true, operator)
    assert.equal(ask(operator, wanted, undefined), operator.includes('Not'), `${operator}, nothing to compare`)
  }
})

test('G8: Null tests whether a key is present', () => {
  assert.equal(ask('Null', 'true', undefined), true)
  assert.equal(ask('Null', 'false', undefined), false)
  assert.equal(ask('Null', 'true', ['']), false)
  assert.equal(ask('Null', 'false', ['']), true)
})

test('G8: ForAnyValue and ForAllValues over keys with several values', () => {
  const rows: [string, string[] | undefined, boolean][] = [
    ['ForAnyValue:StringEquals', ['a', 'x'], true],
    ['ForAnyValue:StringEquals', ['x'], false],
    ['ForAnyValue:StringEquals', undefined, false],
    ['ForAnyValue:StringNotEquals', ['a', 'x'], true],
    ['ForAnyValue:StringNotEquals', ['a', 'b'], false],
    ['ForAnyValue:StringNotEquals', undefined, false],
    ['ForAllValues:StringEquals', ['a', 'b', 'a'], true],
    ['ForAllValues:StringEquals', ['a', 'x'], false],
    ['ForAllValues:StringEquals', undefined, true],
    ['ForAllValues:StringNotEquals', ['x', 'y'], true],
    ['ForAllValues:StringNotEquals', ['x', 'a'], false],
    ['ForAllValues:StringNotLike', undefined, true],
    ['ForAnyValue:StringEqualsIfExists', undefined, true],
  ]
  for (const [operator, actual, expected] of rows) {
    assert.equal(ask(operator, ['a', 'b'], actual, 's3:RequestObjectTagKeys'), expected, `${operator} ${actual}`)
  }
})

test('G8: a variable is replaced by the request’s value, taken literally', () => {
  const like = (operator: string, wanted: string, prefix: string, name: string | undefined, unknown = false) => {
    const context = new Map([['prefix', [prefix]]])
    if (name !== undefined) context.set('username', [name])
    return holds(readCondition(operator, 's3:prefix', [wanted], true), context, unknown)
  }
  assert.equal(like('StringLike', `home/\${aws:username}/*`, 'home/ann/x', 'ann'), true)
  assert.equal(like('StringLike', `home/\${svc:UserName}/*`, 'home/bob/x', 'ann'), false)
  assert.equal(like('StringLike', `home/\${aws:username}/*`, 'home/ann/x', '*'), false)
  assert.equal(like('StringEquals', `\${aws:username}`, '*', '*'), true)
  assert.equal(like('StringEqualsIgnoreCase', `X\${aws:username}`, 'xANN', 'Ann'), true)
  assert.equal(like('StringLike', `\${*}\${?}\${$}`, '*?$', undefined), true)
  assert.equal(like('StringLike', `\${*}`, 'x', undefined), false)
  for (const unknown of [true, false]) {
    assert.equal(like('StringEquals', `\${aws:username}`, 'x', undefined, unknown), false)
    assert.equal(like('StringNotEquals', `\${aws:username}`, 'x', undefined, unknown), unknown)
  }
  const old = readCondition('StringEquals', 's3:prefix', [`\${aws:username}`], false)
  assert.equal(holds(old, new Map([['prefix', [`\${aws:username}`]]]), false), true)
})

test('G8: addresses and ranges', () => {
  const inside = (range: string, address: string): boolean => contains(readRange(range)!, readAddress(address)!)
  const rows: [string, string, boolean][] = [
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '1.2.3.4', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3/9', '10.127.0.0', true],
    ['10.1.2.3/9', '10.128.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['2001:db8::/32', '2001:DB8:ffff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['::1/128', '0:0:0:0:0:0:0:1', true],
  ]
  for (const [range, address, expected] of rows) assert.equal(inside(range, address), expected, `${range} ${address}`)
  const bad = [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    '1:2',
    '1::2::3',
    ':::',
    'g::',
    '::1.2.3',
    '1.2.3.4::',
  ]
  for (const text of [...bad, '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7::8', '::1%eth0', '0x7f.1', '2130706433', ' ::1']) {
    assert.equal(readAddress(text), undefined, text)
  }
  for (const text of [
    '1.2.3.4/33',
    '::/129',
    '1.2.3.4/',
    '1.2.3.4/08',
    '1.2.3.4/-1',
    '1.2.3.4/1/1',
    '::ffff:1.2.3.4/8',
  ]) {
    assert.equal(readRange(text), undefined, text)
  }
})

test('G8: dates that do not exist are refused', () => {
  assert.equal(readDate('2024-02-29'), Date.UTC(2024, 1, 29))
  const bad = [
    '2023-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:00',
    '0050-01-01',
    'x',
  ]
  for (const text of bad) assert.equal(readDate(text), undefined, text)
})
