/** Policies in the console: places in their text, and their meaning in words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf, syntaxMistake } from '../../console/src/access/json-places.ts'
import { templatesFor } from '../../console/src/access/policy-templates.ts'
import { changeOfMeaning, policyWords } from '../../console/src/access/policy-words.ts'
import { policyProblems } from '../../src/rules/access/policy.ts'

const POLICY = `{
  "Version": "2012-10-17",
  "Statement": [
    { "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": "*" },
    { "Effect": "Deny", "NotAction": "s3:GetObject", "Resource": "*", "Condition": { "Bool": { "a\\u0062": "x" } } }
  ]
}`

const partOf = (text: string, ...path: (string | number)[]): string => {
  const { from, to } = placeOf(text, path)
  return text.slice(from, to)
}

test('a path leads to its place in the text, or to the nearest part around it', () => {
  assert.equal(partOf(POLICY, 'Version'), '"Version": "2012-10-17"')
  assert.equal(partOf(POLICY, 'Statement', 0, 'Action', 1), '"s3:PutObject"')
  assert.match(partOf(POLICY, 'Statement', 1), /^\{ "Effect": "Deny".*\}$/)
  assert.equal(partOf(POLICY, 'Statement', 1, 'Condition', 'Bool', 'ab'), '"a\\u0062": "x"')
  assert.equal(partOf(POLICY, 'Statement', 1, 'NotAction', 0), '"NotAction": "s3:GetObject"'.slice(13))
  assert.match(partOf(POLICY, 'Statement', 1, 'Principal'), /^\{ "Effect": "Deny"/)
  assert.equal(partOf(POLICY), POLICY)
  assert.equal(partOf('{"Statement":{"Effect":"Deny"}}', 'Statement', 0, 'Effect'), '"Effect":"Deny"')
  assert.equal(partOf('', 'Statement'), '')
})

test('invalid JSON is marked where the error begins', () => {
  assert.equal(syntaxMistake(POLICY), undefined)
  assert.deepEqual(syntaxMistake('{ "a": x }'), { from: 7, to: 8 })
  assert.equal(syntaxMistake('{ "a": 1')!.from, 7)
  assert.deepEqual(syntaxMistake(''), { from: 0, to: 0 })
})

test('statements are described in words', () => {
  const words = (statement: object): string => policyWords(JSON.stringify({ Statement: statement }))[0]!
  const base = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
  assert.equal(words(base), 'Allows this user: GetObject on photos/*')
  assert.equal(words({ ...base, Principal: '*' }), 'Allows everyone: GetObject on photos/*')
  assert.equal(
    words({ ...base, Effect: 'Deny', Principal: { AWS: ['arn:aws:iam::111111111111:user/ann', '222222222222'] } }),
    'Denies user ann of 111111111111, account 222222222222: GetObject on photos/*',
  )
  assert.equal(
    words({ Effect: 'Deny', NotPrincipal: { AWS: '*' }, NotAction: ['s3:Get*'], NotResource: '*' }),
    'Denies everyone but everyone: everything but Get* on everything but everything',
  )
  assert.equal(
    words({ ...base, Action: 's3:*', Resource: '*', Condition: { IpAddress: { 'aws:SourceIp': ['10.0.0.0/8'] } } }),
    'Allows this user: every action on everything, only if aws:SourceIp IpAddress 10.0.0.0/8',
  )
  assert.deepEqual(policyWords('no policy'), [])
  assert.deepEqual(policyWords('[]'), [])
})

test('a change lists added and removed statements', () => {
  assert.deepEqual(changeOfMeaning(['a', 'b'], ['b', 'c']), { added: ['c'], removed: ['a'] })
})

test('starting points are valid policies', () => {
  for (const bucket of [undefined, 'photos']) {
    for (const { name, text } of templatesFor(bucket)) assert.deepEqual(policyProblems(text, bucket), [], name)
  }
})
