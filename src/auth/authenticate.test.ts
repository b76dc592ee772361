import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RawRequest } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import { authenticate } from './authenticate.ts'
import type { Authentication } from './authentication.ts'
import { SCHEMES, schemeNamedBy } from './signing.ts'
import {
  ACCESS_KEY,
  BOTH,
  credential,
  inBoth,
  NOW,
  presigned,
  SECRET_KEY,
  server,
  sha,
  signatureOf,
  signed,
  TIMESTAMP,
  withHeader,
} from './suite-signer.ts'

async function refused(request: RawRequest, by: Authentication): Promise<Fault> {
  try {
    await authenticate(request, by)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new assert.AssertionError({ message: `${by.scheme.name}: ${request.target} was let in` })
}

const codeOf = async (request: RawRequest, by: Authentication): Promise<string> => (await refused(request, by)).code

const HOSTS = { svc: 'examplebucket.svc.example', s3: 'examplebucket.s3.amazonaws.com' }

test('G3: the published signatures of a GET are accepted; of another one it is shown what was signed', async () => {
  const expected = {
    svc: '0d78a966f700c5d532e0743f9a6f09a1e946a3fed19c05e85c9d7261d4528e37',
    s3: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  }
  for (const scheme of BOTH) {
    const x = scheme.headerPrefix
    const request = (signature: string): RawRequest => ({
      method: 'GET',
      target: '/test.txt',
      headers: [
        ['Host', HOSTS[scheme.name]],
        ['Range', 'bytes=0-9'],
        [`${x}content-sha256`, sha('')],
        [`${x}date`, TIMESTAMP],
        [
          'Authorization',
          `${scheme.algorithm} Credential=${ACCESS_KEY}/20130524/us-east-1/${scheme.service}/${scheme.terminator}, ` +
            `SignedHeaders=host;range;${x}content-sha256;${x}date, Signature=${signature}`,
        ],
      ],
    })
    const { caller, payload } = await authenticate(request(expected[scheme.name]), server(scheme))
    assert.deepEqual(caller, { kind: 'account', account: credential.account, accessKey: ACCESS_KEY })
    assert.deepEqual(payload, { kind: 'sha256', hex: sha('') })
    const { code, detail } = await refused(request('0'.repeat(64)), server(scheme))
    assert.equal(code, 'SignatureDoesNotMatch')
    assert.equal(detail.SignatureProvided, '0'.repeat(64))
    const text = String(detail.StringToSign)
    if (scheme === SCHEMES.svc) {
      assert.match(text, /\ndf7f098fb36bf1180452c82a8cb7cb2c51131b69341137e58b6133ad858bc0a4$/)
    }
    assert.equal(sha(String(detail.CanonicalRequest)), text.split('\n')[3])
    const bytes = String(detail.CanonicalRequestBytes)
      .split(' ')
      .map(hex => Number.parseInt(hex, 16))
    assert.equal(Buffer.from(bytes).toString('latin1'), detail.CanonicalRequest)
    assert.equal(Buffer.from(String(detail.StringToSignBytes).replaceAll(' ', ''), 'hex').toString(), text)
  }
})

test('G3: the published signatures of a presigned GET are accepted', async () => {
  const expected = {
    svc: 'f6dd1a01efb3db178061e36637b87f9eba994e3602ad996a08757fe43f9342bd',
    s3: 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  }
  for (const scheme of BOTH) {
    const x = scheme.queryPrefix
    const scope = `20130524%2Fus-east-1%2F${scheme.service}%2F${scheme.terminator}`
    const request: RawRequest = {
      method: 'GET',
      target:
        `/test.txt?${x}Algorithm=${scheme.algorithm}&${x}Credential=${ACCESS_KEY}%2F${scope}&${x}Date=${TIMESTAMP}` +
        `&${x}Expires=86400&${x}SignedHeaders=host&${x}Signature=${expected[scheme.name]}`,
      headers: [['Host', HOSTS[scheme.name]]],
    }
    const { caller, payload } = await authenticate(request, server(scheme, { now: NOW + 86_399_000 }))
    assert.equal(caller.kind, 'account')
    assert.deepEqual(payload, { kind: 'unsigned' })
  }
})

inBoth('a request without a signature is anonymous', async scheme => {
  const request: RawRequest = { method: 'GET', target: '/a?prefix=b', headers: [['Host', 'h']] }
  assert.deepEqual(await authenticate(request, server(scheme)), {
    caller: { kind: 'anonymous' },
    payload: { kind: 'unsigned' },
    region: 'us-east-1',
    signatureVersion: undefined,
  })
})

inBoth("a user's key makes the user the caller", async scheme => {
  const user = { name: 'u', policies: [] }
  const { caller } = await authenticate(signed(scheme, {}), {
    ...server(scheme),
    findCredential: async () => ({ ...credential, user }),
  })
  assert.deepEqual(caller, { kind: 'user', account: credential.account, user, accessKey: ACCESS_KEY })
})

inBoth('A5 A6: host and every dialect header must be signed, in both forms', async scheme => {
  for (const name of ['~acl', '~meta-a', '~tagging', '~object-lock-mode', '~copy-source']) {
    const full = name.replace('~', scheme.headerPrefix)
    for (const request of [
      signed(scheme, { headers: [[name, 'x']], unsigned: [name] }),
      presigned(scheme, { method: 'PUT', headers: [[name, 'x']], unsigned: [name] }),
      withHeader(scheme, presigned(scheme, { method: 'PUT' }), name, 'x'),
    ]) {
      const { code, detail } = await refused(request, server(scheme))
      assert.equal(code, 'AccessDenied')
      assert.equal(detail.HeadersNotSigned, full)
    }
    await authenticate(signed(scheme, { headers: [[name, 'x']] }), server(scheme))
    await authenticate(presigned(scheme, { headers: [[name, 'x']] }), server(scheme))
  }
  const { code, detail } = await refused(signed(scheme, { unsigned: ['host'] }), server(scheme))
  assert.deepEqual([code, detail.HeadersNotSigned], ['AccessDenied', 'host'])
})

inBoth('A6: a signed header that was not sent is refused', async scheme => {
  const request = signed(scheme, { headers: [['Range', '']] })
  const without = { ...request, headers: request.headers.filter(([name]) => name !== 'Range') }
  assert.equal(await codeOf(without, server(scheme)), 'AccessDenied')
})

inBoth('A7: a signature in the header and one in the query are one too many', async scheme => {
  const request = presigned(scheme, {})
  const authorization = signed(scheme, {}).headers.find(([name]) => name === 'Authorization')!
  const both = { ...request, headers: [...request.headers, authorization] }
  const { code, detail } = await refused(both, server(scheme))
  assert.equal(code, 'InvalidArgument')
  assert.equal(detail.authentication, true)
})

inBoth('A14: another scheme, or an older one, is refused and not taken for none', async scheme => {
  const other = scheme === SCHEMES.svc ? SCHEMES.s3 : SCHEMES.svc
  const basic = withHeader(scheme, signed(scheme, {}), 'authorization', 'AWS AKID:signature')
  const old: RawRequest = {
    method: 'GET',
    target: '/?AWSAccessKeyId=a&Expires=1&Signature=b',
    headers: [['Host', 'h']],
  }
  for (const request of [basic, old, signed(other, {}), presigned(other, {})]) {
    const { code, detail } = await refused(request, server(scheme))
    assert.equal(code, 'InvalidRequest')
    assert.match(String(detail.reason), new RegExp(`Please use ${scheme.algorithm}\\.$`))
    assert.equal(detail.authentication, true)
  }
})

inBoth('A15: the content hash must be there and mean something', async scheme => {
  const request = signed(scheme, {})
  const hash = `${scheme.headerPrefix}content-sha256`
  const without = { ...request, headers: request.headers.filter(([name]) => name !== hash) }
  assert.equal(await codeOf(without, server(scheme)), 'InvalidRequest')
  const other = scheme === SCHEMES.svc ? SCHEMES.s3 : SCHEMES.svc
  for (const value of ['', 'abc', `${sha('')}0`, 'unsigned-payload', other.signedChunks, `${sha('')},${sha('')}`]) {
    assert.equal(await codeOf(signed(scheme, { contentHash: value }), server(scheme)), 'InvalidArgument', value)
  }
})

inBoth('A16: a clock may be 15 minutes off, to either side', async scheme => {
  for (const sign of [-1, 1]) {
    await authenticate(signed(scheme, {}), server(scheme, { now: NOW + sign * 900_000 }))
    const { code, detail } = await refused(signed(scheme, {}), server(scheme, { now: NOW + sign * 901_000 }))
    assert.equal(code, 'RequestTimeTooSkewed')
    assert.equal(detail.MaxAllowedSkewMilliseconds, 900_000)
    assert.equal(detail.RequestTime, TIMESTAMP)
  }
})

inBoth('R9: the Date header stands in for the dialect header; no date, or no such date, is refused', async scheme => {
  const date = `${scheme.headerPrefix}date`
  const request = signed(scheme, {
    headers: [['Date', 'Fri, 24 May 2013 00:00:00 GMT']],
    unsigned: ['~date'],
  })
  const plain = { ...request, headers: request.headers.filter(([name]) => name !== date) }
  await authenticate(plain, server(scheme))
  const none = { ...plain, headers: plain.headers.filter(([name]) => name !== 'Date') }
  assert.equal(await codeOf(none, server(scheme)), 'AccessDenied')
  for (const value of ['20130532T000000Z', '20130524T250000Z', '2013-05-24T00:00:00Z', 'yesterday', '']) {
    assert.equal(await codeOf(withHeader(scheme, signed(scheme, {}), '~date', value), server(scheme)), 'AccessDenied')
  }
})

inBoth('A17: a presigned request ends when it says so, and says so properly', async scheme => {
  const end = server(scheme, { now: NOW + 60_000 })
  const { code, detail } = await refused(presigned(scheme, { seconds: '60' }), end)
  assert.equal(code, 'AccessDenied')
  assert.equal(detail.reason, 'Request has expired')
  assert.equal(detail['X-Svc-Expires'], 60)
  assert.equal(detail.Expires, '2013-05-24T00:01:00.000Z')
  await authenticate(presigned(scheme, { seconds: '61' }), end)
  await authenticate(presigned(scheme, { seconds: '604800' }), server(scheme))
  assert.equal(await codeOf(presigned(scheme, { seconds: '0' }), server(scheme)), 'AccessDenied')
  for (const seconds of ['604801', '-1', '1e9', '', '1.5', '99999999999999999999', ' 60']) {
    const fault = await refused(presigned(scheme, { seconds }), server(scheme))
    assert.equal(fault.code, 'AuthorizationQueryParametersError', seconds)
    assert.equal(fault.detail.authentication, true)
  }
  assert.equal(await codeOf(presigned(scheme, {}), server(scheme, { now: NOW - 901_000 })), 'AccessDenied')
})

inBoth('a presigned request lacks nothing and says nothing twice', async scheme => {
  const request = presigned(scheme, {})
  for (const word of ['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders', 'Signature']) {
    const part = new RegExp(`[?&](${scheme.queryPrefix}${word}=[^&]*)`).exec(request.target)![1]!
    const lacking = { ...request, target: request.target.replace(part, '') }
    assert.equal(await codeOf(lacking, server(scheme)), 'AuthorizationQueryParametersError', word)
    const twice = { ...request, target: `${request.target}&${part}` }
    assert.equal(await codeOf(twice, server(scheme)), 'AuthorizationQueryParametersError', word)
  }
})

inBoth('A18: only the scope of this server opens it', async scheme => {
  const words = ['20130524', 'us-east-1', scheme.service, scheme.terminator]
  const scopes = [
    ['20130525', 'eu-west-1', 'iam', 'aws5_request'].map((wrong, place) => words.with(place, wrong).join('/')),
    [words.slice(1).join('/'), `${words.join('/')}/x`, words.with(2, 's3tables').join('/'), ''],
  ].flat()
  for (const scope of scopes) {
    for (const [request, code] of [
      [signed(scheme, {}), 'AuthorizationHeaderMalformed'],
      [presigned(scheme, {}), 'AuthorizationQueryParametersError'],
    ] as const) {
      const swap = (text: string): string =>
        text.replace(words.join('/'), scope).replace(encodeURIComponent(words.join('/')), encodeURIComponent(scope))
      const wrong = {
        ...request,
        target: swap(request.target),
        headers: request.headers.map(([name, value]) => [name, swap(value)] as const),
      }
      const fault = await refused(wrong, server(scheme))
      assert.equal(fault.code, code, scope)
      const { authentication, Region } = fault.detail
      const isRegion = scope.includes('eu-west-1')
      assert.deepEqual([authentication, Region], isRegion ? [false, 'us-east-1'] : [true, undefined])
    }
  }
})

inBoth('a malformed Authorization header and a wrong signature have different faults', async scheme => {
  const whole = signed(scheme, {}).headers.find(([name]) => name === 'Authorization')![1]
  for (const wrong of [
    whole.replace(/,Signature=.*/, ''),
    whole.replace('SignedHeaders=', 'signedheaders='),
    `${whole},Signature=${signatureOf(signed(scheme, {}))}`,
    `${whole},More=1`,
    whole.replace('Credential=', 'Credential'),
  ]) {
    const request = withHeader(scheme, signed(scheme, {}), 'authorization', wrong)
    assert.equal(await codeOf(request, server(scheme)), 'AuthorizationHeaderMalformed', wrong)
  }
  const bare = withHeader(scheme, signed(scheme, {}), 'authorization', `${scheme.algorithm} `)
  assert.equal(await codeOf(bare, server(scheme)), 'InvalidArgument')
  const twice = signed(scheme, {})
  const repeated = { ...twice, headers: [...twice.headers, twice.headers.at(-1)!] }
  assert.equal(await codeOf(repeated, server(scheme)), 'AuthorizationHeaderMalformed')
})

inBoth('A1 A2 A19: a signature of any wrong shape is refused, and nothing breaks', async scheme => {
  const right = signatureOf(signed(scheme, {}))
  const shapes = ['', right.slice(1), `${right}0`, 'a'.repeat(10_000), `${'z'.repeat(64)}`, right.toUpperCase()]
  for (const signature of [...shapes, right.replace(/^./, first => (first === '0' ? '1' : '0'))]) {
    const request = signed(scheme, {})
    const authorization = request.headers.at(-1)![1].replace(/Signature=.*/, `Signature=${signature}`)
    assert.equal(
      await codeOf(withHeader(scheme, request, 'authorization', authorization), server(scheme)),
      'SignatureDoesNotMatch',
    )
  }
  for (const contentHash of ['STREAMING-UNSIGNED-PAYLOAD-TRAILER', scheme.signedChunks]) {
    const headers = [['~content-sha256', contentHash] as const, ['~decoded-content-length', '1'] as const]
    const request = presigned(scheme, { method: 'PUT', headers, contentHash })
    const garbage = { ...request, target: request.target.replace(/Signature=.{64}$/, `Signature=${'0'.repeat(64)}`) }
    assert.equal(await codeOf(garbage, server(scheme)), 'SignatureDoesNotMatch')
    assert.equal((await authenticate(request, server(scheme))).payload.kind, 'chunks')
  }
})

inBoth('A22: an unknown, disabled or changed key opens nothing; a token nobody issued neither', async scheme => {
  for (const request of [signed(scheme, {}), presigned(scheme, {})]) {
    await authenticate(request, server(scheme))
    const { code, detail } = await refused(request, server(scheme, { findCredential: async () => undefined }))
    assert.deepEqual([code, detail.SvcAccessKeyId], ['InvalidAccessKeyId', ACCESS_KEY])
    const changed = async () => ({ ...credential, secretKey: SECRET_KEY.toLowerCase() })
    assert.equal(await codeOf(request, server(scheme, { findCredential: changed })), 'SignatureDoesNotMatch')
    await authenticate(request, server(scheme))
  }
  const token = signed(scheme, { headers: [['~security-token', 'abc']] })
  assert.equal(await codeOf(token, server(scheme)), 'InvalidToken')
})

inBoth("A72: a customer's key is not repeated in the fault", async scheme => {
  const secret = Buffer.alloc(32, 7).toString('base64')
  const request = signed(scheme, { headers: [['~server-side-encryption-customer-key', secret]] })
  const fault = await refused(withHeader(scheme, request, 'host', 'other'), server(scheme))
  assert.equal(fault.code, 'SignatureDoesNotMatch')
  const shown = JSON.stringify(fault.detail)
  assert(!shown.includes(secret))
  assert(
    !shown.includes(
      Buffer.from(secret)
        .toString('hex')
        .replace(/..(?=.)/g, '$& '),
    ),
  )
})

test('G2: the signature names its scheme', () => {
  for (const scheme of BOTH) {
    assert.equal(schemeNamedBy(signed(scheme, {})), scheme)
    assert.equal(schemeNamedBy(presigned(scheme, {})), scheme)
  }
  assert.equal(schemeNamedBy({ method: 'GET', target: '/', headers: [] }), undefined)
})

/** The request with one byte of its method, target or a header value replaced. */
function mutated(request: RawRequest, place: number, byte: number): RawRequest {
  const parts = [request.method, request.target, ...request.headers.map(([, value]) => value)]
  let at = place % parts.join('').length
  let index = 0
  while (at >= parts[index]!.length) at -= parts[index++]!.length
  const old = parts[index]!
  parts[index] = old.slice(0, at) + String.fromCharCode(byte) + old.slice(at + 1)
  const [method, target, ...values] = parts as [string, string, ...string[]]
  return { method, target, headers: request.headers.map(([name], i) => [name, values[i]!] as const) }
}

test('no single changed byte of a signed request leaves it signed', async () => {
  // White space is left out: its amount between words carries no meaning.
  const visible = fc.integer({ min: 0x21, max: 0x7e })
  const target = '/bucket/k%C3%A4y/../x?prefix=a%20b&acl'
  const what = { method: 'PUT', target, headers: [['~meta-a', 'v\u00e4lue'] as const, ['Range', 'bytes=0-9'] as const] }
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      visible,
      fc.constantFrom(...BOTH),
      fc.boolean(),
      async (place, byte, scheme, inQuery) => {
        const request = inQuery ? presigned(scheme, what) : signed(scheme, what)
        const changed = mutated(request, place, byte)
        const same = (a: RawRequest): string => JSON.stringify(a).replace(/%[0-9a-fA-F]{2}/g, hex => hex.toUpperCase())
        fc.pre(same(changed) !== same(request))
        const verify = async (): Promise<string> => (await authenticate(changed, server(scheme))).caller.kind
        const caller = await verify().catch(error => (error instanceof Fault ? 'refused' : Promise.reject(error)))
        // Without its question mark a presigned request has no query, and so no signature.
        assert.equal(caller, changed.target.includes('?') || !inQuery ? 'refused' : 'anonymous')
      },
    ),
    { numRuns: 400 },
  )
})
