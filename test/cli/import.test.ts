/** `holdfast import` between two servers, small enough for every test run; test/import is the long version. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { seededAt, withServers } from '../import/fixture.ts'
import { BUCKET, clientOf, imported, play, SOURCE_KEY } from '../import/round.ts'
import { EVERYTHING, keyOf, seed } from '../import/seed.ts'
import { shortOrLong } from '../long.ts'
import { withFolder } from '../store/fixture.ts'
import { holdfast, ROOT } from './program.ts'

const OBJECTS = shortOrLong(60, 120)
const KEYS = {
  HOLDFAST_ACCESS_KEY: ROOT.accessKey,
  HOLDFAST_SECRET_KEY: ROOT.secretKey,
  HOLDFAST_SOURCE_ACCESS_KEY: SOURCE_KEY.accessKey,
  HOLDFAST_SOURCE_SECRET_KEY: SOURCE_KEY.secretKey,
}

const md5Of = (body: Buffer): string => createHash('md5').update(body).digest('base64')
const OTHER = Buffer.from('somebody else was here first')
const MD5_OF_OTHER = md5Of(OTHER)
const proven = (body: Buffer) => ({ headers: [['content-md5', md5Of(body)]] as const, body })

test('a killed import resumes, and every version arrives once with all its attributes', () =>
  withServers(async pair => {
    const seeded = await seededAt(pair.sourceUrl, OBJECTS)
    const told = await play({ ...pair, seeded, kills: [0.3] })
    assert.equal(told.verified.asReceived, 0, 'everything was verified by what the source says')
  }))

test('differences at the target are reported with exit code 1; nothing is replaced', () =>
  withServers(async pair => {
    const seeded = await seededAt(pair.sourceUrl, 30)
    const target = clientOf(pair.targetUrl, 'moved')
    await target.requestOnce({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
    const [taken, gone] = [keyOf(2), keyOf(6)]
    await target.requestOnce({ method: 'PUT', key: taken, headers: [['content-md5', MD5_OF_OTHER]], body: OTHER })
    const first = await imported(pair)
    assert.equal(first.code, 1)
    assert.deepEqual(
      first.told.failed.examples.map(({ key }) => key),
      [taken],
    )
    assert((await target.requestOnce({ method: 'GET', key: taken })).body.equals(OTHER))
    const made = await target.requestOnce({ method: 'HEAD', key: gone })
    await target.requestOnce({ method: 'DELETE', key: gone, query: { versionId: made.headers.get(':version-id') } })
    const compared = await imported(pair, '--compare')
    const lacking = compared.told.missing.examples.map(({ key }) => key)
    assert.deepEqual([compared.code, new Set(lacking)], [1, new Set([taken, gone])])
    assert.equal(lacking.length, seeded.get(taken)!.length + 1)
    target.close()
  }))

test('holds that a bucket without object lock cannot take are reported, never skipped', () =>
  withServers(async pair => {
    await seededAt(pair.sourceUrl, 20)
    const target = clientOf(pair.targetUrl, 'moved')
    await target.requestOnce({ method: 'PUT' })
    target.close()
    const { code, told } = await imported(pair)
    assert.equal(code, 1)
    // Two of twenty have a hold, and so has the one in parts; two in ten are retained.
    const lost = Object.fromEntries(told.notCarriedOver.map(({ what, count }) => [what, count]))
    assert.deepEqual([lost.hold, lost.retention], [3, 4])
    assert.equal(told.missing.count, 0)
  }))

test('bucket documents are imported last, and a policy names the new bucket', () =>
  withServers(async pair => {
    const source = clientOf(pair.sourceUrl, BUCKET, SOURCE_KEY)
    await seed(source, { objects: 10, traits: EVERYTHING })
    const allow = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${BUCKET}/*` }
    const policy = Buffer.from(JSON.stringify({ Version: '2012-10-17', Statement: [allow] }))
    await source.requestOnce({ method: 'PUT', query: { policy: '' }, body: policy })
    const rule = '<DefaultRetention><Mode>GOVERNANCE</Mode><Days>3</Days></DefaultRetention>'
    const enabled = '<ObjectLockEnabled>Enabled</ObjectLockEnabled>'
    const lock = `<ObjectLockConfiguration>${enabled}<Rule>${rule}</Rule></ObjectLockConfiguration>`
    await source.requestOnce({ method: 'PUT', query: { 'object-lock': '' }, ...proven(Buffer.from(lock)) })
    source.close()
    const { code, told } = await imported(pair, '--with-bucket-settings')
    assert.equal(code, 0, JSON.stringify(told))
    const target = clientOf(pair.targetUrl, 'moved')
    const carried = (await target.requestOnce({ method: 'GET', query: { policy: '' } })).body.toString('utf8')
    assert.match(carried, /arn:aws:s3:::moved\/\*/)
    const locked = (await target.requestOnce({ method: 'GET', query: { 'object-lock': '' } })).body.toString('utf8')
    assert.match(locked, /<Days>3<\/Days>/)
    // The rule was set after the objects: those without retention still have none.
    const { headers: said } = await target.requestOnce({ method: 'HEAD', key: keyOf(6) })
    assert.equal(said.get(':object-lock-mode'), undefined)
    target.close()
  }))

test('an import that failed before it began does not block the next', () =>
  withFolder(async folder => {
    const state = join(folder, 'state')
    const nowhere = (bucket: string): string[] => {
      const where = ['--from', 'http://127.0.0.1:1', '--into', 'http://127.0.0.1:1', '--state', state]
      return ['import', `s3://${bucket}`, '--to', 'target', ...where]
    }
    const first = await holdfast(nowhere('misspelt'), { env: KEYS })
    assert.match(first.errors, /127\.0\.0\.1:1/)
    assert(!existsSync(state), 'nothing is remembered, so nothing is kept')
    // As earlier versions left it: only a header.
    writeFileSync(state, '{"import":1,"from":"http://127.0.0.1:1/misspelt/","to":"http://127.0.0.1:1/target"}\n')
    const second = await holdfast(nowhere('right'), { env: KEYS })
    assert.equal(second.code, 1)
    assert.doesNotMatch(second.errors, /another import/)
  }))

test('invalid arguments are refused before anything happens, and no secret is shown', () =>
  withFolder(async folder => {
    const state = join(folder, 'state')
    const where = ['--from', 'http://127.0.0.1:1', '--into', 'http://127.0.0.1:1', '--state', state]
    const bad: readonly (readonly [readonly string[], RegExp])[] = [
      [['import', 'bucket', ...where], /s3:\/\/BUCKET/],
      [['import', 's3://b'], /--from is missing/],
      [['import', 's3://b', '--from', 'ftp://x'], /--from takes/],
      [['import', 's3://b', '--from', 'http://key:secret@x'], /no password/],
      [['import', 's3://b', ...where, '--in-flight', '0'], /--in-flight takes/],
    ]
    for (const [args, why] of bad) {
      const { code, errors } = await holdfast(args, { env: KEYS })
      assert.deepEqual([code, why.test(errors)], [2, true], `${args.join(' ')}: ${errors}`)
    }
    const keyless = await holdfast(['import', 's3://b', ...where], { env: {} })
    assert.deepEqual([keyless.code, /no key for the source/.test(keyless.errors)], [1, true])
    assert(!existsSync(state))
    const header = '{"import":1,"from":"http://elsewhere/b/","to":"http://127.0.0.1:1/b"}\n'
    writeFileSync(state, `${header}{"leftOut":"[\\"k\\",\\"\\",\\"e\\"]"}\n`)
    const other = await holdfast(['import', 's3://b', ...where], { env: KEYS })
    assert.deepEqual([other.code, /another import/.test(other.errors)], [1, true])
    assert(!`${other.errors}${other.out}${readFileSync(state, 'utf8')}`.includes(SOURCE_KEY.secretKey))
  }))
