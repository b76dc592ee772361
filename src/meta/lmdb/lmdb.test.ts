import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { open } from 'lmdb'
import { DamagedRecord } from '../meta.ts'
import { metaSuite } from '../suite.ts'
import { ALL, putOne, utf8, utf8Text } from '../suite-driver.ts'
import { openLmdbMeta } from './lmdb.ts'
import { addChecksum, DirectReads, type LmdbEngine, openEngine, verifyChecksum } from './lmdb-engine.ts'

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'holdfast-lmdb-'))

metaSuite({
  name: 'lmdb',
  durable: true,
  async open() {
    const path = await newFolder()
    const meta = await openLmdbMeta({ path })
    return {
      meta,
      where: path,
      reopen: () => openLmdbMeta({ path }),
      async destroy() {
        await meta.close()
        await rm(path, { recursive: true, force: true })
      },
    }
  },
})

async function inFolder(body: (path: string) => Promise<void>): Promise<void> {
  const path = await newFolder()
  try {
    await body(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

const lastTransaction = (engine: object): number =>
  (engine as { env: { info(): { lastTxnId: number } } }).env.info().lastTxnId

test('an environment without syncs is rejected', () =>
  inFolder(async path => {
    const weak = open({ path, noSync: true, noSubdir: false })
    await assert.rejects(openLmdbMeta({ path }), /runs with noSync; durability 'fsync' needs none/)
    await weak.close()
  }))

test('an environment with late syncs is rejected', () =>
  inFolder(async path => {
    const weak = open({ path, overlappingSync: true, noSubdir: false })
    await assert.rejects(openLmdbMeta({ path }), /runs with overlappingSync; durability 'fsync' needs none/)
    await weak.close()
  }))

test('an environment opened with one durability is rejected for the other', () =>
  inFolder(async path => {
    const lazy = await openLmdbMeta({ path, durability: 'os' })
    assert.equal(await lazy.commit({ checks: [], writes: [putOne('a', '1')] }), true)
    await assert.rejects(openLmdbMeta({ path }), /runs with noSync/)
    await lazy.close()
    const safe = await openLmdbMeta({ path })
    assert.equal(await utf8Text(safe, 'a'), '1')
    await assert.rejects(openLmdbMeta({ path, durability: 'os' }), /needs noSync/)
    await safe.close()
  }))

test('commits issued together share few write transactions', () =>
  inFolder(async path => {
    const meta = await openLmdbMeta({ path })
    const observer = open({
      path,
      noSubdir: false,
      keyEncoding: 'binary',
      encoding: 'binary',
      useVersions: true,
    } as object as {
      path: string
    })
    const before = lastTransaction(observer)
    const commits = Array.from({ length: 64 }, (_, index) =>
      meta.commit({
        checks: index % 2 === 0 ? [{ key: utf8(`k${index}`), stamp: undefined }] : [],
        writes: [putOne(`k${index}`, 'v')],
      }),
    )
    assert.ok((await Promise.all(commits)).every(taken => taken))
    // The writer starts on the first ones while the others are being issued.
    assert.ok(lastTransaction(observer) - before <= 8, 'a transaction of their own for each would be 64')
    await observer.close()
    await meta.close()
  }))

test('two records are read from one snapshot, also where both are replaced between the reads', () =>
  inFolder(async path => {
    const engine = await openEngine(path, 'os')
    const { putSync } = engine as LmdbEngine & { putSync(key: Buffer, value: Buffer, version: number): void }
    const keys = [utf8('a'), utf8('b')] as const
    const write = (text: string, version: number): void => {
      for (const key of keys) putSync.call(engine, key, addChecksum(key, utf8(text)), version)
    }
    let reads = 0
    const getBinaryFast: LmdbEngine['getBinaryFast'] = (key, options) => {
      if (++reads === 2) write('new', 2)
      return engine.getBinaryFast(key, options)
    }
    write('old', 1)
    const direct = new DirectReads(Object.create(engine, { getBinaryFast: { value: getBinaryFast } }) as LmdbEngine)
    const texts = (): (string | undefined)[] =>
      direct
        .getBoth({ key: keys[0], known: undefined }, { key: keys[1], known: undefined })
        .map(entry => entry?.value.toString())
    assert.deepEqual(texts(), ['old', 'old'])
    assert.deepEqual(texts(), ['new', 'new'])
    direct.close()
    await engine.close()
  }))

test('a flipped bit on disk is reported by get and scan, and other records stay readable', () =>
  inFolder(async path => {
    const pattern = utf8('here is a value that occurs nowhere else in the file')
    const first = await openLmdbMeta({ path })
    await first.commit({
      checks: [],
      writes: [putOne('a', 'sound'), { key: utf8('b'), value: pattern }, putOne('c', 'sound')],
    })
    await first.close()
    const file = join(path, 'data.mdb')
    const content = await readFile(file)
    for (let at = content.indexOf(pattern); at >= 0; at = content.indexOf(pattern, at)) content[at + 20]! ^= 0x10
    await writeFile(file, content)
    const meta = await openLmdbMeta({ path })
    const damaged = async (): Promise<unknown> => meta.get(utf8('b'))
    await assert.rejects(damaged, error => error instanceof DamagedRecord && error.key.equals(utf8('b')))
    await assert.rejects(meta.scan(ALL, 10), DamagedRecord)
    await assert.rejects(
      meta.scanMap(ALL, 10, () => 'made'),
      DamagedRecord,
    )
    assert.equal(await utf8Text(meta, 'a'), 'sound')
    assert.equal(await utf8Text(meta, 'c'), 'sound')
    await meta.close()
  }))

test('a failed scan releases its snapshot, so that replaced pages are reused', () =>
  inFolder(async path => {
    const meta = await openLmdbMeta({ path, durability: 'os' })
    const replace = () => meta.commit({ checks: [], writes: [{ key: utf8('a'), value: Buffer.alloc(90_000) }] })
    await replace()
    for (let n = 0; n < 3; n++)
      await assert.rejects(
        meta.scanMap(ALL, 10, () => assert.fail()),
        assert.AssertionError,
      )
    for (let n = 0; n < 60; n++) await replace()
    const { usedBytes } = await meta.statistics!()
    assert.ok(usedBytes < 1_000_000, `${usedBytes} bytes for one record`)
    await meta.close()
  }))

test('a sealed value opens only under its own key, complete and unchanged', () => {
  const key = utf8('key')
  const sealed = Buffer.from(addChecksum(key, utf8('value')))
  assert.equal(verifyChecksum(key, sealed).toString(), 'value')
  assert.throws(() => verifyChecksum(utf8('kez'), sealed), DamagedRecord)
  assert.throws(() => verifyChecksum(key, sealed.subarray(0, 3)), DamagedRecord)
  assert.throws(() => verifyChecksum(key, sealed.subarray(0, -1)), DamagedRecord)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    assert.throws(() => verifyChecksum(key, flipped), DamagedRecord)
  }
})

interface FullReport {
  readonly last: Record<string, number>
  readonly stored: number
  readonly readable: number
  readonly removed: boolean | string
  readonly afterwards: readonly Record<string, number>[]
  readonly unhandled: number
}

/** Runs in a process whose files may not exceed 2 MiB: writes are cut short as on a full disk. */
async function fillUp(path: string, claim: 'full' | 'roomy'): Promise<FullReport> {
  const child = fileURLToPath(import.meta.url.replace(/lmdb\.test(\.\w+)$/, 'lmdb-full-child$1'))
  const limited = 'trap "" XFSZ; ulimit -f 4096; exec "$0" "$@"'
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, child, path, claim])
  return JSON.parse(stdout)
}

test('on a full disk commits fail with MetaFull, reads work, and removals free space', () =>
  inFolder(async path => {
    const report = await fillUp(path, 'full')
    assert.deepEqual(report.last, { MetaFull: 40 })
    assert.ok(report.stored > 100)
    assert.equal(report.readable, report.stored)
    assert.equal(report.removed, true)
    assert.deepEqual(report.afterwards, [{ true: 1 }, { true: 1 }, { true: 20 }])
    assert.equal(report.unhandled, 0)
    const meta = await openLmdbMeta({ path })
    assert.equal((await meta.scan(ALL, 10_000)).length, report.stored - 80 + 22)
    await meta.close()
  }))

test('a write error without a harmless cause leaves the outcome unknown and stops writes', () =>
  inFolder(async path => {
    const report = await fillUp(path, 'roomy')
    assert.deepEqual(report.last, { OutcomeUnknown: 40 })
    assert.equal(report.removed, 'OutcomeUnknown')
    assert.deepEqual(report.afterwards, [{ OutcomeUnknown: 1 }, { OutcomeUnknown: 1 }, { OutcomeUnknown: 20 }])
    assert.equal(report.readable, report.stored)
    assert.equal(report.unhandled, 0)
  }))

test('a closed engine answers with an error', () =>
  inFolder(async path => {
    const meta = await openLmdbMeta({ path })
    const last = meta.commit({ checks: [], writes: [putOne('a', '1')] })
    await meta.close()
    assert.equal(await last, true)
    await meta.close()
    await assert.rejects(async () => meta.get(utf8('a')), /closed/)
    await assert.rejects(meta.scan(ALL, 1), /closed/)
    await assert.rejects(meta.commit({ checks: [], writes: [] }), /closed/)
  }))
