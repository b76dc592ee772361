import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distance, suggestion } from '../lib/did-you-mean.ts'
import { completionFor, placesOf, SHELLS } from './completion.ts'
import { BadUsage } from './failures.ts'
import { COMMANDS } from './index.ts'
import { parse } from './parse.ts'

const refused = (words: readonly string[], message: RegExp): void =>
  assert.throws(
    () => parse(words, COMMANDS),
    (error: unknown) => error instanceof BadUsage && message.test(error.message),
    words.join(' '),
  )

test('words become a command, its arguments and its flags', () => {
  const { command, positionals, values } = parse(
    ['key', 'create', '111111111111', '--user', 'u', '--json', '--data=/srv/x'],
    COMMANDS,
  )
  assert.equal(command.name, 'key create')
  assert.deepEqual(positionals, ['111111111111'])
  assert.deepEqual(Object.fromEntries(values), { user: 'u', json: true, data: '/srv/x' })
})

test('what makes no sense is refused in one line that helps', () => {
  refused(['acount'], /^unknown command: acount - did you mean account\?$/)
  refused(['account'], /^holdfast account what\? list, create, /)
  refused(['account', 'creat'], /did you mean create\?/)
  refused(['quux'], /^unknown command: quux$/)
  refused(['account', 'create'], /^ACCOUNT is missing: holdfast account create ACCOUNT \[flags\]$/)
  refused(['account', 'list', 'extra'], /^extra is too much/)
  refused(['fsck', '--depp'], /^unknown flag: --depp - did you mean --deep\?$/)
  refused(['fsck', '--data'], /^--data needs DIR$/)
  refused(['fsck', '--deep=yes'], /^--deep takes nothing$/)
  refused(['__proto__'], /^unknown command/)
  assert.equal(parse(['account', 'create', '--help'], COMMANDS).command.name, 'account create')
})

test('how far two words are apart', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['', '', 0],
    ['a', '', 1],
    ['bucket', 'bucket', 0],
    ['bukcet', 'bucket', 2],
    ['kitten', 'sitting', 3],
  ]
  for (const [a, b, far] of cases) {
    assert.equal(distance(a, b), far)
    assert.equal(distance(b, a), far)
  }
  assert.equal(suggestion('x', ['key', 'user']), '')
})

/** What is done most is said shortest. A folder of such a name is given as `./verify`. */
const BOTH = ['backup']

test('no two commands have one name, and few are both a command and the beginning of others', () => {
  const names = COMMANDS.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  const groups = names.filter(name => name.includes(' ')).map(name => name.split(' ')[0]!)
  assert.deepEqual(
    names.filter(name => groups.includes(name)),
    BOTH,
  )
})

test('every command and every flag can be completed, in every shell', () => {
  const places = placesOf(COMMANDS)
  for (const { name, flags } of COMMANDS) {
    const there = places.find(({ after }) => after === name)!.words.map(({ word }) => word)
    for (const flag of flags) assert(there.includes(`--${flag.name}`), `${name} --${flag.name}`)
  }
  for (const shell of SHELLS) {
    const script = completionFor(shell, COMMANDS)
    for (const { name } of COMMANDS) assert(script.includes(name), `${shell}: ${name}`)
  }
})
