/** The program as a script runs it: flags, the ready line, signals and exit codes. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { BadConfig, FLAGS, readConfig } from '../src/server/config.ts'
import { holdfast } from './cli/program.ts'
import { PROGRAM } from './entry-point.ts'
import { withFolder } from './store/fixture.ts'

interface Started {
  readonly child: ChildProcess
  readonly ready: string
  readonly errors: () => string
}

const children: ChildProcess[] = []
/** A failing test leaves no process behind. */
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, errors: 'pipe' | number = 'pipe'): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', errors],
  })
  children.push(child)
  return child
}

async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const child = run(args, env)
  let errors = ''
  child.stderr!.on('data', chunk => {
    errors += String(chunk)
  })
  let out = ''
  for await (const chunk of child.stdout!) {
    out += String(chunk)
    if (out.includes('\n')) break
  }
  return { child, ready: out, errors: () => errors }
}

/** Resolves when it has printed this on standard error. */
async function told(child: ChildProcess, errors: () => string, words: string): Promise<void> {
  while (!errors().includes(words)) await once(child.stderr!, 'data')
}

async function stopped(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const ended = once(child, 'exit')
  child.kill(signal)
  return (await ended)[0]
}

const statusOf = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    get(url, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    }).on('error', reject)
  })

test('serve prints the ready line with the actual ports, responds, and exits with 0 on SIGTERM', () =>
  withFolder(async folder => {
    const listen = ['--listen', '127.0.0.1:0', '--console', '127.0.0.1:0']
    const { child, ready, errors } = await start(['serve', '--data', folder, ...listen])
    const line = /^holdfast ready (http:\/\/127\.0\.0\.1:\d+) console (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(ready)
    assert(line !== null, ready)
    assert.equal(await statusOf(`${line[2]}/health/ready`), 200)
    assert.equal(await statusOf(`${line[2]}/health/live`), 200)
    assert.equal(await statusOf(`${line[2]}/anything`), 404)
    assert.equal(await statusOf(`${line[1]}/`), 403)
    // The key is shown at the first start, and stored readable by its owner only.
    assert.match(errors(), /root access key HF[0-9A-F]{18}, secret key \S{40}/)
    // D24, A70: printed once.
    assert.equal(errors().match(/customer keys \(SSE-C\) are accepted over plain HTTP/g)?.length, 1)
    assert.equal(statSync(join(folder, 'root-key')).mode & 0o777, 0o600)
    assert.equal(await stopped(child, 'SIGTERM'), 0)
    const again = await start([
      'serve',
      '--data',
      folder,
      '--listen',
      '127.0.0.1:0',
      '--console',
      'off',
      '--workers',
      '1',
      '--require-tls-for-customer-keys',
    ])
    assert.match(again.ready, / console off\n$/)
    assert.doesNotMatch(again.errors(), /secret|customer keys/)
    assert.equal(await stopped(again.child, 'SIGINT'), 0)
  }))

test('the log says when the server starts, is ready, reloads and stops, each with the time', () =>
  withFolder(async folder => {
    const own = ['serve', '--data', folder, '--listen', '127.0.0.1:0', '--console', 'off', '--workers']
    for (const workers of ['1', '2']) {
      const { child, errors } = await start([...own, workers])
      const closed = once(child, 'close')
      child.kill('SIGHUP')
      await told(child, errors, 'reloaded')
      child.kill('SIGTERM')
      assert.equal((await closed)[0], 0)
      const lines = errors()
        .split('\n')
        .filter(line => line.startsWith('{'))
        .map(line => JSON.parse(line) as Readonly<Record<string, unknown>>)
      for (const { time } of lines) assert(Math.abs(Date.parse(String(time)) - Date.now()) < 600_000, String(time))
      const life = lines.filter(({ level }) => level === 'info').map(({ message }) => message)
      assert.deepEqual(life, ['starting', 'ready', 'reloading', 'reloaded', 'stopping', 'stopped'])
      const starting = lines.find(({ message }) => message === 'starting')
      assert.deepEqual([starting?.data, starting?.workers], [folder, Number(workers)])
      assert.equal(lines.find(({ message }) => message === 'stopping')?.signal, 'SIGTERM')
    }
  }))

for (const workers of ['1', '2']) {
  test(`${workers} workers: a server goes on when the reader of its log is gone, or the log's disk is full`, () =>
    withFolder(async folder => {
      const own = ['serve', '--data', folder, '--listen', '127.0.0.1:0', '--console', 'off', '--workers', workers]
      const serves = async (child: ChildProcess, ready: string): Promise<void> => {
        const url = /ready (\S+)/.exec(ready)![1]!
        for (let request = 0; request < 5; request++) assert.equal(await statusOf(`${url}/`), 403)
        assert.equal(await stopped(child, 'SIGTERM'), 0)
      }
      const { child, ready } = await start(own)
      child.stderr!.destroy()
      await serves(child, ready)
      if (!existsSync('/dev/full')) return
      const full = openSync('/dev/full', 'w')
      const other = run(own, {}, full)
      closeSync(full)
      const [line = ''] = await once(other.stdout!, 'data')
      await serves(other, String(line))
    }))
}

test('a command whose reader has read enough ends without a word', async () => {
  const child = run(['help'])
  child.stdout!.destroy()
  const said = text(child.stderr!)
  assert.equal((await once(child, 'close'))[0], 1)
  assert.equal(await said, '')
})

test('--log-format text writes requests and events as text, without colours in a pipe', () =>
  withFolder(async folder => {
    const own = ['--data', folder, '--listen', '127.0.0.1:0', '--console', 'off', '--workers', '2']
    const { child, ready, errors } = await start(['serve', ...own, '--buckets', 'photos', '--log-format', 'text'])
    const url = /ready (\S+)/.exec(ready)![1]!
    assert.equal(await statusOf(`${url}/photos/cat.jpg`), 403)
    await told(child, errors, 'AccessDenied')
    assert.equal(await stopped(child, 'SIGTERM'), 0)
    const TIME = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z'
    assert.match(errors(), new RegExp(`^${TIME} info  starting, version: `, 'm'))
    const asked = 'GET /photos/cat\\.jpg GetObject \\w+ [\\d.]+ms anonymous 127\\.0\\.0\\.1 \\w{16} AccessDenied: '
    const line = `^${TIME} info  403 ${asked}`
    assert.match(errors(), new RegExp(line, 'm'))
    assert(!errors().includes('\x1b'))
  }))

test('the README lists every flag', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const isListed = (name: string): boolean => new RegExp(`^\\|[^|]*--${name}[ \`]`, 'm').test(readme)
  assert.deepEqual(
    Object.keys(FLAGS).filter(name => !isListed(name)),
    [],
  )
})

test('a second server on the same folder is refused', () =>
  withFolder(async folder => {
    const args = ['serve', '--data', folder, '--listen', '127.0.0.1:0', '--console', 'off']
    const first = await start([...args, '--workers', '1'])
    const second = run(args)
    let errors = ''
    second.stderr!.on('data', chunk => {
      errors += String(chunk)
    })
    assert.equal((await once(second, 'close'))[0], 1)
    assert.match(errors, /another server is using/)
    assert.equal(await stopped(first.child, 'SIGTERM'), 0)
  }))

test('an unknown flag or invalid value exits with one line and 2, before anything is opened', async () => {
  const child = run(['--nope'])
  const said = text(child.stderr!)
  assert.equal((await once(child, 'close'))[0], 2)
  assert.match(await said, /^holdfast: .+\n$/)
  for (const args of [
    ['--nope'],
    ['--listen', 'here'],
    ['--durability', 'maybe'],
    ['--workers', '0'],
    ['--workers', 'many'],
    ['--meta', 'mysql://x'],
    ['x'],
  ]) {
    const { code, errors } = await holdfast(['serve', ...args])
    assert.equal(code, 2, args.join(' '))
    assert.match(errors, /^holdfast: .+\n$/)
  }
})

test('flags override variables, and variables override defaults', () => {
  const env = { HOLDFAST_BASE_HOST: 'From.Env', HOLDFAST_REGION: 'eu-1' }
  const config = readConfig(['--base-host', 'flag.example', '--buckets', 'one,two'], env)
  assert.deepEqual(config?.baseHosts, ['flag.example'])
  const two = readConfig(['--base-host', 'A.example, b.example'], {})
  assert.deepEqual(two?.baseHosts, ['a.example', 'b.example'])
  assert.deepEqual(two?.website.hosts, ['website.a.example', 'website.b.example'])
  assert.deepEqual([config?.region, config?.anyRegion], ['eu-1', false])
  const set = readConfig(['--region', 'us-east-1'], {})
  assert.deepEqual([set?.region, set?.anyRegion], ['us-east-1', false])
  assert.deepEqual([two?.region, two?.anyRegion], ['us-east-1', true])
  assert.equal(two?.sigV2, true)
  assert.equal(readConfig(['--no-sigv2'], {})?.sigV2, false)
  assert.equal(readConfig([], { HOLDFAST_NO_SIGV2: 'true' })?.sigV2, false)
  assert.equal(two?.anonymousDialect, 'svc')
  assert.equal(readConfig(['--anonymous-dialect', 's3'], {})?.anonymousDialect, 's3')
  assert.equal(readConfig([], { HOLDFAST_ANONYMOUS_DIALECT: 's3' })?.anonymousDialect, 's3')
  assert.throws(() => readConfig(['--anonymous-dialect', 'aws'], {}), /--anonymous-dialect is svc or s3, not aws/)
  assert.deepEqual(config?.buckets, ['one', 'two'])
  assert.deepEqual(config?.listen, { host: '127.0.0.1', port: 9000 })
  assert.deepEqual(readConfig(['--listen', '[::1]:80'], {})?.listen, { host: '::1', port: 80 })
  assert.equal(readConfig(['--console', 'off'], {})?.console, undefined)
  assert.deepEqual(config?.website, { hosts: ['website.flag.example'], onBucketHost: true })
  const sites = ['--website-host', 'Sites.example', '--website-on-bucket-host', 'false']
  assert.deepEqual(readConfig(sites, {})?.website, { hosts: ['sites.example'], onBucketHost: false })
  assert.throws(() => readConfig(['--website-on-bucket-host', 'no'], {}), BadConfig)
  assert.deepEqual(config?.namedKeys, { have: [], strict: false })
  const strict = readConfig(['--verenc-keys', 'x,y', '--verenc-strict-keys', 'true'], {})
  assert.deepEqual(strict?.namedKeys, { have: ['x', 'y'], strict: true })
  assert.throws(() => readConfig([], { HOLDFAST_ROOT_ACCESS_KEY: 'only' }), BadConfig)
  assert.throws(() => readConfig(['--tls-cert', 'x'], {}), BadConfig)
  assert.equal(readConfig(['--help'], {}), undefined)
  assert.equal(readConfig([], {})?.tlsForCustomerKeys, false)
  assert.equal(readConfig(['--require-tls-for-customer-keys'], {})?.tlsForCustomerKeys, true)
  assert.equal(readConfig([], { HOLDFAST_REQUIRE_TLS_FOR_CUSTOMER_KEYS: 'true' })?.tlsForCustomerKeys, true)
  assert.throws(() => readConfig([], { HOLDFAST_REQUIRE_TLS_FOR_CUSTOMER_KEYS: 'maybe' }), BadConfig)
})

test('unusable names and keys are refused', () => {
  for (const args of [
    ['--data', ''],
    ['--blobs', ''],
    ['--blobs', 'gopher://user:hush@host/x?key=hush'],
    ['--region', ''],
    ['--region', 'eu/1'],
    ...['', 'a b', 'http://x.example', 'x.example:9000', '.example', 'x.example.', 'a.example,', ',', 'a,b c'].flatMap(
      name => [
        ['--base-host', name],
        ['--website-host', name],
      ],
    ),
  ]) {
    assert.throws(() => readConfig(args, {}), BadConfig, args.join(' '))
  }
  const root = (accessKey: string, secretKey: string) =>
    readConfig([], { HOLDFAST_ROOT_ACCESS_KEY: accessKey, HOLDFAST_ROOT_SECRET_KEY: secretKey })
  for (const accessKey of ['a/b/c', 'a b c', 'AK,X=', 'ключ']) {
    assert.throws(() => root(accessKey, 'hush-hush'), /^Error: HOLDFAST_ROOT_ACCESS_KEY (?!.*hush)/)
  }
  assert.throws(() => root('AKROOT', 'hush\n'), BadConfig)
  for (const accessKey of ['AKROOT', 'a', 'some:body=~']) {
    assert.equal(root(accessKey, 'any words at all/+=')?.rootKey?.accessKey, accessKey)
  }
})
