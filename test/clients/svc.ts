/**
 * The native dialect, by raw signed requests, and the other one on the same port: both must see the same buckets,
 * bytes, metadata, tags and versions, whichever wrote them.
 */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SCHEMES } from '../../src/auth/signing.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { document, text, texts } from '../http/actions.ts'
import { Client, type DialectName, type Received, type Sending, type Who } from '../http/server.ts'
import { plainServer, type Round } from './round.ts'
import { BASE_HOST, KEYS, REGION, type World } from './world.ts'

const BUCKET = 'both-dialects'
const PART = 8 * 2 ** 20
const ROOT: Who = { ...KEYS, accountId: '000000000000', canonicalId: '' }
const OTHER: Readonly<Record<DialectName, DialectName>> = { svc: 's3', s3: 'svc' }

/** Sends a request and checks its status. */
type Ask = (dialect: DialectName, status: number, what: Omit<Sending, 'as'>) => Promise<Received>

function asker(port: number): Ask {
  const clock = new ManualClock(Date.now())
  const clients = { svc: new Client('svc', clock, port), s3: new Client('s3', clock, port) }
  return async (dialect, status, what) => {
    const answer = await clients[dialect].send({ bucket: BUCKET, ...what, as: ROOT })
    const about = `${dialect} ${what.method} ${what.path}: ${answer.body.toString('utf8', 0, 1000)}`
    assert.equal(answer.status, status, about)
    return answer
  }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** One dialect writes, the other one reads, copies, tags and lists. */
async function shared(ask: Ask, mine: DialectName): Promise<void> {
  const other = OTHER[mine]
  const path = `/${mine}/name%20%C3%BC%2B.txt`
  const body = `written in ${mine}`
  await ask(mine, 200, {
    method: 'PUT',
    path,
    body,
    headers: [
      [':meta-colour', 'blue'],
      [':tagging', 'a=1'],
    ],
  })
  const got = await ask(other, 200, { method: 'GET', path })
  assert.deepEqual([got.body.toString(), got.own('meta-colour'), got.own('tagging-count')], [body, 'blue', '1'])
  const copySource: [string, string] = [':copy-source', `${BUCKET}${path}`]
  await ask(other, 200, { method: 'PUT', path: `/${mine}/copy`, headers: [copySource] })
  assert.equal((await ask(mine, 200, { method: 'GET', path: `/${mine}/copy` })).body.toString(), body)
  const tagging = document('<Tagging><TagSet><Tag><Key>stage</Key><Value>test</Value></Tag></TagSet></Tagging>')
  await ask(other, 200, { method: 'PUT', path: `/${mine}/copy?tagging`, ...tagging })
  const tags = await ask(mine, 200, { method: 'GET', path: `/${mine}/copy?tagging` })
  assert.equal(text(tags.xml(), 'Value'), 'test')
  const listed = await ask(other, 200, { method: 'GET', path: `/?list-type=2&prefix=${mine}%2F` })
  assert.deepEqual(texts(listed.xml(), 'Key'), [`${mine}/copy`, `${mine}/name ü+.txt`])
  const folded = await ask(other, 200, { method: 'GET', path: '/?delimiter=%2F' })
  assert(texts(folded.xml(), 'Prefix').includes(`${mine}/`))
}

/** Created in one dialect, parts sent alternately by both, completed in the other. */
async function large(ask: Ask, mine: DialectName, bytes: Buffer): Promise<void> {
  const path = `/${mine}/large.bin`
  const begun = await ask(mine, 200, { method: 'POST', path: `${path}?uploads`, headers: [[':meta-made', 'in parts']] })
  const upload = `uploadId=${text(begun.xml(), 'UploadId')}`
  const parts: string[] = []
  for (let from = 0; from < bytes.length; from += PART) {
    const number = parts.length + 1
    const target = `${path}?partNumber=${number}&${upload}`
    const dialect = number % 2 === 0 ? 'svc' : 's3'
    const sent = await ask(dialect, 200, { method: 'PUT', path: target, body: bytes.subarray(from, from + PART) })
    parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${sent.headers.get('etag')}</ETag></Part>`)
  }
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  await ask(OTHER[mine], 200, { method: 'POST', path: `${path}?${upload}`, body })
  const got = await ask(mine, 200, { method: 'GET', path })
  assert.equal(sha256(got.body), sha256(bytes))
  assert.equal(got.own('meta-made'), 'in parts')
  const whole = `/${mine}/whole.bin`
  await ask(mine, 200, { method: 'PUT', path: whole, body: bytes })
  assert.equal(sha256((await ask(OTHER[mine], 200, { method: 'GET', path: whole })).body), sha256(bytes))
  const gone = await ask(mine, 200, { method: 'POST', path: `/${mine}/gone?uploads` })
  await ask(OTHER[mine], 204, { method: 'DELETE', path: `/${mine}/gone?uploadId=${text(gone.xml(), 'UploadId')}` })
}

/** A presigned URL in path style, which needs no DNS. */
function presigned(world: World, dialect: DialectName, method: string, path: string): string {
  const scheme = SCHEMES[dialect]
  const stamp = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = [stamp.slice(0, 8), REGION, scheme.service, scheme.terminator]
  const fields = {
    Algorithm: scheme.algorithm,
    Credential: `${KEYS.accessKey}/${scope.join('/')}`,
    Date: stamp,
    Expires: '60',
    SignedHeaders: 'host',
  }
  const query = Object.entries(fields)
    .map(([name, value]) => `${scheme.queryPrefix}${name}=${encodeURIComponent(value)}`)
    .sort()
    .join('&')
  const { host } = new URL(world.plain.url)
  const canonical = [method, path, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n')
  const toSign = [scheme.algorithm, stamp, scope.join('/'), sha256(Buffer.from(canonical))].join('\n')
  const mac = (key: Buffer | string, word: string): Buffer => createHmac('sha256', key).update(word).digest()
  const key = scope.reduce<Buffer | string>((k, word) => mac(k, word), scheme.keyPrefix + KEYS.secretKey)
  const signature = mac(key, toSign).toString('hex')
  return `${world.plain.url}${path}?${query}&${scheme.queryPrefix}Signature=${signature}`
}

async function byAddress(world: World, mine: DialectName): Promise<void> {
  const path = `/${BUCKET}/${mine}/by-address`
  const put = await fetch(presigned(world, mine, 'PUT', path), { method: 'PUT', body: `by ${mine}` })
  assert.equal(put.status, 200, await put.text())
  const get = await fetch(presigned(world, OTHER[mine], 'GET', path))
  assert.equal(await get.text(), `by ${mine}`)
  const forged = await fetch(presigned(world, mine, 'GET', path), { method: 'DELETE' })
  assert.equal(forged.status, 403)
}

async function versions(ask: Ask): Promise<void> {
  const on = document('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')
  await ask('svc', 200, { method: 'PUT', path: '/?versioning', ...on })
  const first = await ask('svc', 200, { method: 'PUT', path: '/versioned', body: 'one' })
  const second = await ask('s3', 200, { method: 'PUT', path: '/versioned', body: 'two' })
  const [older, newer] = [first.own('version-id'), second.own('version-id')]
  const one = await ask('s3', 200, { method: 'GET', path: `/versioned?versionId=${older}` })
  assert.equal(one.body.toString(), 'one')
  const marker = await ask('svc', 204, { method: 'DELETE', path: '/versioned' })
  for (const dialect of ['svc', 's3'] as const) {
    const listed = await ask(dialect, 200, { method: 'GET', path: '/?versions&prefix=versioned' })
    const ids = texts(listed.xml(), 'VersionId')
    assert.deepEqual([...ids].sort(), [marker.own('version-id'), newer, older].sort())
    await ask(dialect, 404, { method: 'GET', path: '/versioned' })
  }
}

async function clear(ask: Ask): Promise<void> {
  const listed = (await ask('svc', 200, { method: 'GET', path: '/?versions' })).xml()
  const entries = listed.children.filter(({ name }) => name === 'Version' || name === 'DeleteMarker')
  const objects = entries.map(
    entry => `<Object><Key>${text(entry, 'Key')}</Key><VersionId>${text(entry, 'VersionId')}</VersionId></Object>`,
  )
  await ask('svc', 200, { method: 'POST', path: '/?delete', ...document(`<Delete>${objects.join('')}</Delete>`) })
  await ask('svc', 204, { method: 'DELETE', path: '/' })
  await ask('s3', 404, { method: 'HEAD', path: '/' })
}

export const bothDialects: Round = {
  name: 'svc-and-s3',
  server: plainServer,
  async prepare(world) {
    assert.equal(BASE_HOST, 'hf.example', 'the host that the raw client addresses')
    const ask = asker(world.plain.port)
    return {
      version: '',
      async play() {
        const bytes = await readFile(world.big.path)
        await ask('svc', 200, { method: 'PUT', path: '/' })
        for (const dialect of ['svc', 's3'] as const) {
          await shared(ask, dialect)
          await large(ask, dialect, bytes)
          await byAddress(world, dialect)
        }
        await versions(ask)
        await clear(ask)
      },
    }
  },
}
