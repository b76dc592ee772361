/** Stored bytes that cannot be read: for every kind of body, before its first byte and in the middle of it. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../src/lib/random.ts'
import { listenerFor } from '../../src/server/object-api.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { localOnly } from '../engines.ts'
import { type Failing, matrixTable, OBJECT_API } from '../failure-matrix.ts'
import { payload } from '../store/fixture.ts'
import { put } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { begin, customerKey, finish, KEY, MIB5, part } from './parts.ts'
import { asking, CONNECTIONS, exchangeRaw, type Judged, TRANSPORTS } from './raw-exchange.ts'
import {
  BASE_HOST,
  type Client,
  makeBucket,
  type Sending,
  type Served,
  withFolderServer,
  withServer,
} from './server.ts'

const [SHORT, PACKED, SOLO] = [payload(60_000), payload(700_000), payload(2 * 2 ** 20)]
/** How much of a blob is returned before the read fails. */
const SOME_BYTES = 200_000

type Kind = Exclude<keyof typeof OBJECT_API, 'late'>

/** The objects of all rows, and the request for each. */
async function prepare(client: Client): Promise<Readonly<Record<Kind, Sending>>> {
  const bucket = await makeBucket(client)
  const encryption = [[':server-side-encryption', 'AES256']] as const
  await put(client, bucket, '/inline', 'a few bytes')
  await put(client, bucket, '/packed', SHORT)
  await put(client, bucket, '/packed-long', PACKED)
  await put(client, bucket, '/solo', SOLO)
  await put(client, bucket, '/sealed-short', SHORT, encryption)
  await put(client, bucket, '/sealed', SOLO, encryption)
  await put(client, bucket, '/customer', SOLO, customerKey(KEY))
  await put(client, bucket, '/copy', '', [[':copy-source', `${bucket}/solo`]])
  const place = await begin(client, bucket, '/parts')
  const listed = [await part(client, place, 1, Buffer.alloc(MIB5, 'p')), await part(client, place, 2, SOLO)]
  assert.equal((await finish(client, place, listed)).status, 200)
  const site = await makeBucket(client, 'my-site')
  const configuration =
    '<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument>' +
    '<ErrorDocument><Key>error</Key></ErrorDocument></WebsiteConfiguration>'
  assert.equal((await documentsOf(client, site, 'website').put(configuration)).status, 200)
  for (const page of ['/i', '/error']) await put(client, site, page, SOLO, [[':acl', 'public-read']])
  const get = (path: string, headers: Sending['headers'] = []): Sending => ({ method: 'GET', bucket, path, headers })
  const visit = (path: string): Sending => ({ method: 'GET', bucket: `${site}.website`, path, as: null })
  return {
    inline: get('/inline'),
    packed: get('/packed'),
    packedLong: get('/packed-long'),
    solo: get('/solo'),
    range: get('/solo', [['Range', 'bytes=500000-1999999']]),
    parts: get('/parts'),
    part: get('/parts?partNumber=2'),
    copy: get('/copy'),
    sealedShort: get('/sealed-short'),
    sealed: get('/sealed'),
    customer: get('/customer', customerKey(KEY)),
    website: visit('/'),
    websiteError: visit('/missing'),
    listing: get('/?list-type=2'),
    attributes: get('/inline?attributes', [[':object-attributes', 'ETag']]),
  }
}

type Failure = 'none' | 'first' | 'later'

/** Makes the store's reads of bytes and of listed or inline records fail as requested. */
function failingReads({ parts }: Served): (failure: Failure) => void {
  let failure: Failure = 'none'
  const { blobs, meta } = parts.store.context
  const broken = (): Error => Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  const [read, readAtOnce] = [blobs.read.bind(blobs), blobs.readAtOnce.bind(blobs)]
  blobs.read = async function* (...args) {
    if (failure === 'first') throw broken()
    let left = SOME_BYTES
    for await (const piece of read(...args)) {
      if (failure === 'none') yield piece
      else if (left > 0) yield piece.subarray(0, left)
      left -= piece.length
      if (failure === 'later' && left <= 0) throw broken()
    }
  }
  blobs.readAtOnce = (id, location, start, end) => {
    if (failure === 'first' || (failure === 'later' && end - start > SOME_BYTES)) throw broken()
    return readAtOnce(id, location, start, end)
  }
  const [get, scan, lend] = [meta.get.bind(meta), meta.scan.bind(meta), meta.scanMap.bind(meta)]
  const getBoth = meta.getBoth!.bind(meta)
  const isHurt = (key: Buffer): boolean => failure === 'first' && key.includes('inline')
  meta.get = (key, known) => {
    if (isHurt(key)) throw broken()
    return get(key, known)
  }
  meta.getBoth = (first, second) => {
    if (isHurt(first.key) || isHurt(second.key)) throw broken()
    return getBoth(first, second)
  }
  meta.scan = async (range, limit, reverse) => {
    if (isHurt(range.start)) throw broken()
    return scan(range, limit, reverse)
  }
  meta.scanMap = async (range, limit, make, vouch) => {
    if (failure === 'first') throw broken()
    return lend(range, limit, make, vouch)
  }
  return next => {
    failure = next
  }
}

/** The same store also behind TLS. */
async function withBoth(use: (served: Served, ports: Readonly<Record<'plain' | 'TLS', number>>) => Promise<void>) {
  await withServer(async served => {
    const { parts, clock } = served
    const secured = listenerFor({
      store: parts.store,
      directory: new IdentityCache(parts.store.context, { accessKey: 'AKROOT', secretKey: 'secret-of-root' }),
      clock,
      random: systemRandom,
      region: 'us-east-1',
      baseHosts: [BASE_HOST],
      website: { hosts: [`website.${BASE_HOST}`], onBucketHost: true },
      logger: { log: () => {}, notice: () => {}, abort: () => {} },
      certificate: TEST_CERTIFICATE,
    })
    const { port } = await secured.listen('127.0.0.1', 0)
    try {
      await use(served, { plain: served.svc.port, TLS: port })
    } finally {
      await secured.abort()
    }
  })
}

function check({ kind, status, body }: Judged, seen: Failing['first'], what: string): void {
  const got = `${what}: ${kind}, ${status}, ${body.length} bytes`
  if (seen === '500') {
    assert(kind === 'complete' && status === 500, got)
    assert.match(body.toString(), /InternalError/, got)
  } else {
    assert.equal(seen, 'cut')
    assert(kind === 'incomplete' || kind === 'nothing', got)
  }
}

for (const dialect of ['svc', 's3'] as const) {
  test(
    `${dialect}: whatever cannot be read is an error or a broken connection, never an empty success`,
    localOnly,
    () =>
      withBoth(async (served, ports) => {
        const client = served[dialect]
        const requests = await prepare(client)
        const fail = failingReads(served)
        for (const [name, row] of Object.entries(OBJECT_API) as [Kind, Failing][]) {
          const what = requests[name]
          if (what === undefined) continue
          for (const failure of ['none', 'first', 'later'] as const) {
            if (failure !== 'none' && row[failure] === '–') continue
            fail(failure)
            for (const transport of TRANSPORTS) {
              for (const kind of failure === 'none' ? CONNECTIONS.slice(0, 1) : CONNECTIONS) {
                const head = asking(client.head(what), kind)
                const answer = await exchangeRaw(ports[transport], transport, head)
                const where = `${row.body}, ${failure}, ${transport}, ${kind}`
                if (failure !== 'none') check(answer, row[failure], where)
                else assert(answer.kind === 'complete' && answer.status < 500 && answer.body.length > 0, where)
              }
            }
          }
        }
      }),
  )
}

type Hurt = (path: string, size: number) => void

const DAMAGES: Readonly<Record<string, Hurt>> = {
  'has a flipped bit in its first frame': path => {
    const bytes = readFileSync(path)
    bytes[200]! ^= 1
    writeFileSync(path, bytes)
  },
  'is cut off in its first frame': path => truncateSync(path, 1000),
  'is empty': path => truncateSync(path, 0),
  'is gone': path => unlinkSync(path),
}

/** The largest file is the object in a file of its own. */
function largestFile(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !/mdb/.test(entry.name))
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
  return files.sort((a, b) => statSync(b).size - statSync(a).size)[0]!
}

for (const [damage, hurt] of Object.entries(DAMAGES)) {
  test(`reading an object whose file ${damage} is InternalError`, () =>
    withFolderServer(async ({ s3, parts }, folder) => {
      const bucket = await makeBucket(s3)
      await put(s3, bucket, '/solo', SOLO)
      parts.store.context.blobs.closeIdle()
      const path = largestFile(folder)
      assert(statSync(path).size >= SOLO.length)
      hurt(path, SOLO.length)
      const answer = await s3.send({ method: 'GET', bucket, path: '/solo' })
      assert.deepEqual([answer.status, answer.code()], [500, 'InternalError'])
    }))
}

test('the documentation contains the failure matrix verified here', () => {
  const page = readFileSync('docs/decisions/aborted-responses.md', 'utf8')
  assert(page.includes(matrixTable()), `the table must be:\n${matrixTable()}`)
})
