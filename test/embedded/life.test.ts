/** The life of an embedded store: alone, beside others, in a folder, cleared, closed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Holdfast } from '../../src/index.ts'
import { canonicalIdOf } from '../../src/model/account.ts'
import type { Who } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, start, using } from './fixture.ts'

const LARGE = Buffer.alloc(3 * 2 ** 20, 'large')

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: what is put is got, in memory and in a folder`, () =>
    withFolder(async folder => {
      for (const options of [{}, { folder }]) {
        await using(
          options,
          async ({ put, get }) => {
            for (const body of [Buffer.from('small'), Buffer.alloc(100_000, 'packed'), LARGE]) {
              assert.equal((await put('k', body)).status, 200)
              assert((await get('k')).body.equals(body))
            }
          },
          dialect,
        )
      }
    }))
}

test('ten stores in one process are independent', async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => start()))
  try {
    assert.equal(new Set(all.map(({ hf }) => hf.port)).size, 10)
    for (const [index, { put }] of all.entries()) await put(`k${index}`, `of ${index}`)
    for (const [index, { get }] of all.entries()) {
      assert.equal((await get(`k${index}`)).body.toString(), `of ${index}`)
      assert.equal((await get(`k${(index + 1) % 10}`)).status, 404)
    }
    const [one, other] = all as [(typeof all)[0], (typeof all)[0]]
    assert.equal((await one.send({ method: 'GET', path: '/k0', as: other.root })).code(), 'InvalidAccessKeyId')
  } finally {
    await Promise.all(all.map(({ hf }) => hf.close()))
  }
})

test('objects in a folder are there at the next start', () =>
  withFolder(async folder => {
    await using({ folder }, async ({ put }) => void (await put('k', LARGE)))
    await using({ folder }, async ({ hf, get }) => {
      assert((await get('k')).body.equals(LARGE))
      await assert.rejects(hf.reset(), /is not emptied/)
      assert.equal((await get('k')).status, 200, 'a refused reset has no effect')
    })
  }))

test('a reset leaves only what the start created', () =>
  withFolder(async folder => {
    const other = { accessKey: 'AKOTHER', secretKey: 'secret-of-other' }
    const accounts = [{ accountId: '222222222222', displayName: 'other', accessKeys: [other] }]
    for (const options of [{ accounts }, { accounts, folder }]) {
      await using(options, async ({ hf, send, put, get }) => {
        const as: Who = { ...other, accountId: '222222222222', canonicalId: canonicalIdOf('222222222222') }
        await put('k', LARGE)
        await send({ method: 'PUT', bucket: 'more', path: '/' })
        hf.faults.add({ fault: 'slow-down' })
        hf.clock.advance({ days: 3 })
        await hf.reset()
        assert.equal((await get('k')).code(), 'NoSuchKey')
        assert.equal((await send({ method: 'GET', bucket: 'more', path: '/' })).code(), 'NoSuchBucket')
        assert.equal((await send({ method: 'GET', path: '/', as })).code(), 'AccessDenied', 'known, but not allowed')
        assert(Math.abs(hf.clock.now().getTime() - Date.now()) < 60_000)
        assert.equal((await put('k', 'again')).status, 200)
      })
    }
  }))

test('a reset does not wait for a client that sends nothing more', () =>
  using({}, async ({ hf, stall, get }) => {
    const { ended } = await stall('stalled')
    await hf.reset()
    await ended
    assert.equal((await get('stalled')).status, 404)
  }))

test('closing ends idle and busy connections, and may be called twice', async () => {
  const { hf, stall } = await start()
  const idle = connect(hf.port, '127.0.0.1').on('error', () => {})
  idle.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(idle, 'data')
  const ended = once(idle, 'close')
  const stalled = await stall('stalled')
  await Promise.all([hf.close(), hf.close()])
  await Promise.all([ended, stalled.ended])
  await assert.rejects(fetch(hf.endpoint))
  await assert.rejects(hf.reset(), /closed/)
  await assert.rejects(hf.runLifecycle(), /closed/)
})

test('invalid options are refused, and nothing stays behind', async () => {
  await assert.rejects(Holdfast.start({ buckets: ['No_Name'] }), /InvalidBucketName|not valid/)
  await assert.rejects(Holdfast.start({ accounts: [{ accountId: 'x' }] }), /accounts\[0\]/)
  await using({}, ({ hf }) => assert.rejects(Holdfast.start({ port: hf.port }), /EADDRINUSE|in use/))
})

test('a bucket with locks is made when it is asked for', () =>
  using({ buckets: [{ name: BUCKET, objectLock: true }] }, async ({ send }) => {
    const lock = await send({ method: 'GET', path: '/?object-lock' })
    assert.match(lock.body.toString(), /<ObjectLockEnabled>Enabled</)
  }))

test('the configuration for SDK clients says where and who', () =>
  using({ region: 'eu-west-9' }, async ({ hf }) => {
    const { endpoint, credentials } = hf
    const expected = { endpoint, region: 'eu-west-9', credentials, forcePathStyle: true }
    assert.deepEqual(hf.s3ClientConfig(), expected)
    assert.equal(endpoint, `http://127.0.0.1:${hf.port}`)
    const other = { accessKeyId: 'AK', secretAccessKey: 'other' }
    assert.deepEqual(hf.s3ClientConfig(other).credentials, other)
  }))

test('requests are logged without secrets', async () => {
  const log: Readonly<Record<string, unknown>>[] = []
  await using({ log: line => log.push(line) }, async ({ put, root }) => {
    await put('k', 'x')
    assert.deepEqual(
      log.map(({ operation, code }) => [operation, code]),
      [['PutObject', 'ok']],
    )
    assert(!JSON.stringify(log).includes(root.secretKey))
  })
})

test('a process ends by itself once its stores are closed', () =>
  withFolder(async folder => {
    const index = new URL('../../src/index.js', import.meta.url).href.replace(
      /\.js$/,
      import.meta.url.endsWith('.ts') ? '.ts' : '.js',
    )
    const script = `
      const { Holdfast } = await import(${JSON.stringify(index)})
      const all = await Promise.all([{}, {}, { folder: ${JSON.stringify(folder)} }].map(o => Holdfast.start(o)))
      for (const hf of all) {
        await fetch(hf.endpoint)
        hf.faults.add({ fault: { delay: 3_600_000 } })
        fetch(hf.endpoint).catch(() => {})
        await hf.runMaintenance()
        await hf.close()
      }
      process.stdout.write('closed')`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', text => {
      said += text
    })
    const [code] = await once(child, 'close')
    assert.deepEqual([code, said], [0, 'closed'])
  }))

test('neither database driver is loaded for a store in memory', async () => {
  const index = new URL('../../src/index.js', import.meta.url).href
  const script = `
    import { createRequire } from 'node:module'
    const { Holdfast } = await import(${JSON.stringify(index)})
    const hf = await Holdfast.start()
    await hf.close()
    const loaded = process.report.getReport().sharedObjects.filter(path => /lmdb/.test(path))
    const { cache } = createRequire(import.meta.url)
    const required = Object.keys(cache).filter(path => /node_modules.(pg|lmdb)./.test(path))
    process.stdout.write(JSON.stringify([...loaded, ...required]))`
  const child = spawn('node', ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', text => {
    said += text
  })
  await once(child, 'close')
  assert.equal(said, '[]')
})
