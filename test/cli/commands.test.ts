/** The command line as people and scripts use it: a real server, real folders, exit codes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { VERSION } from '../../src/version.ts'
import { withFolder } from '../store/fixture.ts'
import { commandLine, type Ended, holdfast, ROOT_ENV, serving, spawned, spawnServer } from './program.ts'

const ONE = '111111111111'
const POLICY = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"svc:GetObject","Resource":"*"}}'

const oneLine = ({ errors }: Ended): string => {
  assert.match(errors, /^holdfast: [^\n]+\n$/)
  return errors
}

test('commands do not create a store in an empty folder', () =>
  withFolder(async folder => {
    const data = join(folder, 'none')
    for (const args of [['account', 'list'], ['fsck'], ['scrub']]) {
      const ended = await holdfast([...args, '--data', data])
      assert.equal(ended.code, 1)
      assert.match(oneLine(ended), /there is no store in/)
    }
    assert(!existsSync(data))
  }))

test('a server without a console and an unreachable one are reported', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const server = await serving(['--data', data, '--console', 'off'])
    try {
      const ended = await holdfast(['account', 'list', '--data', data])
      assert.deepEqual([ended.code, /has no console/.test(oneLine(ended))], [1, true])
    } finally {
      await server.stop()
    }
    const gone = await holdfast(['account', 'list', '--endpoint', 'http://127.0.0.1:1'])
    assert.deepEqual([gone.code, /cannot be reached/.test(oneLine(gone))], [1, true])
  }))

test('an invalid endpoint is refused immediately, as a flag and as a variable', async () => {
  for (const endpoint of [
    'ftp://x',
    'localhost:9001',
    '127.0.0.1:9001',
    'http://',
    'http://a b',
    '/data',
    'http://x/v1',
  ]) {
    for (const ended of [
      await holdfast(['account', 'list', '--endpoint', endpoint]),
      await holdfast(['account', 'list'], { env: { HOLDFAST_ENDPOINT: endpoint } }),
    ]) {
      assert.deepEqual([ended.code, ended.out], [2, ''], `${endpoint}: ${ended.errors}`)
      assert.match(oneLine(ended), /^holdfast: --endpoint takes http\(s\):\/\/HOST\[:PORT\]/, endpoint)
    }
  }
  const withPassword = await holdfast(['account', 'list', '--endpoint', 'http://somebody:tell-nobody@x'])
  assert.deepEqual([withPassword.code, /tell-nobody/.test(withPassword.errors)], [2, false])
  assert.match(oneLine(withPassword), /no password/)
})

test('invalid usage prints one line and exits with 2', async () => {
  const others = [['account'], ['account', 'show'], ['key', 'list', ONE, '--usr', 'x'], ['help', 'x']]
  // The first by the real program, whose exit code scripts see.
  for (const [args, run] of [[['acount'], spawned] as const, ...others.map(other => [other, holdfast] as const)]) {
    const ended = await run(args)
    assert.equal(ended.code, 2, args.join(' '))
    assert.equal(ended.out, '')
    oneLine(ended)
  }
})

test('help lists every command with its arguments, without colours', async () => {
  const [plain, flag] = [await holdfast(['help']), await holdfast(['--help'])]
  assert.deepEqual([plain.code, flag.code], [0, 0])
  assert.equal(plain.out, flag.out)
  for (const word of ['serve', 'account create', 'doctor', '--durability fsync|os'])
    assert(plain.out.includes(word), word)
  assert(!plain.out.includes('\x1b'))
  const one = await holdfast(['account', 'create', '--help'])
  assert.match(one.out, /^Usage: holdfast account create \[ACCOUNT\] \[flags\]\n/)
  assert.match((await holdfast(['account', '--help'])).out, /holdfast account delete ACCOUNT/)
  assert.equal((await holdfast(['help', '--json'])).code, 0)
})

test('a policy is checked without a server', async () => {
  const fine = await holdfast(['policy', 'validate', '-'], { input: POLICY })
  assert.deepEqual([fine.code, fine.out], [0, 'valid: 1 statements\n'])
  const wrong = await holdfast(['policy', 'validate', '-', '--json'], { input: '{"Statement": []}' })
  assert.equal(wrong.code, 1)
  assert.equal(JSON.parse(wrong.out).valid, false)
  assert.equal((await holdfast(['policy', 'validate', '/nowhere'])).code, 1)
})

test('bash completes commands, flags, choices and names that the server knows', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    // The shell blocks this process during completion, so the server needs a separate one.
    const server = await spawnServer(['--data', data, '--buckets', 'photos,videos', '--workers', '1'])
    try {
      const { out } = await holdfast(['completion', 'bash'])
      const complete = (line: string): string[] => {
        // Bash also splits a line into words at colons and equals signs.
        const set = `COMP_LINE='${line}' COMP_POINT=${line.length} COMP_WORDS=(${line.replaceAll(/([:=])/g, ' $1 ')}${
          line.endsWith(' ') ? " ''" : ''
        }); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))`
        const program = `holdfast() { ${commandLine()} "$@"; }`
        const script = `${program}\n${out}\n${set}; _holdfast; printf '%s ' "\${COMPREPLY[@]}"`
        const env = { ...ROOT_ENV, PATH: process.env.PATH, HOLDFAST_DATA: data }
        return spawnSync('bash', ['-c', script], { encoding: 'utf8', env }).stdout.trim().split(' ')
      }
      assert.deepEqual(complete('holdfast acc'), ['account'])
      assert.deepEqual(complete('holdfast user de'), ['delete', 'detach'])
      assert.deepEqual(complete('holdfast key create --us'), ['--user'])
      assert.deepEqual(complete('holdfast bucket versioning photos '), ['on', 'suspended'])
      assert.deepEqual(complete('holdfast bucket info p'), ['photos'])
      assert.deepEqual(complete('holdfast explain --do s3:GetBucketVers'), ['GetBucketVersioning'])
      assert.deepEqual(complete('holdfast bucket list --account=0'), ['000000000000'])
      assert.deepEqual(complete('holdfast user attach 000000000000 bob read-'), ['read-only', 'read-write'])
    } finally {
      await server.stop()
    }
    assert.equal((await holdfast(['completion', 'tcsh'])).code, 2)
  }))

test('version, --version and -v say the same', async () => {
  for (const words of [['version'], ['--version'], ['-v'], ['-V']]) {
    const { code, out } = await holdfast(words)
    assert.deepEqual([code, out], [0, `holdfast ${VERSION}\n`], words.join(' '))
  }
  assert.deepEqual(JSON.parse((await holdfast(['version', '--json'])).out), { version: VERSION })
})

test('serve refuses unknown flags as other commands do', async () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['serve', '--dat', 'x'], 'unknown flag: --dat - did you mean --data?'],
    [['--lisen', 'x'], 'unknown flag: --lisen - did you mean --listen?'],
    [['serve', '-x'], 'unknown flag: -x'],
    [['serve', '--data'], '--data needs DIR'],
    [['serve', '--metrics-public=1'], '--metrics-public takes no value'],
    [['serve', 'now'], 'unexpected argument now: holdfast serve [flags]'],
  ]
  for (const [args, line] of cases) {
    const { code, out, errors } = await holdfast(args)
    assert.deepEqual([code, out, errors], [2, '', `holdfast: ${line}\n`])
  }
})

test('an unreadable folder is not reported as one without a store', () =>
  withFolder(async folder => {
    const data = join(folder, 'loop')
    symlinkSync(data, data)
    for (const args of [['account', 'list'], ['fsck'], ['health']]) {
      const ended = await holdfast([...args, '--data', data])
      assert.equal(ended.code, 1)
      assert.match(oneLine(ended), /cannot be read \(ELOOP\)/)
    }
    const { code, out } = await holdfast(['doctor', '--data', data])
    assert.deepEqual([code, /bad +folder +\S+ cannot be read/.test(out)], [1, true], out)
  }))

test('ids are generated, canned policies have names, and column titles are words', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    await (await serving(['--data', data])).stop()
    const ask = async (...args: string[]) => {
      const { code, out, errors } = await holdfast([...args, '--data', data])
      assert.equal(code, 0, errors)
      return out
    }
    const { accountId } = JSON.parse(await ask('account', 'create', '--name', 'made', '--json'))
    assert.match(accountId, /^[1-9]\d{11}$/)
    assert.match(await ask('account', 'list'), /^ACCOUNT ID +DISPLAY NAME +EMAIL +ADMIN +DISABLED +CREATED AT\n/)
    assert.match(await ask('account', 'show', accountId), /^account id +\d{12}\ncanonical id +/)
    await ask('user', 'create', accountId, 'bob')
    await ask('user', 'attach', accountId, 'bob', 'read-only', '--buckets', 'photos')
    const { policies } = JSON.parse(await ask('user', 'attach', accountId, 'bob', 'admin', '--json'))
    assert.deepEqual(
      policies.map(({ name, document }: { name: string; document: { Statement: { Action: string }[] } }) => [
        name,
        document.Statement[0]!.Action,
      ]),
      [
        ['read-only', ['svc:Get*', 'svc:List*']],
        ['admin', ['svc:*']],
      ],
    )
    const unknown = await holdfast(['user', 'attach', accountId, 'bob', 'read', '--data', data])
    assert.equal(unknown.code, 1)
    assert.match(oneLine(unknown), /no canned policy read; use one of read-only, read-write, admin, or send a document/)
    assert.match((await holdfast(['policy', 'canned'])).out, /^NAME +MEANING\nread-only /)
  }))

test('doctor finds readable secrets and misspelt settings, and leaves nothing behind', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    await (await serving(['--data', data])).stop()
    const names = readdirSync(data)
    const look = async (env: NodeJS.ProcessEnv) => {
      const { code, out } = await holdfast(['doctor', '--data', data, '--json'], { env })
      const findings = JSON.parse(out).findings as { check: string; state: string; found: string; advice?: string }[]
      return { code, findings, of: (check: string) => findings.filter(one => one.check === check) }
    }
    const before = await look({})
    assert.deepEqual(
      before.findings.filter(({ state, check }) => state === 'bad' && check !== 'filesystem' && check !== 'space'),
      [],
    )
    chmodSync(join(data, 'keyring'), 0o644)
    const after = await look({ HOLDFAST_DURABILTY: 'os', HOLDFAST_LISTEN: 'nowhere' })
    assert.equal(after.code, 1)
    assert.deepEqual(
      after.of('keyring').map(({ state, advice }) => [state, advice]),
      [['bad', `chmod 600 ${join(data, 'keyring')}`]],
    )
    assert.deepEqual(
      after.of('settings').map(({ state }) => state),
      ['odd', 'bad'],
    )
    assert.deepEqual(readdirSync(data), names)
  }))
