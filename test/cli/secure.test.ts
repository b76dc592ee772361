/** Commands over HTTPS, and invalid secrets. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadConfig, readConfig } from '../../src/server/config.ts'
import { withFolder } from '../store/fixture.ts'
import { FIRST } from '../workers/certificates.ts'
import { holdfast, serving } from './program.ts'

test('the console speaks HTTPS when the object API does, and commands trust the certificate that is named', () =>
  withFolder(async folder => {
    const [cert, key, data] = ['cert.pem', 'key.pem', 'data'].map(name => join(folder, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(cert, FIRST.cert)
    writeFileSync(key, FIRST.key, { mode: 0o600 })
    const server = await serving(['--data', data, '--tls-cert', cert, '--tls-key', key, '--workers', '1'])
    try {
      assert.match(server.consoleUrl, /^https:/)
      const trusted = await holdfast(['account', 'list', '--data', data, '--ca', cert])
      assert.equal(trusted.code, 0, trusted.errors)
      // A local request whose response is not secret.
      assert.equal((await holdfast(['health', '--data', data])).code, 0)
      const untrusted = await holdfast(['account', 'list', '--data', data])
      assert.equal(untrusted.code, 1)
      assert.match(untrusted.errors, /^holdfast: the console at https:\S+ cannot be reached: [^\n]+\n$/)
      const plain = await holdfast(['account', 'list', '--endpoint', server.consoleUrl.replace('https', 'http')])
      assert.equal(plain.code, 1)
    } finally {
      assert.equal(await server.stop(), 0)
    }
  }))

test('A36: a well-known secret is refused unless the server listens on loopback only', () => {
  const env = (secret: string) => ({ HOLDFAST_ROOT_ACCESS_KEY: 'AKROOT', HOLDFAST_ROOT_SECRET_KEY: secret })
  for (const at of ['0.0.0.0:9000', '[::]:9000', '10.0.0.1:9000', 'host.example:9000']) {
    assert.throws(() => readConfig(['--listen', at], env('minioadmin')), BadConfig, at)
    assert.throws(() => readConfig(['--console', at], env('Password')), BadConfig, at)
    assert.equal(readConfig(['--listen', at], env('a-secret-of-our-own'))?.rootKey?.accessKey, 'AKROOT')
  }
  for (const at of ['127.0.0.1:9000', '127.1.2.3:0', '[::1]:9000', 'localhost:9000']) {
    assert.equal(readConfig(['--listen', at, '--console', 'off'], env('minioadmin'))?.rootKey?.accessKey, 'AKROOT', at)
  }
})
