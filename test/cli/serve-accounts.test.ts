/** The accounts file of `serve`. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFolder } from '../store/fixture.ts'
import { holdfast, ROOT, serving } from './program.ts'

test('an invalid accounts file fails the start with one line and exit code 2, before anything is created', () =>
  withFolder(async folder => {
    const file = join(folder, 'accounts.json')
    const data = join(folder, 'data')
    const secretKey = 'never-to-be-told'
    const bad: readonly (readonly [string, RegExp])[] = [
      ['{"accounts": [', /not JSON/],
      [
        `{"accounts": [{"accountId": "12", "accessKeys": [{"accessKey": "AKX", "secretKey": "${secretKey}"}]}]}`,
        /12 digits/,
      ],
      [
        '{"accounts": [{"accountId": "111111111111", "users": [{"name": "u", "policies": [{"Statement": 1}]}]}]}',
        /policies\[0\]/,
      ],
    ]
    for (const [text, message] of bad) {
      writeFileSync(file, text)
      const { code, errors, out } = await holdfast([
        'serve',
        '--data',
        data,
        '--accounts',
        file,
        '--listen',
        '127.0.0.1:0',
      ])
      assert.equal(code, 2)
      assert.equal(out, '')
      assert.match(errors, /^holdfast: .+\n$/)
      assert.match(errors, message)
      assert(!errors.includes(secretKey))
      assert(!existsSync(data))
    }
    const missing = await holdfast(['serve', '--data', data, '--accounts', join(folder, 'none.json')])
    assert.equal(missing.code, 2)
    assert.match(missing.errors, /^holdfast: --accounts: .*none\.json cannot be read \(ENOENT\)\n$/)
  }))

test('a file that contradicts the store ends the start with 2, and the next good one starts', () =>
  withFolder(async folder => {
    const file = join(folder, 'accounts.json')
    const data = join(folder, 'data')
    const write = (change: object): void =>
      writeFileSync(file, JSON.stringify({ accounts: [{ accountId: '111111111111', ...change }] }))
    write({})
    assert.equal(await (await serving(['--data', data, '--accounts', file])).stop(), 0)
    write({ canonicalId: 'ab'.repeat(32) })
    const { code, errors } = await holdfast(['serve', '--data', data, '--accounts', file, '--listen', '127.0.0.1:0'])
    assert.deepEqual([code, /cannot be changed/.test(errors)], [2, true])
    write({})
    assert.equal(await (await serving(['--data', data, '--accounts', file])).stop(), 0)
  }))

test('no key of the file has the name of the root key, whose permissions it would have', () =>
  withFolder(async folder => {
    const file = join(folder, 'accounts.json')
    const args = ['--data', join(folder, 'data'), '--accounts', file]
    const write = (account: object): void => writeFileSync(file, JSON.stringify({ accounts: [account] }))
    for (const account of [
      { accountId: '111111111111', accessKeys: [ROOT] },
      { accountId: '111111111111', users: [{ name: 'reader', accessKeys: [ROOT] }] },
      { accountId: '000000000000', users: [{ name: 'reader', accessKeys: [ROOT] }] },
      { accountId: '000000000000', accessKeys: [{ ...ROOT, secretKey: 'another' }] },
    ]) {
      write(account)
      const { code, errors } = await holdfast(['serve', ...args, '--listen', '127.0.0.1:0', '--console', 'off'])
      assert.equal(code, 2)
      assert.match(errors, new RegExp(`access key ${ROOT.accessKey} of account \\d+ is the root key$`, 'm'))
      assert(!errors.includes(ROOT.secretKey))
    }
    write({ accountId: '000000000000', accessKeys: [ROOT] })
    assert.equal(await (await serving(args)).stop(), 0)
  }))
