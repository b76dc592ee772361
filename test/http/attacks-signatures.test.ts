/**
 * A4–A22 over the wire: signatures with one error, and bodies that differ from what was signed. Each is refused without
 * effect. auth-matrix shows that every operation requires a signature.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SCHEMES } from '../../src/auth/signing.ts'
import {
  chunkFrames,
  type Pair,
  type Signer,
  sha256,
  signedByHeader,
  signedByQuery,
  type Unsigned,
} from '../specimens/signing.ts'
import { put } from './actions.ts'
import { begin, listOf, part } from './parts.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket } from './server.ts'
import { exchange, type WireAnswer } from './wire.ts'

const PIECES = [Buffer.alloc(70_000, 'a'), Buffer.alloc(9_000, 'b'), Buffer.from('the end')]
const WHOLE = Buffer.concat(PIECES)
const CRC32 = 'checksum-crc32'

const signerFor = (client: Client): Signer => ({
  scheme: SCHEMES[client.dialect],
  accessKey: MAIN.accessKey,
  secretKey: MAIN.secretKey,
  region: 'us-east-1',
  now: client.clock.now(),
})

const own = (client: Client, headers: readonly Pair[]): Pair[] =>
  headers.map(([name, value]) => [client.name(name), value])

function headOf({ method, target, headers }: Unsigned, length: number): string {
  const lines = [...headers, ['Content-Length', String(length)]].map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`
}

interface Chunked {
  readonly target?: string
  readonly kind: 'signed' | 'signed trailer' | 'unsigned trailer'
  readonly headers?: readonly Pair[]
  readonly trailers?: readonly Pair[]
  readonly decodedLength?: number
  /** Corrupts the frames before they are sent. */
  readonly spoil?: (frames: Buffer[]) => Buffer[]
}

/** Sends a chunked upload, signed in the header. */
async function upload(client: Client, what: Chunked): Promise<WireAnswer | undefined> {
  const signer = signerFor(client)
  const { scheme } = signer
  const { kind, target = '/k', decodedLength = WHOLE.length, spoil = frames => frames } = what
  const contentHash = {
    signed: scheme.signedChunks,
    'signed trailer': scheme.signedChunksTrailer,
    'unsigned trailer': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
  }[kind]
  const headers: Pair[] = [
    ['Host', `test-bucket.${BASE_HOST}`],
    ['Content-Encoding', scheme.chunkEncoding],
    ...own(client, [[':decoded-content-length', String(decodedLength)], ...(what.headers ?? [])]),
  ]
  const { request, signature } = signedByHeader(signer, { method: 'PUT', target, headers }, { contentHash })
  const seed = kind === 'unsigned trailer' ? undefined : signature
  const trailers = what.trailers === undefined ? undefined : own(client, what.trailers)
  const body = Buffer.concat(spoil(chunkFrames(signer, { pieces: PIECES, seed, trailers })))
  return exchange(client.port, headOf(request, body.length), body)
}

const summary = (answer: WireAnswer | undefined): string => `${answer?.status} ${answer?.code}`.trim()

const flip = (frame: Buffer, place: number): Buffer => {
  const copy = Buffer.from(frame)
  copy[place] = copy[place]! ^ 1
  return copy
}

/** Sends each to an object and to a part, and checks that neither exists afterwards. */
async function eachRefused(client: Client, cases: readonly (readonly [string, Chunked, string])[]): Promise<void> {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/parts')
  for (const target of ['/k', `/parts?partNumber=1&uploadId=${place.id}`]) {
    for (const [about, what, expected] of cases) {
      assert.equal(summary(await upload(client, { ...what, target })), expected, `${target}: ${about}`)
    }
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  const parts = await client.send({ method: 'GET', bucket, path: `/parts?uploadId=${place.id}` })
  assert.doesNotMatch(parts.body.toString(), /<Part>/)
  // The uncorrupted request is accepted.
  assert.equal(summary(await upload(client, { kind: 'signed' })), '200')
  assert((await client.send({ method: 'GET', bucket, path: '/k' })).body.equals(WHOLE))
  const whole = await part(client, place, 1, 'whole')
  const ended = await client.send({
    method: 'POST',
    bucket,
    path: `/parts?uploadId=${place.id}`,
    body: listOf([whole]),
  })
  assert.equal(ended.status, 200)
}

inBoth('A4: a presigned upload cannot be turned into a copy', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/secret', 'TOPSECRET')
  const signer = signerFor(client)
  const plain: Unsigned = { method: 'PUT', target: '/k', headers: [['Host', `${bucket}.${BASE_HOST}`]] }
  const { request } = signedByQuery(signer, plain, { contentHash: undefined, seconds: 600 })
  for (const name of [':copy-source', ':Copy-Source']) {
    const slipped = { ...request, headers: [...request.headers, ...own(client, [[name, `${bucket}/secret`]])] }
    assert.equal(summary(await exchange(client.port, headOf(slipped, 0))), '403 AccessDenied')
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  assert.equal(summary(await exchange(client.port, headOf(request, 3), 'abc')), '200')
})

inBoth('A5: unsigned headers have no effect', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const signer = signerFor(client)
  const plain: Unsigned = { method: 'PUT', target: '/k', headers: [['Host', `${bucket}.${BASE_HOST}`]] }
  for (const more of [
    [':acl', 'public-read'],
    [':grant-read', `id="${MAIN.canonicalId}"`],
    [':meta-a', 'b'],
    [':tagging', 'a=b'],
    [':object-lock-legal-hold', 'ON'],
    [':server-side-encryption', 'AES256'],
    [':bypass-governance-retention', 'true'],
    [':security-token', 'x'],
  ] as const) {
    for (const { request } of [
      signedByQuery(signer, plain, { contentHash: undefined, seconds: 600 }),
      signedByHeader(signer, plain, { contentHash: 'UNSIGNED-PAYLOAD' }),
    ]) {
      const slipped = { ...request, headers: [...request.headers, ...own(client, [more])] }
      assert.equal(summary(await exchange(client.port, headOf(slipped, 3), 'abc')), '403 AccessDenied', more[0])
    }
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
})

inBoth('A7: a signature in both header and query is refused', async client => {
  const bucket = await makeBucket(client)
  const signer = signerFor(client)
  const plain: Unsigned = { method: 'PUT', target: '/k', headers: [['Host', `${bucket}.${BASE_HOST}`]] }
  const both = signedByHeader(signer, signedByQuery(signer, plain, { contentHash: undefined, seconds: 600 }).request, {
    contentHash: 'UNSIGNED-PAYLOAD',
  })
  const answer = await exchange(client.port, headOf(both.request, 3), 'abc')
  assert.equal(summary(answer), client.dialect === 'svc' ? '403 InvalidArgument' : '400 InvalidArgument')
})

inBoth('A8 A9: a tampered chunk or final chunk is refused', client =>
  eachRefused(client, [
    [
      'a byte of data',
      { kind: 'signed', spoil: frames => frames.with(1, flip(frames[1]!, 200)) },
      '403 SignatureDoesNotMatch',
    ],
    [
      'two chunks swapped',
      { kind: 'signed', spoil: ([a, b, ...rest]) => [b!, a!, ...rest] },
      '403 SignatureDoesNotMatch',
    ],
    ['a chunk left out', { kind: 'signed', spoil: ([, ...rest]) => rest }, '403 SignatureDoesNotMatch'],
    [
      'the signature of the last',
      { kind: 'signed', spoil: frames => frames.with(3, flip(frames[3]!, 30)) },
      '403 SignatureDoesNotMatch',
    ],
  ]),
)

inBoth('A10 A11: a truncated stream or wrong decoded length is refused', client =>
  eachRefused(client, [
    ['no last chunk', { kind: 'signed', spoil: frames => frames.slice(0, 3) }, '400 IncompleteBody'],
    ['no line after the last', { kind: 'signed', spoil: frames => frames.slice(0, 4) }, '400 IncompleteBody'],
    ['half a chunk', { kind: 'signed', spoil: ([a]) => [a!.subarray(0, 5_000)] }, '400 IncompleteBody'],
    ['fewer than announced', { kind: 'signed', decodedLength: WHOLE.length + 1 }, '400 IncompleteBody'],
    ['more than announced', { kind: 'signed', decodedLength: WHOLE.length - 1 }, '400 IncompleteBody'],
    ['none announced', { kind: 'signed', decodedLength: 0 }, '400 IncompleteBody'],
  ]),
)

const announced: Pair = [':trailer', `~${CRC32}`]

inBoth('A12: wrong, missing, undeclared and duplicate trailers are refused', client => {
  const headers: Pair[] = [[announced[0], announced[1].replace('~', SCHEMES[client.dialect].headerPrefix)]]
  const wrong: Pair = [`:${CRC32}`, 'AAAAAA==']
  return eachRefused(
    client,
    (['signed trailer', 'unsigned trailer'] as const).flatMap(kind => [
      [`${kind} wrong`, { kind, headers, trailers: [wrong] }, '400 BadDigest'],
      [`${kind} missing`, { kind, headers, trailers: [] }, '400 MalformedTrailerError'],
      [`${kind} undeclared`, { kind, trailers: [wrong] }, '400 MalformedTrailerError'],
      [`${kind} twice`, { kind, headers, trailers: [wrong, wrong] }, '400 MalformedTrailerError'],
    ]),
  )
})

inBoth('R112: one checksum at most, also in trailers', client => {
  const named = (algorithm: string): string => `${SCHEMES[client.dialect].headerPrefix}checksum-${algorithm}`
  const right = (algorithm: string): Pair => [
    `:checksum-${algorithm}`,
    createHash(algorithm).update(WHOLE).digest('base64'),
  ]
  const [first, second] = [right('sha1'), right('sha256')]
  return eachRefused(
    client,
    (['signed trailer', 'unsigned trailer'] as const).flatMap(kind => [
      [
        `${kind}: two of them`,
        { kind, headers: [[':trailer', `${named('sha1')},${named('sha256')}`]], trailers: [first, second] },
        '400 InvalidRequest',
      ],
      [
        `${kind}: another than the header's`,
        { kind, headers: [first, [':trailer', named('sha256')]], trailers: [second] },
        '400 InvalidRequest',
      ],
    ]),
  )
})

inBoth('A13: invalid chunk sizes are refused', client => {
  const first = (line: string) => (frames: Buffer[]) => [Buffer.from(`${line}\r\n`), ...frames]
  return eachRefused(
    client,
    ['-1', '0x10', '11111111111111111', '', ' 5', '5 ', `5;${'x'.repeat(2 ** 20)}`].map(line => [
      line.slice(0, 20),
      { kind: 'unsigned trailer', trailers: [], spoil: first(line) },
      '400 IncompleteBody',
    ]),
  )
})

inBoth('A14: signed chunks require a signed request', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  const { signedChunks } = SCHEMES[client.dialect]
  const headers: [string, string][] = [
    [':content-sha256', signedChunks],
    [':decoded-content-length', '3'],
  ]
  const answer = await client.send({
    method: 'PUT',
    bucket,
    path: '/k',
    body: '3\r\nabc\r\n0\r\n\r\n',
    headers,
    as: null,
  })
  assert.equal(`${answer.status} ${answer.code()}`, `${client.dialect === 'svc' ? 403 : 400} InvalidRequest`)
  const old: [string, string][] = [...headers, ['Authorization', `AWS ${MAIN.accessKey}:c2lnbmF0dXJl`]]
  const before = await client.send({ method: 'PUT', bucket, path: '/k', body: 'abc', headers: old, as: null })
  assert.equal(before.code(), 'InvalidRequest')
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
})

inBoth('A15: a body that does not match its hash is refused', async client => {
  const bucket = await makeBucket(client)
  const signer = signerFor(client)
  const plain: Unsigned = { method: 'PUT', target: '/k', headers: [['Host', `${bucket}.${BASE_HOST}`]] }
  const mismatch = client.dialect === 'svc' ? 'XSvcContentSHA256Mismatch' : 'XAmzContentSHA256Mismatch'
  for (const [contentHash, expected] of [
    [sha256('abd'), `400 ${mismatch}`],
    ['abc', '400 InvalidArgument'],
    ['', '400 InvalidArgument'],
    [undefined, '400 InvalidRequest'],
    [sha256('abc'), '200'],
  ] as const) {
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
    const { request } = signedByHeader(signer, plain, { contentHash })
    assert.equal(summary(await exchange(client.port, headOf(request, 3), 'abc')), expected)
  }
})

inBoth('A18: a signature for another service is refused', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const signer = signerFor(client)
  for (const service of ['iam', 's3tables', 'sts', 'admin']) {
    const other = { ...signer, scheme: { ...signer.scheme, service } }
    for (const target of ['/', '/k', '/admin', '/minio/admin/v3/info']) {
      const plain: Unsigned = { method: 'GET', target, headers: [['Host', `${bucket}.${BASE_HOST}`]] }
      const { request } = signedByHeader(other, plain, { contentHash: sha256('') })
      const answer = await exchange(client.port, headOf(request, 0))
      assert.equal(summary(answer), `${client.dialect === 'svc' ? 403 : 400} AuthorizationHeaderMalformed`)
    }
  }
})

/** Signs one target and requests another. */
const asking = (client: Client, bucket: string) => (method: string, signed: string, sent: string) => {
  const plain: Unsigned = { method, target: signed, headers: [['Host', `${bucket}.${BASE_HOST}`]] }
  const { request } = signedByHeader(signerFor(client), plain, { contentHash: 'UNSIGNED-PAYLOAD' })
  return exchange(client.port, headOf({ ...request, target: sent }, method === 'PUT' ? 3 : 0), 'abc')
}

inBoth('A21: a path is signed as it is sent, and decoded once', async client => {
  const ask = asking(client, await makeBucket(client))
  for (const [signed, sent] of [
    ['/a%2Fb', '/a/b'],
    ['/a%20b', '/a+b'],
    ['/%2e', '/%252e'],
    ['/%c3%a4', '/%C3%A4'],
    ['/%C3%A4', '/%c3%a4'],
    ['/a/b', '/a%2Fb'],
    ['/~', '/%7E'],
    ['/k?prefix=a&prefix=b', '/k?prefix=a'],
    ['/k?x=', '/k?x=1'],
  ] as const) {
    assert.equal(summary(await ask('PUT', signed, sent)), '403 SignatureDoesNotMatch', `${signed} as ${sent}`)
  }
  for (const path of ['/a%2Fb', '/a+b', '/%252e', '/%c3%a4', '/k?x=', '/k?y']) {
    assert.equal(summary(await ask('PUT', path, path)), '200', path)
  }
  assert.equal(summary(await ask('GET', '/a/b', '/a/b')), '200', 'an escaped slash is a slash of the key')
  assert.equal(summary(await ask('GET', '/a%20b', '/a%20b')), '404 NoSuchKey', 'a plus is a plus')
  assert.equal(summary(await ask('GET', '/%2e', '/%2e')), '404 NoSuchKey', 'decoded once')
})

inBoth(
  'A21: in s3 a path may be signed with bare bytes escaped and two slashes for `/%2F`, in svc not',
  async client => {
    const ask = asking(client, await makeBucket(client))
    for (const [signed, sent] of [
      ['/a%2Bb', '/a+b'],
      ['/a//b', '/a/%2Fb'],
      ['/a///b', '/a/%2F/b'],
      ['/%28c%29%21%27%2A%3A%40%24%26%3D%2C%3B', "/(c)!'*:@$&=,;"],
    ] as const) {
      const expected = client.dialect === 's3' ? '200' : '403 SignatureDoesNotMatch'
      assert.equal(summary(await ask('PUT', signed, sent)), expected, `${signed} as ${sent}`)
      if (expected === '200') assert.equal(summary(await ask('GET', signed, signed)), '200', `${sent} is ${signed}`)
    }
  },
)

inBoth('A21: a plus in a query is a space in s3 and a plus in svc, signed and meant', async client => {
  const ask = asking(client, await makeBucket(client))
  for (const key of ['/a%20b', '/a%2Bb']) assert.equal(summary(await ask('PUT', key, key)), '200')
  const listed = async (signed: string, sent: string) => {
    const answer = await ask('GET', `/?prefix=${signed}`, `/?prefix=${sent}`)
    return [...(answer?.body.toString() ?? '').matchAll(/<Key>([^<]*)</g)].map(found => found[1])
  }
  const isSpace = client.dialect === 's3'
  assert.deepEqual(await listed(isSpace ? 'a%20b' : 'a%2Bb', 'a+b'), [isSpace ? 'a b' : 'a+b'])
  assert.deepEqual(await listed('a%20b', 'a%20b'), ['a b'])
  assert.deepEqual(await listed('a%2Bb', 'a%2Bb'), ['a+b'])
  const other = isSpace ? 'a%2Bb' : 'a%20b'
  assert.equal(summary(await ask('GET', `/?prefix=${other}`, '/?prefix=a+b')), '403 SignatureDoesNotMatch')
})
