import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import { evaluatePolicy, parsePolicy } from './policy-document.ts'
import { type AllowedPost, authenticatePost, type PostForm } from './post-policy.ts'
import type { Scheme } from './signing.ts'
import { ACCESS_KEY, BOTH, clientKey, clientScope, credential, NOW, server, TIMESTAMP } from './suite-signer.ts'

type Fields = readonly (readonly [string, string])[]

const base64 = (document: unknown): string =>
  Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)).toString('base64')

interface Written {
  readonly conditions?: readonly unknown[]
  readonly fields?: Fields
  readonly document?: unknown
  readonly change?: (fields: Fields) => Fields
}

/** A form as a client makes it: its conditions cover the signature's own fields unless a whole document is given. */
function form(scheme: Scheme, written: Written): PostForm {
  const x = scheme.headerPrefix
  const own: Fields = [
    [`${x}algorithm`, scheme.algorithm],
    [`${x}credential`, `${ACCESS_KEY}/${clientScope(scheme)}`],
    [`${x}date`, TIMESTAMP],
  ]
  const conditions = [
    ...own.map(([name, value]) => ({ [name]: value })),
    { bucket: 'b' },
    ...(written.conditions ?? []),
  ]
  const policy = base64(written.document ?? { expiration: '2030-01-01T00:00:00Z', conditions })
  const signature = createHmac('sha256', clientKey(scheme)).update(policy).digest('hex')
  const fields: Fields = [...(written.fields ?? []), ...own, ['policy', policy], [`${x}signature`, signature]]
  return { bucket: 'b', fields: written.change?.(fields) ?? fields }
}

const KEY: Written = { conditions: [['starts-with', '$key', 'user/']], fields: [['key', 'user/1']] }

async function outcome(scheme: Scheme, written: Written | PostForm): Promise<Fault | AllowedPost> {
  const post = 'bucket' in written ? written : form(scheme, written)
  return authenticatePost(post, server(scheme)).catch(error => {
    if (error instanceof Fault) return error
    throw error
  })
}

async function codeOf(scheme: Scheme, written: Written | PostForm): Promise<string> {
  const found = await outcome(scheme, written)
  return found instanceof Fault ? found.code : 'none'
}

test('G3: the published signatures of a policy are accepted', async () => {
  const policy =
    'eyJleHBpcmF0aW9uIjoiMjAzMC0wMS0wMVQwMDowMDowMFoiLCJjb25kaXRpb25zIjpb' +
    'eyJidWNrZXQiOiJiIn0sWyJzdGFydHMtd2l0aCIsIiRrZXkiLCIiXV19'
  const expected = {
    svc: 'f6a6861edf7b576d2905712898163a465dead09ef507bf2ece87f81d5e3f79ca',
    s3: '2763fc9030c15c0ca70b549c25579fd067f5ceb2df0d5ffced0c4e491ab45c40',
  }
  for (const scheme of BOTH) {
    const x = scheme.headerPrefix
    const post = (signature: string): PostForm => ({
      bucket: 'b',
      fields: [
        ['key', 'k'],
        ['policy', policy],
        [`${x}algorithm`, scheme.algorithm],
        [`${x}credential`, `${ACCESS_KEY}/${clientScope(scheme)}`],
        [`${x}date`, TIMESTAMP],
        [`${x}signature`, signature],
      ],
    })
    assert.equal(await codeOf(scheme, post('0'.repeat(64))), 'SignatureDoesNotMatch')
    // The signature is valid; the policy itself leaves the signature's fields uncovered.
    const found = await outcome(scheme, post(expected[scheme.name]))
    assert(found instanceof Fault)
    assert.match(String(found.detail.reason), /^Invalid according to Policy: Extra input fields: x-\w+-algorithm,/)
  }
})

test('a form that its policy allows is its signer’s', async () => {
  for (const scheme of BOTH) {
    const conditions = [...KEY.conditions!, ['content-length-range', 1, '10'], ['content-length-range', 0, 5]]
    assert.deepEqual(await outcome(scheme, { ...KEY, conditions }), {
      caller: { kind: 'account', account: credential.account, accessKey: ACCESS_KEY },
      contentLength: { min: 1, max: 5 },
      region: 'us-east-1',
      signatureVersion: 'SVC4-HMAC-SHA256',
    })
  }
})

test('a form without policy and signature is anonymous', async () => {
  for (const scheme of BOTH) {
    const found = await outcome(scheme, { bucket: 'b', fields: [['key', 'k']] })
    const unsigned = { contentLength: undefined, region: 'us-east-1', signatureVersion: undefined }
    assert.deepEqual(found, { caller: { kind: 'anonymous' }, ...unsigned })
  }
})

test('A29: every violated condition is refused, and every field that none names', async () => {
  const exact: Written = {
    conditions: [
      { key: 'user/1' },
      ['eq', '$acl', 'private'],
      ['starts-with', '$Content-Type', 'image/'],
      ['starts-with', '$x-svc-meta-a', ''],
    ],
  }
  const right: Fields = [
    ['Key', 'user/1'],
    ['acl', 'private'],
    ['content-type', 'image/png'],
    ['x-svc-meta-a', 'v'],
  ]
  for (const scheme of BOTH) {
    assert.equal(await codeOf(scheme, { ...exact, fields: right }), 'none')
    const wrong = ['user/2', 'public-read', 'text/html', undefined]
    for (const [place, value] of wrong.entries()) {
      const fields = right.flatMap((field, i) =>
        i !== place ? [field] : value === undefined ? [] : [[field[0], value] as const],
      )
      assert.equal(await codeOf(scheme, { ...exact, fields }), 'AccessDenied', `${right[place]![0]}: ${value}`)
    }
    const smuggled = right.with(2, ['content-type', 'image/png, text/html'])
    assert.equal(await codeOf(scheme, { ...exact, fields: smuggled }), 'AccessDenied')
    for (const extra of ['tagging', 'success_action_redirect', `${scheme.headerPrefix}meta-b`]) {
      assert.equal(await codeOf(scheme, { ...exact, fields: [...right, [extra, 'x']] }), 'AccessDenied', extra)
    }
    assert.equal(await codeOf(scheme, { ...exact, fields: [...right, ['x-ignore-this', 'x']] }), 'none')
  }
})

test('A29 A30: the bucket is the one the form was sent to, and a condition names it', async () => {
  for (const scheme of BOTH) {
    const post = form(scheme, KEY)
    assert.equal(await codeOf(scheme, { ...post, bucket: 'other' }), 'AccessDenied')
    const named = (bucket: string): PostForm => ({ ...post, fields: [...post.fields, ['bucket', bucket]] })
    assert.equal(await codeOf(scheme, named('other')), 'AccessDenied')
    assert.equal(await codeOf(scheme, named('b')), 'none')
    const document = { expiration: '2030-01-01T00:00:00Z', conditions: [['starts-with', '$key', '']] }
    assert.equal(await codeOf(scheme, { ...KEY, document }), 'AccessDenied')
  }
})

test('a policy ends at its expiration', () => {
  const fields = new Map<string, string>()
  const policy = parsePolicy(base64({ expiration: '2013-05-24T00:00:00.000Z', conditions: [] }))
  const at = (now: number) => evaluatePolicy(policy, { fields, isExempt: () => false }, now)
  assert.equal(at(NOW - 1), undefined)
  assert.throws(() => at(NOW), { code: 'AccessDenied' })
})

test('field names, and the words of a condition, are the same in either case', async () => {
  for (const scheme of BOTH) {
    const conditions = [['StArTs-WiTh', '$KeY', 'user/']]
    assert.equal(await codeOf(scheme, { conditions, fields: [['kEy', 'user/1']] }), 'none')
  }
})

test('a malformed policy document is refused as such', async () => {
  const conditions = (...list: unknown[]): unknown => ({ expiration: '2030-01-01T00:00:00Z', conditions: list })
  const documents = [
    'not json',
    '[]',
    'null',
    '"text"',
    '[['.repeat(5000),
    {},
    { expiration: '2030-01-01T00:00:00Z' },
    { conditions: [] },
    { EXPIRATION: '2030-01-01T00:00:00Z', conditions: [] },
    { expiration: '2030-01-01T00:00:00Z', CONDITIONS: [] },
    { expiration: 'tomorrow', conditions: [] },
    { expiration: '2030-13-01T00:00:00Z', conditions: [] },
    { expiration: 4_102_444_800, conditions: [] },
    conditions({}),
    conditions({ a: 'b', c: 'd' }),
    conditions({ a: 1 }),
    conditions('key'),
    conditions(null),
    conditions(['eq', '$key']),
    conditions(['eq', 'key', 'x']),
    conditions(['eq', '$key', 1]),
    conditions(['ends-with', '$key', 'x']),
    conditions(['content-length-range', 0]),
    conditions(['content-length-range', -1, 0]),
    conditions(['content-length-range', 5, 1]),
    conditions(['content-length-range', 0, 1.5]),
  ]
  for (const document of documents) {
    assert.throws(() => parsePolicy(base64(document)), { code: 'InvalidPolicyDocument' }, JSON.stringify(document))
  }
  for (const text of ['*', 'YQ', '/w==', 'e30=\n']) {
    assert.throws(() => parsePolicy(text), { code: 'InvalidPolicyDocument' }, text)
  }
  for (const scheme of BOTH) assert.equal(await codeOf(scheme, { ...KEY, document: {} }), 'InvalidPolicyDocument')
})

test('a signed form lacks no field and has none twice', async () => {
  for (const scheme of BOTH) {
    const x = scheme.headerPrefix
    for (const name of ['policy', `${x}algorithm`, `${x}credential`, `${x}date`, `${x}signature`]) {
      const lacking = { ...KEY, change: (fields: Fields) => fields.filter(([sent]) => sent !== name) }
      const found = await outcome(scheme, lacking)
      assert(found instanceof Fault)
      assert.deepEqual([found.code, found.detail.ArgumentName], ['InvalidArgument', name])
      const twice = { ...KEY, change: (fields: Fields) => [...fields, [name.toUpperCase(), 'x'] as const] }
      assert.equal(await codeOf(scheme, twice), 'InvalidArgument', name)
    }
  }
})

test('the signature of a form fails as that of a request does', async () => {
  for (const scheme of BOTH) {
    const x = scheme.headerPrefix
    const set = (name: string, value: string): Written => ({
      ...KEY,
      change: fields => fields.map(field => (field[0] === name ? ([name, value] as const) : field)),
    })
    const scope = clientScope(scheme)
    const cases: readonly (readonly [Written, string])[] = [
      [set(`${x}algorithm`, 'HMAC-SHA1'), 'InvalidRequest'],
      [set(`${x}credential`, 'nobody'), 'AuthorizationQueryParametersError'],
      [set(`${x}credential`, `${ACCESS_KEY}/${scope.replace('us-east-1', 'x')}`), 'AuthorizationQueryParametersError'],
      [set(`${x}date`, '20130525T000000Z'), 'AuthorizationQueryParametersError'],
      [set(`${x}date`, 'today'), 'AuthorizationQueryParametersError'],
      [set(`${x}credential`, `AKNOBODY/${scope}`), 'InvalidAccessKeyId'],
      [set(`${x}signature`, ''), 'SignatureDoesNotMatch'],
      [set(`${x}signature`, 'F'.repeat(64)), 'SignatureDoesNotMatch'],
      [set('policy', base64({ expiration: '2099-01-01T00:00:00Z', conditions: [] })), 'SignatureDoesNotMatch'],
      [{ ...KEY, change: fields => [...fields, [`${x}security-token`, 't'] as const] }, 'InvalidToken'],
    ]
    for (const [written, code] of cases) assert.equal(await codeOf(scheme, written), code)
    const old: Fields = [
      ['AWSAccessKeyId', ACCESS_KEY],
      ['policy', 'e30='],
      ['signature', 'x'],
    ]
    assert.equal(await codeOf(scheme, { bucket: 'b', fields: old }), 'InvalidRequest')
  }
})

test('a policy never allows more than each of its conditions', () => {
  const name = fc.constantFrom('key', 'acl', '__proto__', 'constructor')
  const value = fc.constantFrom('', 'a', 'ab', 'b')
  const condition = fc.tuple(fc.constantFrom('eq' as const, 'starts-with' as const), name, value)
  fc.assert(
    fc.property(fc.array(condition), fc.dictionary(name, value, { noNullPrototype: false }), (list, sent) => {
      const fields = new Map(Object.entries(sent))
      const conditions = list.map(([kind, field, wanted]) => [kind, `$${field}`, wanted])
      const policy = parsePolicy(base64({ expiration: '2030-01-01T00:00:00Z', conditions }))
      let allowed = true
      try {
        evaluatePolicy(policy, { fields, isExempt: () => false }, NOW)
      } catch {
        allowed = false
      }
      const holds = list.every(([kind, field, wanted]) =>
        kind === 'eq' ? fields.get(field) === wanted : fields.get(field)?.startsWith(wanted) === true,
      )
      const covered = [...fields.keys()].every(field => list.some(([, named]) => named === field))
      assert.equal(allowed, holds && covered)
    }),
    { numRuns: 300 },
  )
})
