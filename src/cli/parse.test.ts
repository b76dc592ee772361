import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HelpRequested } from '../lib/command-line.ts'
import { distance, suggestion } from '../lib/did-you-mean.ts'
import { complete, type NamesOf } from './completion.ts'
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

test('invalid arguments are refused with one line that says what to do', () => {
  refused(['acount'], /^unknown command: acount - did you mean account\?$/)
  refused(['account'], /^holdfast account needs one of: list, create, /)
  refused(['account', 'creat'], /did you mean create\?/)
  refused(['quux'], /^unknown command: quux$/)
  refused(['account', 'show'], /^ACCOUNT is missing: holdfast account show ACCOUNT \[flags\]$/)
  refused(['account', 'list', 'extra'], /^unexpected argument extra: holdfast account list \[flags\]$/)
  refused(['fsck', '--depp'], /^unknown flag: --depp - did you mean --deep\?$/)
  refused(['fsck', '--data'], /^--data needs DIR$/)
  refused(['fsck', '--deep=yes'], /^--deep takes no value$/)
  refused(['__proto__'], /^unknown command/)
  refused(['acount', '--help'], /^unknown command: acount - did you mean account\?$/)
  refused(['backup', 'list', 'x', '--keep', '7'], /^unknown flag: --keep$/)
})

test('--help asks for the help of a command or of a group, also where arguments are missing', () => {
  const help = (...words: string[]): string => {
    try {
      parse([...words, '--help'], COMMANDS)
    } catch (error) {
      if (error instanceof HelpRequested) return error.message
      throw error
    }
    return ''
  }
  assert.match(help('account', 'show'), /^Usage: holdfast account show ACCOUNT \[flags\]\n/)
  assert.match(help('account'), /holdfast account delete ACCOUNT/)
  assert.match(help('backup'), /^Usage: holdfast backup DIR \[flags\]\n[\s\S]*holdfast backup verify DIR/)
  assert.match(help(), /\n {2}bucket lock /)
})

test('edit distance of two words', () => {
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

/** The most frequent form is the shortest. A folder named like a subcommand is given as `./verify`. */
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

test('every command has examples, and each of them is a command that can be run', () => {
  for (const { name, arguments: args, examples } of COMMANDS) {
    for (const example of examples) assert.equal(parse(example.split(' '), COMMANDS).command.name, name, example)
    if (args.some(({ optional }) => !optional)) assert.notDeepEqual(examples, [name])
  }
})

const words = async (...typed: string[]): Promise<string[]> => {
  const namesOf: NamesOf = async (placeholder, { positionals }) =>
    placeholder === 'USER' ? [{ word: `user-of-${positionals.get('ACCOUNT')}`, summary: '' }] : []
  return (await complete(typed, COMMANDS, namesOf)).map(({ word }) => word)
}

test('every command and every flag can be completed', async () => {
  for (const { name, flags } of COMMANDS) {
    const [first = '', second] = name.split(' ')
    assert((await words('')).includes(first))
    if (second !== undefined) assert((await words(first, '')).includes(second), name)
    const offered = await words(...name.split(' '), '--')
    for (const flag of flags) assert(offered.includes(`--${flag.name}`), `${name} --${flag.name}`)
  }
})

test('values are completed: choices, and names that fit what stands before', async () => {
  assert.deepEqual(await words('bucket', 'versioning', 'b', ''), ['on', 'suspended'])
  assert.deepEqual(await words('bucket', 'lock', 'b', '--mode', 'c'), ['compliance'])
  assert.deepEqual(await words('serve', '--durability=f'), ['--durability=fsync'])
  assert.deepEqual(await words('user', 'show', '111111111111', ''), ['user-of-111111111111'])
  assert.deepEqual(await words('key', 'list', '222222222222', '--user', ''), ['user-of-222222222222'])
  assert.deepEqual(await words('encryption', 'rotate', 's'), ['service', 'storage'])
  assert(!(await words('bucket', 'list', '--account', '1', '--')).includes('--account'), 'once is enough')
  assert.deepEqual(await words('nothing', 'of', 'that'), [])
})
