/** Encryption keys on the command line: through a server with two workers, and directly in the folder. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFolder } from '../store/fixture.ts'
import { holdfast, spawnServer } from './program.ts'

test('R22 P23: encryption keys are made, disabled, enabled and rotated, with a server and without', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const run = async (...args: string[]): Promise<Record<string, unknown>> => {
      const { code, out, errors } = await holdfast(['encryption', ...args, '--data', data, '--json'])
      assert.equal(code, 0, `${args.join(' ')}: ${errors}`)
      return JSON.parse(out)
    }
    const server = await spawnServer(['--data', data, '--workers', '2'])
    try {
      assert.equal((await run('create', 'pay roll')).version, 1)
      assert.equal((await run('disable', 'pay roll')).disabled, true)
      assert.equal((await run('rotate', 'storage')).version, 2)
      assert.equal((await run('rotate', 'service')).version, 2)
      assert.deepEqual(await run('rewrap'), { looked: 0, rewrapped: 0, left: 0 })
    } finally {
      assert.equal(await server.stop(), 0)
    }
    assert.equal((await run('enable', 'pay roll')).disabled, false)
    assert.equal((await run('rotate', 'named', '--name', 'pay roll')).version, 2)
    const { keyring: _id, ...shown } = await run('list')
    const keys = [{ name: 'pay roll', version: 2, disabled: false }]
    assert.deepEqual(shown, { service: 2, storage: 2, named: 1, keys })
    assert.equal((await holdfast(['encryption', 'rotate', 'everything', '--data', data])).code, 2)
  }))
