/** `serve --memory`: a whole server that leaves nothing behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { BadConfig, readConfig } from '../src/server/config.ts'
import { BUILT_PROGRAM } from './entry-point.ts'
import { BASE_HOST } from './http/server.ts'
import { withFolder } from './store/fixture.ts'
import { clientOf, ROOT } from './workers/program.ts'

test('a server in memory says so and leaves nothing on disk', () =>
  withFolder(async cwd => {
    const listen = ['--listen', '127.0.0.1:0', '--console', '127.0.0.1:0', '--base-host', BASE_HOST]
    const child = spawn(process.execPath, [BUILT_PROGRAM, 'serve', '--memory', '--buckets', 'photos', ...listen], {
      cwd,
      // As a container image sets it: the flag wins.
      env: { ...process.env, HOLDFAST_DATA: `${cwd}/data`, HOLDFAST_WORKERS: '2' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const closed = once(child, 'close')
    try {
      let [out, errors] = ['', '']
      child.stderr.on('data', chunk => {
        errors += String(chunk)
      })
      for await (const chunk of child.stdout) {
        out += String(chunk)
        if (out.includes('\n')) break
      }
      const ready = /^holdfast ready http:\/\/127\.0\.0\.1:(\d+) console (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(out)
      assert(ready !== null, errors)
      assert.equal((await fetch(`${ready[2]}/health/ready`)).status, 200)
      assert.match(errors, /"level":"warn","message":"all data are in memory and are lost when this server stops/)
      assert.match(errors, /"message":"starting",.*"memory":true,"workers":1\}/)
      const key = /root access key (\S+), secret key (\S+) \(shown once, kept nowhere\)/.exec(errors)
      assert(key !== null, errors)
      const as = { ...ROOT, accessKey: key[1]!, secretKey: key[2]! }
      const client = clientOf(Number(ready[1]))
      const body = 'x'.repeat(2 ** 20)
      for (const path of ['/small', '/large']) {
        const sent = path === '/small' ? 'x' : body
        assert.equal((await client.send({ method: 'PUT', bucket: 'photos', path, body: sent, as })).status, 200)
        assert.equal((await client.send({ method: 'GET', bucket: 'photos', path, as })).body.toString(), sent)
      }
      assert.deepEqual(readdirSync(cwd), [])
      child.kill('SIGTERM')
      assert.equal((await closed)[0], 0, errors)
      assert.deepEqual(readdirSync(cwd), [])
    } finally {
      child.kill('SIGKILL')
    }
  }))

test('flags about disks are refused beside --memory', () => {
  for (const more of [
    ['--data', 'x'],
    ['--meta', 'postgres://db/name'],
    ['--blobs', 'x'],
    ['--workers', '2'],
    ['--require-durable-filesystem'],
  ]) {
    for (const env of [{}, { HOLDFAST_MEMORY: 'true' }]) {
      const args = 'HOLDFAST_MEMORY' in env ? more : ['--memory', ...more]
      assert.throws(
        () => readConfig(args, env),
        (error: Error) => {
          assert(error instanceof BadConfig)
          assert(error.message.startsWith('--memory ') && error.message.includes(more[0]!), error.message)
          return true
        },
      )
    }
  }
  assert.throws(() => readConfig([], { HOLDFAST_MEMORY: 'true', HOLDFAST_DATA: 'x' }), BadConfig)
  const config = readConfig(['--memory'], { HOLDFAST_DATA: 'x', HOLDFAST_WORKERS: '4' })
  assert.deepEqual([config?.memory, config?.workers], [true, 1])
  assert.equal(readConfig(['--memory', '--workers', '1'], {})?.workers, 1)
  assert.equal(readConfig([], {})?.memory, false)
})
