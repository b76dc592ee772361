/** The checks at server start: variables, secrets, certificates, file permissions. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { loadAccountsFile } from '../src/server/accounts.ts'
import { BadConfig, readConfig } from '../src/server/config.ts'
import { readCertificate } from '../src/server/network.ts'
import { holdfast, serving } from './cli/program.ts'
import { PROGRAM } from './entry-point.ts'
import { EXPIRED, NOT_YET_VALID, OF_TWO_KINDS } from './http/bad-certificates.ts'
import { TEST_CERTIFICATE } from './http/certificate.ts'
import { withFolder } from './store/fixture.ts'

const LOOPBACK = ['--listen', '127.0.0.1:0', '--console', 'off']
const PUBLIC = ['--listen', '0.0.0.0:9000', '--console', 'off']
const ROOT = 'HOLDFAST_ROOT_ACCESS_KEY'
const SECRET = 'HOLDFAST_ROOT_SECRET_KEY'

const children: ChildProcess[] = []
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A server on this folder, once it is ready or has exited, with all its output. */
async function started(data: string, ...more: readonly string[]) {
  const args = [PROGRAM, 'serve', '--data', data, ...LOOPBACK, '--workers', '1', '--durability', 'os', ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const closed = once(child, 'close')
  let [out, errors] = ['', '']
  child.stderr.on('data', chunk => {
    errors += String(chunk)
  })
  for await (const chunk of child.stdout) {
    out += String(chunk)
    if (out.includes('\n')) break
  }
  return {
    port: Number(/:(\d+) console/.exec(out)?.[1] ?? 0),
    errors: () => errors,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves when it has refused to reload for this reason. */
    async refuses(why: RegExp): Promise<void> {
      while (!why.test(errors)) {
        assert(!errors.includes('"message":"reloaded"'), errors)
        await once(child.stderr, 'data')
      }
    },
    async says(what: RegExp): Promise<void> {
      while (!what.test(errors)) await once(child.stderr, 'data')
    },
    async end(): Promise<unknown> {
      child.kill('SIGTERM')
      return (await closed)[0]
    },
  }
}

const warningsOf = (env: NodeJS.ProcessEnv): readonly string[] => readConfig(LOOPBACK, env)!.warnings

test('a misspelt variable fails the start, and an unknown one causes a warning', () => {
  for (const [name, meant] of [
    ['HOLDFAST_DURABILTY', 'HOLDFAST_DURABILITY'],
    ['HOLDFAST_BASE_HOSTS', 'HOLDFAST_BASE_HOST'],
    ['HOLDFAST_ROOT_SECRET_KEYS', 'HOLDFAST_ROOT_SECRET_KEY'],
    ['HOLDFAST_ROOT_SECRET_KEY_FIL', 'HOLDFAST_ROOT_SECRET_KEY_FILE'],
    ['HOLDFAST_TLS_CERTIFICATE', 'HOLDFAST_TLS_CERT'],
    ['HOLDFAST_DATA_DIR', 'HOLDFAST_DATA'],
    ['HOLDFAST_LISTN', 'HOLDFAST_LISTEN'],
  ] as const) {
    assert.throws(() => readConfig(LOOPBACK, { [name]: 'hush' }), {
      message: `unknown variable ${name} - did you mean ${meant}?`,
    })
  }
  assert.deepEqual(warningsOf({ HOLDFAST_COLOUR: 'blue', PATH: '/bin' }), [
    'unknown variable HOLDFAST_COLOUR is ignored',
  ])
  const known = { HOLDFAST_RUNTIME: 'node', HOLDFAST_ENDPOINT: 'x', HOLDFAST_CA: 'x', HOLDFAST_SOURCE_ACCESS_KEY: 'x' }
  assert.deepEqual(warningsOf(known), [])
})

test('variables that Kubernetes sets for a service named holdfast are ignored', () => {
  const address = 'tcp://10.0.0.1:9000'
  for (const service of ['HOLDFAST', 'HOLDFAST_CONSOLE', 'HOLDFAST_DATA', 'HOLDFAST_S3_BLUE']) {
    const env = {
      [`${service}_SERVICE_HOST`]: '10.0.0.1',
      [`${service}_SERVICE_PORT`]: '9000',
      [`${service}_SERVICE_PORT_S3`]: '9000',
      [`${service}_PORT`]: address,
      [`${service}_PORT_9000_TCP`]: address,
      [`${service}_PORT_9000_TCP_PROTO`]: 'tcp',
      [`${service}_PORT_9000_TCP_PORT`]: '9000',
      [`${service}_PORT_9000_TCP_ADDR`]: '10.0.0.1',
    }
    assert.deepEqual(warningsOf(env), [], service)
  }
  // Container runtimes set an address here; a plain number comes from the operator.
  assert.deepEqual(warningsOf({ HOLDFAST_PORT: '9000' }), ['unknown variable HOLDFAST_PORT is ignored'])
})

test('a secret may be in a file, without its trailing newline', () =>
  withFolder(async folder => {
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const env = {
      [`${ROOT}_FILE`]: file('access', 'AKROOT\n'),
      [`${SECRET}_FILE`]: file('secret', ' any words at all \r\n'),
      HOLDFAST_METRICS_TOKEN_FILE: file('token', '0123456789abcdef\n'),
      HOLDFAST_META_FILE: file('meta', 'postgres://u:p@db/name\n'),
    }
    const config = readConfig(LOOPBACK, env)
    assert.deepEqual(config?.rootKey, { accessKey: 'AKROOT', secretKey: ' any words at all ' })
    assert.deepEqual([config?.metrics.token, config?.meta], ['0123456789abcdef', 'postgres://u:p@db/name'])
    const refused = (more: NodeJS.ProcessEnv, message: RegExp, args: readonly string[] = []): void =>
      assert.throws(
        () => readConfig([...LOOPBACK, ...args], { ...env, ...more }),
        (error: Error) => {
          assert(error instanceof BadConfig, String(error))
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /\n|any words|hush/)
          return true
        },
      )
    for (const name of [ROOT, SECRET, 'HOLDFAST_METRICS_TOKEN', 'HOLDFAST_META']) {
      refused({ [name]: 'hush' }, new RegExp(`^${name} and ${name}_FILE are both given`))
      refused(
        { [`${name}_FILE`]: join(folder, 'none') },
        new RegExp(`^${name}_FILE: .*none cannot be read \\(ENOENT\\)$`),
      )
      refused({ [`${name}_FILE`]: folder }, new RegExp(`^${name}_FILE: .* cannot be read \\(EISDIR\\)$`))
      refused({ [`${name}_FILE`]: file('empty', '\n') }, new RegExp(`^${name}_FILE: .*empty is empty$`))
    }
    assert.equal(readConfig([...LOOPBACK, '--meta', 'postgres://other/name'], env)?.meta, 'postgres://other/name')
  }))

test('a root secret that can be guessed is refused where others can reach the server', () => {
  const root = (args: readonly string[], secretKey: string, accessKey = 'AKROOT') =>
    readConfig(args, { [ROOT]: accessKey, [SECRET]: secretKey })
  for (const args of [PUBLIC, ['--listen', '127.0.0.1:0', '--console', '[::]:9001'], ['--listen', '10.0.0.1:9000']]) {
    assert.throws(() => root(args, 'x'), /^Error: HOLDFAST_ROOT_SECRET_KEY has fewer than 8 characters/)
    assert.throws(() => root(args, '1234567'), BadConfig)
    assert.throws(() => root(args, 'AKROOT-AKROOT', 'AKROOT-AKROOT'), /the same as the access key/)
    assert.equal(root(args, '12345678')?.rootKey?.secretKey, '12345678')
  }
  for (const listen of ['127.0.0.1:0', '[::1]:0', 'localhost:0', '127.8.8.8:0']) {
    assert.equal(root(['--listen', listen, '--console', 'off'], 'x')?.rootKey?.secretKey, 'x')
  }
})

test('so is one in the accounts file', () =>
  withFolder(async folder => {
    const accounts = join(folder, 'accounts.json')
    const key = { accessKey: 'AKONE', secretKey: 'hush' }
    writeFileSync(accounts, JSON.stringify({ accounts: [{ accountId: '111111111111', accessKeys: [key] }] }))
    const given = (args: readonly string[]) => loadAccountsFile(readConfig([...args, '--accounts', accounts], {})!)
    assert.equal((await given(LOOPBACK)).length, 1)
    await assert.rejects(given(PUBLIC), /the secret of access key AKONE has fewer than 8 characters(?!.*hush)/)
  }))

test('a certificate and a key that do not match are refused, also of different types', () =>
  withFolder(async folder => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const read = ({ cert: certText, key: keyText }: { readonly cert: string; readonly key: string }) => {
      writeFileSync(cert, certText)
      writeFileSync(key, keyText)
      return readCertificate(readConfig([...LOOPBACK, '--tls-cert', cert, '--tls-key', key], {})!)
    }
    for (const pair of [OF_TWO_KINDS, { ...TEST_CERTIFICATE, key: EXPIRED.key }]) {
      await assert.rejects(read(pair), (error: Error) => {
        assert(error instanceof BadConfig)
        assert.match(
          error.message,
          /^--tls-cert and --tls-key: .*cert\.pem and .*key\.pem are not a matching certificate and key/,
        )
        return true
      })
    }
    assert.equal((await read(TEST_CERTIFICATE))?.cert, TEST_CERTIFICATE.cert)
    // Clients that do not verify may still be served.
    assert.equal((await read(EXPIRED))?.cert, EXPIRED.cert)
  }))

/** The name in the certificate presented at this port. */
async function shownAt(port: number): Promise<unknown> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return CN
}

test('an expired certificate causes a warning at start, and does not replace a valid one on reload', () =>
  withFolder(async folder => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const write = (pair: { readonly cert: string; readonly key: string }): void => {
      writeFileSync(cert, pair.cert)
      writeFileSync(key, pair.key)
    }
    const tls = ['--tls-cert', cert, '--tls-key', key]
    write(EXPIRED)
    const old = await started(join(folder, 'data'), ...tls)
    assert.match(old.errors(), /"level":"warn","message":"\S+cert\.pem expired on 2020-01-02: clients refuse it"/)
    assert.equal(await shownAt(old.port), 'expired')
    assert.equal(await old.end(), 0)
    write(TEST_CERTIFICATE)
    const valid = await started(join(folder, 'data'), ...tls)
    assert.doesNotMatch(valid.errors(), /cert\.pem/)
    for (const [pair, why] of [
      [EXPIRED, /"level":"error",.*the reload failed.*expired on 2020-01-02/],
      [NOT_YET_VALID, /"level":"error",.*the reload failed.*is valid from 2090-01-01/],
      [OF_TWO_KINDS, /"level":"error",.*the reload failed.*are not a matching certificate and key/],
    ] as const) {
      write(pair)
      valid.signal('SIGHUP')
      await valid.refuses(why)
      assert.equal(await shownAt(valid.port), 'test')
    }
    assert.equal(await valid.end(), 0)
  }))

test('an audit log that cannot be reopened does not keep a certificate from being renewed', () =>
  withFolder(async folder => {
    const [cert, key, logs] = [join(folder, 'cert.pem'), join(folder, 'key.pem'), join(folder, 'logs')]
    const write = (pair: { readonly cert: string; readonly key: string }): void => {
      writeFileSync(cert, pair.cert)
      writeFileSync(key, pair.key)
    }
    mkdirSync(logs)
    write(EXPIRED)
    const tls = ['--tls-cert', cert, '--tls-key', key, '--audit-log', join(logs, 'audit')]
    const server = await started(join(folder, 'data'), ...tls)
    renameSync(logs, `${logs}.1`)
    write(TEST_CERTIFICATE)
    server.signal('SIGHUP')
    await server.says(/"message":"(reloaded|the reload failed[^"]*)"/)
    assert.equal(await shownAt(server.port), 'test')
    assert.match(server.errors(), /"level":"error","audit":"Error: ENOENT/)
    assert.equal(await server.end(), 0)
  }))

test('a world-readable keyring fails the start, and a group-readable one causes a warning', () =>
  withFolder(async data => {
    const own = ['--data', data, '--console', 'off', '--durability', 'os']
    await (await serving(own, {})).stop()
    for (const name of ['keyring', 'root-key']) {
      const path = join(data, name)
      chmodSync(path, 0o644)
      const refused = await holdfast(['serve', ...own, '--listen', '127.0.0.1:0'], { env: {} })
      assert.equal(refused.code, 1)
      const plain = refused.errors.split('\n').filter(line => line !== '' && !line.startsWith('{'))
      assert.deepEqual(plain, [
        `holdfast: ${path} has mode 644: every user of this machine can read it. Make new keys, or chmod 600 ${path}`,
      ])
      chmodSync(path, 0o640)
      const warned = await serving(own, {})
      assert.match(warned.errors(), new RegExp(`"level":"warn","message":"${path} has mode 640: its group can read it`))
      await warned.stop()
      chmodSync(path, 0o600)
    }
    const again = await serving(own, {})
    assert.doesNotMatch(again.errors(), /has mode/)
    await again.stop()
  }))
