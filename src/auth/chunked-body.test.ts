import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import { authenticate } from './authenticate.ts'
import type { ChunkRule } from './chunked-body.ts'
import { decodeChunks } from './chunked-body.ts'
import { SCHEMES } from './signing.ts'
import { collect, ruleFor, type SentChunks, streamOf, wire } from './suite-chunks.ts'
import { ACCESS_KEY, type BOTH, clientScope, server, TIMESTAMP } from './suite-signer.ts'

const { svc } = SCHEMES
const HELLO = [Buffer.from('hello '), Buffer.from('world')]
const TRAILER = 'x-svc-checksum-crc32:DUoRhQ=='
const KINDS: readonly SentChunks[] = [
  { scheme: svc, signed: true, data: HELLO },
  { scheme: svc, signed: true, data: HELLO, trailers: [TRAILER] },
  { scheme: svc, signed: false, data: HELLO, trailers: [TRAILER] },
  { scheme: svc, signed: false, data: HELLO },
]

async function faultOf(bytes: Buffer | string, rule: ChunkRule): Promise<string> {
  try {
    await collect(decodeChunks(streamOf(Buffer.from(bytes)), rule))
    return 'none'
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
}

/** The published example, from its headers to its last byte. */
async function published(scheme: (typeof BOTH)[number], signatures: readonly string[], withTrailer: boolean) {
  const x = scheme.headerPrefix
  const host = scheme.name === 'svc' ? 'svc.example' : 's3.amazonaws.com'
  const headers: [string, string][] = [
    ['content-encoding', scheme.chunkEncoding],
    ['host', host],
    [`${x}content-sha256`, withTrailer ? scheme.signedChunksTrailer : scheme.signedChunks],
    [`${x}date`, TIMESTAMP],
    [`${x}decoded-content-length`, '66560'],
    [`${x}storage-class`, 'REDUCED_REDUNDANCY'],
    withTrailer ? [`${x}trailer`, `${x}checksum-crc32c`] : ['content-length', '66824'],
  ]
  const names = headers.map(([name]) => name).sort()
  const authorization =
    `${scheme.algorithm} Credential=${ACCESS_KEY}/${clientScope(scheme)},` +
    `SignedHeaders=${names.join(';')},Signature=${signatures[0]}`
  const request = {
    method: 'PUT',
    target: '/examplebucket/chunkObject.txt',
    headers: [...headers, ['Authorization', authorization] as const],
  }
  const { payload } = await authenticate(request, server(scheme))
  assert(payload.kind === 'chunks')
  const text = [
    `10000;chunk-signature=${signatures[1]}\r\n${'a'.repeat(65536)}\r\n`,
    `400;chunk-signature=${signatures[2]}\r\n${'a'.repeat(1024)}\r\n`,
    `0;chunk-signature=${signatures[3]}\r\n`,
    withTrailer ? `${x}checksum-crc32c:sOO8/Q==\r\n${x}trailer-signature:${signatures[4]}\r\n` : '',
    '\r\n',
  ]
  const data = await collect(decodeChunks(streamOf(Buffer.from(text.join(''))), payload))
  assert.equal(data.toString(), 'a'.repeat(66560))
  assert.deepEqual([...payload.trailers], withTrailer ? [[`${x}checksum-crc32c`, 'sOO8/Q==']] : [])
}

test('G4: the published bodies in signed chunks are accepted', async () => {
  await published(
    SCHEMES.svc,
    [
      '3bcea9bdcf1654c3cae20c6145568dc6d9a7a25b64dfe09302fdd586ef405f0d',
      'eaaf213018adff82f1b6ea5e5bb05359d9f6ce319f0d0bf01156df70e69b32ac',
      'c89b1bb92e7e40058755a0d6e5f17753a6e4bf468e60f6500730501971f0d1ca',
      'c84887a5117dbf06f7734826ffb0d92ae366982b3fa8a0a1088b9958ec5fc07a',
    ],
    false,
  )
  await published(
    SCHEMES.s3,
    [
      '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
      'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
      '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
      'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
    ],
    false,
  )
})

test('G4: the published bodies with a signed trailer are accepted', async () => {
  await published(
    SCHEMES.svc,
    [
      '1a8ad2df9b1a2e8d805b240dcb5fc530fdc2a5f38b0e5fed617fbfff0221e340',
      '9cc27811e64465cfe47753516b22aba70c151456123b4fee7d6b5ff1b0a27831',
      '01bd87158605e4821716912b251c545184aabc464314bb0ccbe2da4b59255104',
      'abc54745409d721d0482eadc5fac6a115ec7ba6c66b6719c1c0de32b9b564a59',
      '39a37b7347cc5b3373a98c51c49f8be6f099833ee26431d553b2bcc546ea639b',
    ],
    true,
  )
  await published(
    SCHEMES.s3,
    [
      '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
      'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
      '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
      '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
      'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435',
    ],
    true,
  )
})

test('a body comes out as it went in, however it was cut into chunks and on the wire', async () => {
  const piece = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes))
  const cuts = fc.array(fc.nat(), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), cuts, fc.constantFrom(...KINDS), async (data, places, kind) => {
      const sent = { ...kind, data }
      const rule = ruleFor(sent)
      const bytes = wire(sent)
      const ends = [...places.map(place => place % bytes.length), bytes.length].sort((a, b) => a - b)
      const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
      assert.deepEqual(await collect(decodeChunks(streamOf(...pieces), rule)), Buffer.concat(data))
      const [name, value] = TRAILER.split(':')
      assert.deepEqual([...rule.trailers], sent.trailers === undefined ? [] : [[name, value]])
    }),
    { numRuns: 200 },
  )
})

test('a body cut one byte at a time comes out the same', async () => {
  for (const sent of KINDS) {
    const pieces = Array.from(wire(sent), byte => Buffer.of(byte))
    assert.equal((await collect(decodeChunks(streamOf(...pieces), ruleFor(sent)))).toString(), 'hello world')
  }
})

test('data is handed on without being copied', async () => {
  const bytes = wire(KINDS[0]!)
  for await (const piece of decodeChunks(streamOf(bytes), ruleFor(KINDS[0]!))) assert.equal(piece.buffer, bytes.buffer)
})

test('A8 A9: any changed byte of a signed body is noticed', async () => {
  for (const sent of KINDS.slice(0, 2)) {
    const right = wire(sent)
    for (let at = 0; at < right.length; at++) {
      const wrong = Buffer.from(right)
      wrong[at] = wrong[at]! ^ 0x01
      assert.notEqual(await faultOf(wrong, ruleFor(sent)), 'none', `byte ${at} of ${right.toString()}`)
    }
  }
})

test('A8 A9: a wrong signature of data, of the last chunk or of the trailers is 403', async () => {
  const flip = (text: string, what: RegExp): string =>
    text.replace(what, (_, before, digit) => before + (digit === '0' ? '1' : '0'))
  for (const sent of KINDS.slice(0, 2)) {
    const right = wire(sent).toString()
    const wrong = [
      right.replace('hello', 'jello'),
      flip(right, /(6;chunk-signature=)(.)/),
      flip(right, /(0;chunk-signature=)(.)/),
    ]
    if (sent.trailers !== undefined) {
      wrong.push(flip(right, /(trailer-signature:)(.)/), right.replace('DUoRhQ', 'EUoRhQ'))
    }
    for (const text of wrong) assert.equal(await faultOf(text, ruleFor(sent)), 'SignatureDoesNotMatch')
    for (const shape of ['', 'f', 'z'.repeat(64), 'f'.repeat(65)]) {
      const text = right.replace(/chunk-signature=[0-9a-f]{64}/, `chunk-signature=${shape}`)
      assert.equal(await faultOf(text, ruleFor(sent)), 'SignatureDoesNotMatch', shape)
    }
  }
  // Chunks with valid signatures in the wrong order.
  const chunks = wire(KINDS[0]!)
    .toString()
    .split(/(?<=hello \r\n|world\r\n)/)
  assert.equal(await faultOf([chunks[1], chunks[0], chunks[2]].join(''), ruleFor(KINDS[0]!)), 'SignatureDoesNotMatch')
})

test('A10: a stream that ends anywhere before its end is incomplete', async () => {
  for (const sent of KINDS) {
    const whole = wire(sent)
    for (let end = 0; end < whole.length; end++) {
      assert.equal(await faultOf(whole.subarray(0, end), ruleFor(sent)), 'IncompleteBody', `${end} of ${whole.length}`)
    }
  }
})

test('A11: the declared length is the length', async () => {
  for (const sent of KINDS) {
    for (const decodedLength of [0, 10, 12, 2 ** 40]) {
      assert.equal(await faultOf(wire(sent), ruleFor(sent, { decodedLength })), 'IncompleteBody', `${decodedLength}`)
    }
  }
})

test('A12: trailers come as declared, each once', async () => {
  const crc32c = 'x-svc-checksum-crc32c:sOO8/Q=='
  for (const signed of [true, false]) {
    const faults = async (trailers: readonly string[], declared: readonly string[]): Promise<string> => {
      const sent = { scheme: svc, signed, data: HELLO, trailers }
      return faultOf(wire(sent), ruleFor(sent, { declared: new Set(declared) }))
    }
    const name = 'x-svc-checksum-crc32'
    assert.equal(await faults([TRAILER], [name]), 'none')
    assert.equal(await faults([], []), 'none')
    assert.equal(await faults([], [name]), 'MalformedTrailerError', 'missing')
    assert.equal(await faults([TRAILER], []), 'MalformedTrailerError', 'undeclared')
    assert.equal(await faults([TRAILER, crc32c], [name]), 'MalformedTrailerError', 'one more')
    assert.equal(await faults([crc32c], [name]), 'MalformedTrailerError', 'another one')
    assert.equal(await faults([TRAILER, TRAILER], [name]), 'MalformedTrailerError', 'duplicated')
    assert.equal(await faults(['x-svc-checksum-crc32'], [name]), 'MalformedTrailerError', 'no value')
    assert.equal(await faults([`${TRAILER}\u0001`], [name]), 'MalformedTrailerError', 'not text')
    assert.equal(await faults(['', TRAILER], [name]), 'MalformedTrailerError', 'an empty line first')
    assert.equal(await faults([`${TRAILER}${'='.repeat(20_000)}`], [name]), 'MalformedTrailerError', 'too long')
  }
  const unsigned = wire(KINDS[1]!)
    .toString()
    .replace(/x-svc-trailer-signature.*\r\n/, '')
  assert.equal(await faultOf(unsigned, ruleFor(KINDS[1]!)), 'MalformedTrailerError', 'no signature')
})

test('the line ends of older clients are understood', async () => {
  const signed = wire(KINDS[1]!).toString().replace(`${TRAILER}\r\n`, `${TRAILER}\n\r\n`)
  assert.equal(await faultOf(signed, ruleFor(KINDS[1]!)), 'none')
  const plain = wire(KINDS[2]!).toString().replace(`${TRAILER}\r\n`, `${TRAILER}\n\r\n`)
  assert.equal(await faultOf(plain, ruleFor(KINDS[2]!)), 'none')
})

test('A13: a chunk size is one to sixteen hexadecimal digits', async () => {
  for (const sent of KINDS) {
    const right = wire(sent).toString()
    for (const size of ['-1', '0x6', '00000000000000006', '', ' 6', '6 ', '+6', '6.0', 'g', 'ffffffffffffffff']) {
      assert.equal(await faultOf(right.replace(/^6/, size), ruleFor(sent)), 'IncompleteBody', size)
    }
    assert.equal(await faultOf(right.replace(/^6/, '0000000000000006'), ruleFor(sent)), 'none')
  }
})

test('A13: a line without end is refused after a kilobyte, not read', async () => {
  let taken = 0
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from('6;')
    for (;;) {
      taken += 512
      yield Buffer.alloc(512, 'x')
    }
  }
  for (const sent of KINDS) {
    taken = 0
    await assert.rejects(collect(decodeChunks(endless(), ruleFor(sent))), { code: 'IncompleteBody' })
    assert(taken <= 1024, `${taken} bytes taken`)
  }
})

test('nothing may stand where a line end belongs, nor behind the end', async () => {
  for (const sent of KINDS) {
    const right = wire(sent).toString()
    for (const wrong of [
      right.replace('hello \r\n', 'hello XY'),
      right.replace('hello \r\n', 'hello \n'),
      right.replace(/\r\n/, '\n'),
    ]) {
      assert.equal(await faultOf(wrong, ruleFor(sent)), 'IncompleteBody', wrong)
    }
    for (const more of ['x', '\r\n\r\n', right, '0']) {
      assert.notEqual(await faultOf(right + more, ruleFor(sent)), 'none', more)
    }
  }
})

test('the source is closed when a fault ends the reading', async () => {
  let closed = false
  async function* source(): AsyncGenerator<Buffer> {
    try {
      yield Buffer.from('zz\r\n')
      yield Buffer.from('more')
    } finally {
      closed = true
    }
  }
  await assert.rejects(collect(decodeChunks(source(), ruleFor(KINDS[3]!))), { code: 'IncompleteBody' })
  assert(closed)
})

test('a body with a wrong signature is closed, also by a loop that reads it', async () => {
  const data = [1, 2, 3].map(byte => Buffer.alloc(100, byte))
  const sent: SentChunks = { scheme: svc, signed: true, data }
  const bytes = wire(sent)
  bytes[110]! ^= 1
  // As pieces that arrive one by one, and as one that is followed by more.
  for (const border of [250, bytes.length]) {
    let closed = 0
    async function* body(): AsyncGenerator<Buffer> {
      try {
        yield bytes.subarray(0, border)
        yield bytes.subarray(border)
      } finally {
        closed++
      }
    }
    await assert.rejects(collect(decodeChunks(body(), ruleFor(sent))), { code: 'SignatureDoesNotMatch' })
    assert.equal(closed, 1)
  }
})
