/** Common mistakes at start: each ends the program with one line that says what to do. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { canonicalIdOf } from '../src/model/account.ts'
import { openFolder } from '../src/server/compose.ts'
import { holdfast, spawned } from './cli/program.ts'
import { PROGRAM } from './entry-point.ts'
import { withFolder } from './store/fixture.ts'

/** Its last line, without the log before it, and its exit code. Several workers need a separate process. */
async function failed(...args: readonly string[]): Promise<{ readonly code: unknown; readonly line: string }> {
  const start = args.join(' ').includes('--workers 2') ? spawned : holdfast
  const { code, errors } = await start(['serve', ...args], { env: {} })
  const lines = errors.split('\n').filter(line => line !== '' && !line.startsWith('{') && !/root access key/.test(line))
  return { code, line: lines.join('\n') }
}

/** A port that is in use. */
async function withTaken(use: (port: number) => Promise<void>): Promise<void> {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    await use((other.address() as AddressInfo).port)
  } finally {
    other.close()
  }
}

for (const workers of ['1', '2']) {
  test(`${workers} workers: a port that is taken, of the object API or of the console`, () =>
    withFolder(folder =>
      withTaken(async port => {
        const own = ['--data', folder, '--workers', workers]
        const [taken, free] = [`127.0.0.1:${port}`, '127.0.0.1:0']
        const said = `holdfast: ${taken} is in use by another program; choose another address with`
        assert.deepEqual(await failed(...own, '--listen', taken, '--console', free), {
          code: 1,
          line: `${said} --listen (EADDRINUSE)`,
        })
        assert.deepEqual(await failed(...own, '--listen', free, '--console', taken), {
          code: 1,
          line: `${said} --console (EADDRINUSE)`,
        })
      }),
    ))
}

test('a bucket of another account among --buckets is named', () =>
  withFolder(async folder => {
    const own = ['--data', folder, '--workers', '1', '--listen', '127.0.0.1:0', '--console', 'off']
    const parts = await openFolder({ folder })
    await parts.store.buckets.create({ name: 'of-another', owner: canonicalIdOf('111111111111'), lockEnabled: false })
    await parts.close()
    assert.deepEqual(await failed(...own, '--buckets', 'photos,of-another'), {
      code: 2,
      line: 'holdfast: --buckets: of-another is a bucket of another account',
    })
  }))

test('a data folder that is a file, or below one, fails the start', () =>
  withFolder(async folder => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const data of [file, join(file, 'below')]) {
      const { code, line } = await failed('--data', data, '--listen', '127.0.0.1:0', '--console', 'off')
      assert.equal(code, 1)
      assert.match(line, /^holdfast: .*file.* is not a folder.*choose another with --data \((EEXIST|ENOTDIR)\)$/)
    }
  }))

test('a data folder that cannot be created fails the start', async t => {
  if (!existsSync('/proc/self')) return t.skip('this system has no /proc')
  const own = ['--listen', '127.0.0.1:0', '--console', 'off']
  for (const data of ['/proc/holdfast', '/proc/holdfast/below']) {
    assert.deepEqual(await failed('--data', data, ...own), {
      code: 1,
      line: `holdfast: the folder /proc/holdfast cannot be created; choose another with --data (ENOENT)`,
    })
  }
})

test('an invalid certificate, bucket or database address fails before anything is opened', () =>
  withFolder(async folder => {
    const [empty, data] = [join(folder, 'empty.pem'), join(folder, 'data')]
    writeFileSync(empty, '')
    const own = ['--data', data, '--listen', '127.0.0.1:0', '--console', 'off']
    for (const [args, said] of [
      [['--tls-cert', '/nowhere', '--tls-key', empty], /^holdfast: --tls-cert: \/nowhere cannot be read \(ENOENT\)$/],
      [['--tls-cert', empty, '--tls-key', empty], /^holdfast: --tls-cert: .* has no certificate in PEM format$/],
      [
        ['--meta', 'postgres://u:hush/hush@db/name'],
        /^holdfast: --meta: a PostgreSQL address has the form (?!.*hush).*%2F/,
      ],
      [['--meta', 'postgres://u:hush@db:port/name'], /^holdfast: --meta: a PostgreSQL address has the form (?!.*hush)/],
      [['--buckets', 'good-one,A_B'], /^holdfast: --buckets: A_B is not a valid bucket name: .*$/],
    ] as const) {
      const { code, line } = await failed(...own, ...args)
      assert.equal(code, 2)
      assert.match(line, said)
    }
    assert(!existsSync(data))
  }))

test('an unreachable database is reported immediately without its password, and SIGTERM still works', () =>
  withFolder(async folder => {
    const place = ['--data', folder, '--listen', '127.0.0.1:0', '--console', 'off', '--workers', '1']
    const args = [PROGRAM, 'serve', ...place, '--meta', 'postgres://me:hush@127.0.0.1:1/db', '--log-level', 'warn']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    for await (const chunk of child.stderr) {
      said += String(chunk)
      if (said.includes('Waiting')) break
    }
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    // Not by the signal itself, which process 1 of a container would never get.
    assert.deepEqual(await ended, [0, null])
    const line = said.split('\n').find(text => text.includes('Waiting')) ?? ''
    const { level, postgres } = JSON.parse(line) as Record<string, string>
    assert.equal(level, 'warn')
    assert.match(postgres!, /^Waiting for PostgreSQL at 127\.0\.0\.1:1 \(.*ECONNREFUSED.*\), 0 of at most 30 s\.$/)
    assert(!said.includes('hush'))
  }))
