/**
 * The program from start to restart, with everything that one form of it could lack: native modules, other processes,
 * commands. Run on the current build, the single executable and the installed package.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../../src/model/account.ts'
import { md5Header } from '../http/actions.ts'
import { BASE_HOST, Client, type Sending, type Who } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { ROOT, spawned, spawnServer } from './program.ts'

const as: Who = { ...ROOT, accountId: ROOT_ACCOUNT_ID, canonicalId: canonicalIdOf(ROOT_ACCOUNT_ID) }
const bucket = 'smoke'
const HOLD = '<LegalHold><Status>ON</Status></LegalHold>'
const PART_BYTES = 5 * 2 ** 20
/** One inline, one in a volume, one in a file of its own: each is read and checked differently. */
const CONTENTS = new Map([
  ['/inline', Buffer.alloc(100, 'i')],
  ['/packed', Buffer.alloc(100_000, 'p')],
  ['/solo', Buffer.alloc(3 * 2 ** 20, 's')],
])

const start = (data: string) => spawnServer(['--data', data, '--workers', '2', '--base-host', BASE_HOST])

function clientOf(url: string): (what: Omit<Sending, 'bucket' | 'as'>) => ReturnType<Client['send']> {
  const client = new Client('s3', new ManualClock(Date.now()), Number(new URL(url).port))
  return what => client.send({ bucket, as, ...what })
}

type Send = ReturnType<typeof clientOf>

async function upload(send: Send, path: string, parts: readonly Buffer[]): Promise<void> {
  const begun = await send({ method: 'POST', path: `${path}?uploads=` })
  const id = begun.xml().children.find(({ name }) => name === 'UploadId')?.text
  const listed: string[] = []
  for (const [index, body] of parts.entries()) {
    const sent = await send({ method: 'PUT', path: `${path}?partNumber=${index + 1}&uploadId=${id}`, body })
    assert.equal(sent.status, 200)
    listed.push(`<Part><PartNumber>${index + 1}</PartNumber><ETag>${sent.headers.get('etag')}</ETag></Part>`)
  }
  const body = `<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`
  assert.equal((await send({ method: 'POST', path: `${path}?uploadId=${id}`, body })).status, 200)
}

async function expectAll(send: Send, contents: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [path, content] of contents) {
    const { status, body } = await send({ method: 'GET', path })
    assert.equal(status, 200, path)
    assert(body.equals(content), path)
  }
  const listing = (await send({ method: 'GET', path: '/?list-type=2' })).xml()
  const keys = listing.children.filter(({ name }) => name === 'Contents').map(({ children }) => `/${children[0]!.text}`)
  assert.deepEqual(keys, [...contents.keys()].sort())
}

/** `undefined` where the system does not report it. */
function nativePartsOf(pid: number): readonly string[] | undefined {
  if (process.platform !== 'linux') return undefined
  const mapped = readFileSync(`/proc/${pid}/maps`, 'utf8').match(/\/\S+\.node$/gm)
  return [...new Set(mapped)]
}

test('it serves from several processes, keeps data over a restart, and verifies its ledger', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const contents = new Map(CONTENTS)
    const first = await start(data)
    const send = clientOf(first.url)
    try {
      const withLocks = [[':bucket-object-lock-enabled', 'true']] as const
      assert.equal((await send({ method: 'PUT', path: '/', headers: withLocks })).status, 200)
      for (const [path, body] of contents) assert.equal((await send({ method: 'PUT', path, body })).status, 200)
      const parts = [Buffer.alloc(PART_BYTES, 'a'), Buffer.from('the end')]
      await upload(send, '/parts', parts)
      contents.set('/parts', Buffer.concat(parts))
      const hold = await send({ method: 'PUT', path: '/inline?legal-hold=', headers: [md5Header(HOLD)], body: HOLD })
      assert.equal(hold.status, 200)
      await expectAll(send, contents)
      assert.deepEqual(await spawned(['health', '--data', data]), { code: 0, out: 'ready\n', errors: '' })
      const home = process.env.HOLDFAST_TEST_NATIVE_HOME
      for (const part of nativePartsOf(first.pid) ?? []) assert(home === undefined || part.startsWith(home), part)
    } finally {
      assert.equal(await first.stop(), 0)
    }
    assert.equal((await spawned(['health', '--data', data])).code, 1)
    const second = await start(data)
    try {
      const again = clientOf(second.url)
      await expectAll(again, contents)
      const versions = (await again({ method: 'GET', path: '/?versions=&prefix=inline' })).xml()
      const held = versions.children.find(({ name }) => name === 'Version')!
      const id = held.children.find(({ name }) => name === 'VersionId')!.text
      assert.equal((await again({ method: 'DELETE', path: `/inline?versionId=${id}` })).code(), 'AccessDenied')
    } finally {
      assert.equal(await second.stop(), 0)
    }
    const exported = await spawned(['ledger', 'export', bucket, '--data', data])
    const file = join(folder, 'ledger.jsonl')
    writeFileSync(file, exported.out)
    const verdict = await spawned(['ledger', 'verify', file])
    assert.deepEqual([verdict.code, verdict.errors], [0, ''], verdict.out)
    // Every entry names the bucket's object: an entry about another one was altered.
    writeFileSync(file, exported.out.replace('inline', 'outline'))
    assert.equal((await spawned(['ledger', 'verify', file])).code, 1)
    assert.equal((await spawned(['fsck', '--data', data])).code, 0)
  }))

test('--version says the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  assert.deepEqual(await spawned(['--version']), { code: 0, out: `holdfast ${version}\n`, errors: '' })
})
