/** The options of an embedded store are validated: a misspelt name is an error. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Holdfast, type HoldfastOptions } from '../../src/index.ts'
import { withFolder } from '../store/fixture.ts'
import { using } from './fixture.ts'

const here = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const root = resolve(here, basename(dirname(here)) === 'dist' ? '../..' : '..')

/** The fields of an interface, read from the source of the public API. */
function fieldsOf(name: string): string[] {
  const source = readFileSync(join(root, 'src/embedded/api.ts'), 'utf8')
  const body = new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(source)?.[1]
  assert(body !== undefined, `there is no ${name}`)
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field]) => field!)
}

const refused = (options: unknown, message: RegExp): Promise<void> =>
  assert.rejects(Holdfast.start(options as HoldfastOptions), message)

test('a misspelt option is refused with a suggestion, at every depth', async () => {
  for (const [options, message] of [
    [{ bukets: [] }, /^TypeError: options has no bukets - did you mean buckets\?$/],
    [
      { buckets: [{ name: 'a-bucket', objectlock: true }] },
      /options\.buckets\[0\] has no objectlock - did you mean obj/,
    ],
    [{ credentials: { accessKeyID: 'a', secretAccessKey: 'b' } }, /credentials has no accessKeyID - did you mean acc/],
    [{ credentials: { accessKey: 'a', secretKey: 'b' } }, /credentials has no accessKey.*accessKeyId/],
    [{ accounts: [{ accountID: '111111111111' }] }, /accounts\[0\]\.accountID is unknown - did you mean accountId\?/],
    [
      { accounts: [{ accountId: '111111111111', users: [{ nam: 'x' }] }] },
      /users\[0\]\.nam is unknown - did you mean n/,
    ],
    [{ durability: 'fsnc' }, /options\.durability: there is no "fsnc" - did you mean fsync\?/],
  ] as const) {
    await refused(options, message)
  }
})

test('a value of another type is refused, and no message repeats a secret', async () => {
  for (const options of [
    null,
    'folder',
    [],
    { folder: '' },
    { folder: 5 },
    { buckets: 'photos' },
    { buckets: [{ objectLock: true }] },
    { buckets: [{ name: 'a-bucket', objectLock: 'yes' }] },
    { buckets: ['a-bucket', { name: 'a-bucket', objectLock: true }] },
    { buckets: [''] },
    { accounts: {} },
    { accounts: [5] },
    { credentials: { accessKeyId: 'AK' } },
    { credentials: { accessKeyId: 'AK,X', secretAccessKey: 'hush' } },
    { credentials: { accessKeyId: 'AK', secretAccessKey: 'hush\n' } },
    { region: 'eu/1' },
    { baseHost: 'http://x.example' },
    { port: '9000' },
    { port: 70_000 },
    { port: Number.NaN },
    { log: true },
    { durability: true },
  ]) {
    await assert.rejects(Holdfast.start(options as HoldfastOptions), (error: Error) => {
      assert(error instanceof TypeError || error.name === 'InvalidAccountsFile', `${JSON.stringify(options)}: ${error}`)
      assert(!error.message.includes('hush'))
      return true
    })
  }
  // Undefined equals absent.
  await using({ folder: undefined, log: undefined } as unknown as HoldfastOptions, async () => {})
})

test('a fault rule is checked at every depth', () =>
  using({}, async ({ hf, put }) => {
    const add = (rule: unknown) => () => hf.faults.add(rule as Parameters<typeof hf.faults.add>[0])
    for (const [rule, message] of [
      [undefined, /rule must be an object/],
      [{}, /rule\.fault is missing/],
      [{ operations: 'PutObject', fault: 'slow-down' }, /rule has no operations/],
      [
        { match: { operations: 'PutObject' }, fault: 'slow-down' },
        /match has no operations - did you mean operation\?/,
      ],
      [{ match: { operation: 'PutObjet' }, fault: 'slow-down' }, /no "PutObjet" - did you mean PutObject\?/],
      [{ match: { operation: /Put/ }, fault: 'slow-down' }, /match\.operation must be a text/],
      [{ match: { method: 'FETCH' }, fault: 'slow-down' }, /match\.method: there is no "FETCH"/],
      [{ match: { key: 5 }, fault: 'slow-down' }, /match\.key must be a text or a regular expression/],
      [{ match: 'PutObject', fault: 'slow-down' }, /match must be an object/],
      [{ fault: 'slowdown' }, /no "slowdown" - did you mean slow-down\?/],
      [{ fault: { delai: 5 } }, /fault has no delai - did you mean delay\?/],
      [{ fault: { delay: 5, cutAfter: 5 } }, /either delay or cutAfter/],
      [{ fault: {} }, /either delay or cutAfter/],
      [{ fault: { delay: '5' } }, /fault\.delay must be a whole number/],
      [{ times: 0, fault: 'slow-down' }, /rule\.times must be a whole number of at least 1/],
      [{ time: 1, fault: 'slow-down' }, /rule has no time - did you mean times\?/],
    ] as const) {
      assert.throws(add(rule), { name: 'TypeError', message })
    }
    assert.equal((await put('k', 'x')).status, 200, 'none of them had an effect')
    const match = { operation: 'PutObject', method: 'put', key: /^k/ }
    hf.faults.add({ match, fault: 'slow-down' })
    // The rule is copied when it is passed in.
    match.operation = 'GetObject'
    assert.equal((await put('k', 'x')).status, 503)
  }))

test('the clock takes spans and moments, and nothing else', () =>
  using({}, async ({ hf }) => {
    const { clock } = hf
    for (const span of [5, '5d', null, undefined, [], { day: 1 }, { days: '1' }, { days: -1 }, { hours: Number.NaN }]) {
      assert.throws(() => clock.advance(span as object), TypeError, JSON.stringify(span))
    }
    assert.throws(() => clock.advance({ day: 1 } as object), /span has no day - did you mean days\?/)
    for (const moment of [null, undefined, true, {}, 'soon', Number.NaN, new Date('soon')]) {
      assert.throws(() => clock.set(moment as string), TypeError, String(moment))
    }
    assert(Math.abs(clock.now().getTime() - Date.now()) < 60_000, 'none of them had an effect')
    clock.set(new Date('2030-01-01T00:00:00Z'))
    assert.equal(clock.now().getUTCFullYear(), 2030)
  }))

test('credentials passed to s3ClientConfig are validated too', () =>
  using({}, async ({ hf }) => {
    const given = { accessKey: 'AK', secretKey: 'hush' } as unknown as Parameters<typeof hf.s3ClientConfig>[0]
    assert.throws(() => hf.s3ClientConfig(given), /^TypeError: credentials has no accessKey(?!.*hush)/)
  }))

test('an existing bucket without object lock is not accepted for one with it', () =>
  withFolder(async folder => {
    await using({ folder, buckets: ['plain'] }, async () => {})
    await refused(
      { folder, buckets: [{ name: 'plain', objectLock: true }] },
      /plain already exists without object lock/,
    )
    await using({ folder, buckets: ['plain', { name: 'locked', objectLock: true }] }, async () => {})
    await using({ folder, buckets: [{ name: 'locked', objectLock: true }] }, async () => {})
  }))

test('every field of the published types is known to the checks', async () => {
  const wrong = (field: string): object => ({ [`${field}_`]: 1 })
  const meant = (field: string): RegExp => new RegExp(`has no ${field}_ - did you mean ${field}\\?`)
  for (const field of fieldsOf('HoldfastOptions')) await refused(wrong(field), meant(field))
  for (const field of fieldsOf('Credentials')) await refused({ credentials: wrong(field) }, meant(field))
  const unknown = (field: string): RegExp => new RegExp(`\\.${field}_ is unknown - did you mean ${field}\\?`)
  for (const field of fieldsOf('AccountOption')) await refused({ accounts: [wrong(field)] }, unknown(field))
  const account = (entry: object) => ({ accounts: [{ accountId: '111111111111', ...entry }] })
  const user = (entry: object) => account({ users: [entry] })
  for (const field of fieldsOf('UserOption')) await refused(user(wrong(field)), unknown(field))
  for (const field of fieldsOf('KeyOption')) await refused(account({ accessKeys: [wrong(field)] }), unknown(field))
  await using({}, async ({ hf }) => {
    for (const field of fieldsOf('FaultRule')) assert.throws(() => hf.faults.add(wrong(field) as never), meant(field))
    for (const field of fieldsOf('FaultMatch')) {
      assert.throws(() => hf.faults.add({ match: wrong(field), fault: 'slow-down' }), meant(field))
    }
    for (const field of fieldsOf('Span')) assert.throws(() => hf.clock.advance(wrong(field)), meant(field))
  })
})
