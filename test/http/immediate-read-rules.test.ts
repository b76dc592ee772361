/** Plain reads follow every rule of signatures, hosts, policies, keys and records, with the fast path as without. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presign } from '../../src/auth/sign-request.ts'
import { EMPTY_SHA256, SCHEMES } from '../../src/auth/signing.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { Accounts } from '../../src/store/identity/accounts.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import {
  bothAnswer,
  type Compared,
  headOf,
  LOCAL,
  PLAIN,
  type Request,
  warm,
  withComparison,
} from './compared-listeners.ts'
import { begin, finish, MIB5, part } from './parts.ts'
import { BASE_HOST, MAIN, OTHER, READER, type Served } from './server.ts'

const statusIn = (answer: string): number => Number(answer.split(' ')[1])

/** The status of both responses, and whether the first was immediate. */
async function outcome(compared: Compared, head: string): Promise<string> {
  const answer = await bothAnswer(compared, head)
  return `${statusIn(answer)}${compared.answered > 0 ? ' at once' : ''}`
}

const ask = (compared: Compared, served: Served, change: Partial<Request> = {}): Promise<string> =>
  outcome(compared, headOf({ ...PLAIN, ...change }, served))

test('links in unusual forms', LOCAL, () =>
  withComparison(async (compared, served) => {
    const CHANGES: [title: string, change: (query: string) => string, expected: string][] = [
      ['unchanged', query => query, '200 at once'],
      ['in another order', query => query.split('&').reverse().join('&'), '200 at once'],
      ['with the signature first', query => query.replace(/(.*)&([^&]*)$/, '$2&$1'), '200 at once'],
      ['with a final separator', query => `${query}&`, '200 at once'],
      ['with an empty parameter', query => query.replace('&', '&&'), '200'],
      ['escaped in lower case', query => query.replaceAll('%2F', '%2f'), '200'],
      ['with unescaped slashes', query => query.replaceAll('%2F', '/'), '200 at once'],
      ['with an escaped name', query => query.replace('Date=', 'Dat%65='), '200'],
      ['with an escaped name of the signature', query => query.replace('Signature=', 'Signatur%65='), '200'],
      ['with an upper-case signature', query => query.replace(/[0-9a-f]{64}$/, found => found.toUpperCase()), '403'],
      ['with a short signature', query => query.slice(0, -1), '403'],
      ['with a long signature', query => `${query}0`, '403'],
      ['with another signature', query => query.replace(/[0-9a-f]{64}$/, '0'.repeat(64)), '403'],
      ['without its time', query => query.replace(/&X-Amz-Expires=\d+/, ''), '400'],
      ['with a longer time', query => query.replace(/Expires=\d+/, 'Expires=2000'), '403'],
      ['with two times', query => `${query}&X-Amz-Expires=1000`, '400'],
      ['with two signatures', query => `${query}&X-Amz-Signature=${'0'.repeat(64)}`, '400'],
      ['with an unsigned name', query => `${query}&x-id=GetObject`, '403'],
      ['with an unsigned hash', query => `${query}&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD`, '403'],
      ['with a token', query => `${query}&X-Amz-Security-Token=token`, '400'],
      ['with a version', query => `${query}&versionId=null`, '403'],
      ['with a name in lower case', query => `${query}&x-amz-date=1`, '403'],
      ['with an older signature', query => `${query}&AWSAccessKeyId=AKMAIN`, '400'],
      ['with a signature of the other dialect', query => `${query}&X-Svc-Signature=${'0'.repeat(64)}`, '403'],
    ]
    const plain = headOf({ ...PLAIN, presigned: true }, served)
    for (const [title, change, expected] of CHANGES) {
      const head = plain.replace(/\?(\S+)/, (_, query: string) => `?${change(query)}`)
      assert.equal(await outcome(compared, head), expected, title)
      // The second request finds the query in the cache.
      assert.equal(await outcome(compared, head), expected, `${title}, again`)
    }
  }),
)

test('a header beside a link', LOCAL, () =>
  withComparison(async (compared, served) => {
    const plain = headOf({ ...PLAIN, presigned: true }, served)
    const beside = (line: string): Promise<string> =>
      outcome(compared, plain.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`))
    assert.equal(await beside('Accept: caf\xe9  \t'), '200 at once')
    assert.equal(await beside('X-Amz-Content-Sha256: UNSIGNED-PAYLOAD'), '403')
    assert.equal(await beside('X-Amz-Security-Token: token'), '403')
    assert.equal(await beside('X-Svc-Date: 20260101T000000Z'), '400')
    assert.equal(await beside('Authorization: Basic YTpi'), '400')
    assert.equal(await beside('Authorization: '), '400')
    assert.equal(await beside('Content-Length: 0'), '200')
    assert.equal(await beside('Upgrade: h2c\r\nConnection: upgrade'), '200')
    assert.equal(await beside('Range: bytes=0-0'), '206')
    assert.equal(await beside(Array(40).fill('Pragma: a').join('\r\n')), '200')
    const by = { key: MAIN, region: 'us-east-1', now: served.clock.now(), seconds: 100 }
    const [origin, path] = [`http://${BASE_HOST}`, '/plain/small']
    // The signature covers both.
    const twoHosts = presign(SCHEMES.s3, { method: 'GET', origin, path, query: {}, headers: { host: BASE_HOST } }, by)
    const head = `GET ${twoHosts.slice(origin.length)} HTTP/1.1\r\nHost: ${BASE_HOST}\r\nHost: ${BASE_HOST}\r\n\r\n`
    assert.equal(await outcome(compared, head), '400')
  }),
)

test('a date that signs nothing leaves a request anonymous', LOCAL, () =>
  withComparison(async (compared, served) => {
    const anonymous = {
      target: ['plain', 'public'],
      who: null,
      parameters: [['X-Amz-Date', '20260101T000000Z']],
    } as const
    assert.equal(await ask(compared, served, anonymous), '200')
  }),
)

test('hashes of a body that is not there', LOCAL, () =>
  withComparison(async (compared, { s3 }) => {
    const hashed = (hash: string): Promise<string> =>
      outcome(compared, s3.head({ method: 'GET', host: BASE_HOST, path: '/plain/small', hash }))
    assert.equal(await hashed(EMPTY_SHA256), '200 at once')
    assert.equal(await hashed(EMPTY_SHA256.toUpperCase()), '200 at once')
    assert.equal(await hashed('0'.repeat(64)), '400')
    assert.equal(await hashed('STREAMING-AWS4-HMAC-SHA256-PAYLOAD'), '411')
    assert.equal(await hashed('none'), '400')
  }),
)

test('headers in unusual forms, signed', LOCAL, () =>
  withComparison(async (compared, served) => {
    const signed = (...headers: [string, string][]): Promise<string> => ask(compared, served, { headers })
    assert.equal(await signed(['User-Agent', 'caf\xc3\xa9'], ['ACCEPT', '*/*']), '200 at once')
    assert.equal(await signed(['user-agent', '\xff\xfe']), '200 at once')
    assert.equal(await signed(['x-amz-user-agent', 'a']), '200 at once')
    assert.equal(await signed(['x-amz-unknown', 'a']), '200')
    assert.equal(await signed(['x-amz-security-token', 'a']), '400')
    assert.equal(await signed(['date', 'Thu, 01 Jan 1970 00:00:00 GMT']), '200')
    assert.equal(await signed(...Array.from({ length: 40 }, (): [string, string] => ['pragma', 'a'])), '403')
  }),
)

test('hosts in every form', LOCAL, () =>
  withComparison(async (compared, served) => {
    const host = (name: string, inHost = false): Promise<string> => ask(compared, served, { host: name, inHost })
    for (const name of [
      'HF.Example',
      `${BASE_HOST}:80`,
      `${BASE_HOST}.`,
      'localhost:1',
      '127.0.0.1',
      '[::1]:9000',
      'one',
    ])
      assert.equal(await host(name), '200 at once', name)
    for (const name of [`Plain.${BASE_HOST}`, `plain.${BASE_HOST}.:443`])
      assert.equal(await host(name, true), '200 at once', name)
    // A name of this server, or of a bucket that does not exist.
    assert.equal(await host('other.example'), '200')
    assert.equal(await host('', true), '400')
    assert.equal(await host('a b'), '400')
    assert.equal(await host(`no_bucket.${BASE_HOST}`, true), '400')
    // A website even where a bucket has the name that the base host leaves.
    for (const path of ['/', '/small'])
      assert.equal(
        (await served.s3.send({ method: 'PUT', host: BASE_HOST, path: `/plain.website${path}` })).status,
        200,
      )
    assert.equal(await host(`plain.website.${BASE_HOST}`, true), '404')
  }),
)

test('any region, where that is accepted', LOCAL, () =>
  withComparison(
    async (compared, served) => {
      for (const presigned of [false, true]) {
        assert.equal(await ask(compared, served, { region: 'eu-west-1', presigned }), '200 at once')
        assert.equal(await ask(compared, served, { region: 'no region', presigned }), '400')
      }
    },
    { anyRegion: true },
  ),
)

test('over TLS, and in HTTP/1.0', LOCAL, () =>
  withComparison(
    async (compared, served) => {
      for (const method of ['GET', 'HEAD']) {
        for (const key of ['small', 'packed', 'long']) {
          const head = headOf({ ...PLAIN, method, target: ['plain', key] }, served)
          assert.equal(await outcome(compared, head), '200 at once')
          assert.equal(statusIn(await bothAnswer(compared, head, 'HTTP/1.0')), 200)
          assert.equal(compared.answered, 1)
        }
      }
    },
    { certificate: TEST_CERTIFICATE },
  ),
)

test('conditions of a user policy', LOCAL, () =>
  withComparison(async (compared, served) => {
    const accounts = new Accounts(served.parts.store.context)
    const allowed = async (condition: unknown, change: Partial<Request> = {}): Promise<string> => {
      const Statement = [{ Effect: 'Allow', Action: 's3:GetObject', Resource: '*', Condition: condition }]
      const document = JSON.stringify({ Version: '2012-10-17', Statement })
      await accounts.changeUser(MAIN.accountId, 'reader', () => ({
        policies: [{ name: 'only', document, fromFile: false }],
      }))
      await warm(compared, served, READER)
      return ask(compared, served, { who: READER, ...change })
    }
    assert.equal(await allowed({ IpAddress: { 'aws:SourceIp': '127.0.0.0/8' } }), '200 at once')
    assert.equal(await allowed({ IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } }), '403')
    const agent = { StringEquals: { 'aws:UserAgent': 'known' } }
    assert.equal(await allowed(agent, { headers: [['User-Agent', 'known']] }), '200 at once')
    assert.equal(await allowed(agent, { headers: [['User-Agent', 'other']] }), '403')
    const tagged = { StringEquals: { 's3:ExistingObjectTag/a': '1' } }
    assert.equal(await allowed(tagged, { target: ['plain', 'dir/with~odd_.-name'] }), '200 at once')
    assert.equal(await allowed(tagged), '403')
    const link = {
      StringEquals: { 's3:authType': 'REST-QUERY-STRING' },
      NumericLessThan: { 's3:signatureAge': '60000' },
    }
    assert.equal(await allowed(link, { presigned: true }), '200 at once')
    assert.equal(await allowed(link, { presigned: true, ageSeconds: 100 }), '403')
    assert.equal(await allowed(link), '403')
    assert.equal(await allowed({ Bool: { 'aws:SecureTransport': 'true' } }), '403')
  }),
)

test('a change counts from the next request on', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { parts, svc, s3 } = served
    const accounts = new Accounts(parts.store.context)
    const change = async (method: string, path: string, more: object = {}): Promise<void> => {
      const { status, body } = await s3.send({ method, bucket: 'plain', path, ...more })
      assert.ok(status < 300, `${method} ${path}: ${status} ${body}`)
    }
    assert.equal(await ask(compared, served, { who: READER }), '200 at once')
    await accounts.changeKey(READER.accessKey, { disabled: true })
    assert.equal(await ask(compared, served, { who: READER }), '403')
    await accounts.changeKey(READER.accessKey, { disabled: false, secretKey: 'another-secret-of-reader' })
    assert.equal(await ask(compared, served, { who: READER }), '403')
    const rotated = { ...READER, secretKey: 'another-secret-of-reader' }
    assert.equal(await ask(compared, served, { who: rotated }), '200 at once')
    await accounts.change(MAIN.accountId, { disabled: true })
    assert.equal(await ask(compared, served), '403')
    await accounts.change(MAIN.accountId, { disabled: false })
    await warm(compared, served, MAIN)

    assert.equal(await ask(compared, served, { who: OTHER }), '403')
    await change('PUT', '/small?acl', { headers: [[':acl', 'authenticated-read']] })
    assert.equal(await ask(compared, served, { who: OTHER }), '200 at once')
    await change('PUT', '/small?acl', { headers: [[':acl', 'private']] })
    assert.equal(await ask(compared, served, { who: OTHER }), '403')
    await change('PUT', '/small', { body: 'another' })
    assert.match(await bothAnswer(compared, headOf(PLAIN, served)), /another$/)
    await change('DELETE', '/small')
    assert.equal(await ask(compared, served), '404')

    const own = { method: 'PUT', bucket: 'renewed', path: '/' }
    const secret = { ...own, path: '/small', body: 'secret' }
    for (const what of [own, secret]) assert.equal((await svc.send(what)).status, 200)
    const target = ['renewed', 'small'] as const
    assert.equal(await ask(compared, served, { target }), '200 at once')
    for (const path of ['/small', '/']) await svc.send({ method: 'DELETE', bucket: 'renewed', path })
    for (const what of [own, secret]) assert.equal((await svc.send({ ...what, as: OTHER })).status, 200)
    assert.equal(await ask(compared, served, { target }), '403')
    assert.equal(await ask(compared, served, { target, who: OTHER }), '200 at once')
  }),
)

test('a URL that is remembered is decided anew each time', LOCAL, () =>
  withComparison(async (compared, served) => {
    const accounts = new Accounts(served.parts.store.context)
    const url = headOf({ ...PLAIN, presigned: true, who: READER }, served)
    const becomes = async (expected: string, change: () => Promise<unknown>): Promise<void> => {
      await warm(compared, served, READER)
      for (let use = 0; use < 3; use++) assert.equal(await outcome(compared, url), '200 at once')
      await change()
      assert.equal(await outcome(compared, url), expected)
    }
    const put = (body: string) => served.s3.send({ method: 'PUT', bucket: 'plain', path: '/small', body })
    await becomes('403', () => accounts.changeKey(READER.accessKey, { disabled: true }))
    await accounts.changeKey(READER.accessKey, { disabled: false })
    await becomes('403', () => accounts.changeKey(READER.accessKey, { secretKey: 'another-secret-of-reader' }))
    await accounts.changeKey(READER.accessKey, { secretKey: READER.secretKey })
    await becomes('404', () => served.s3.send({ method: 'DELETE', bucket: 'plain', path: '/small' }))
    await put('another')
    await becomes('200 at once', () => put('a third'))
    assert.match(await bothAnswer(compared, url), /a third$/)
    await becomes('403', () => accounts.removeKey(READER.accessKey))
  }),
)

test('more requests than are admitted', LOCAL, () =>
  withComparison(async (compared, served) => {
    compared.isOverLimit = true
    assert.equal(await ask(compared, served), '503')
    compared.isOverLimit = false
    assert.equal(await ask(compared, served), '200 at once')
  }),
)

test('suspended versioning', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { parts, s3 } = served
    await parts.store.buckets.setVersioning('versioned', 'suspended')
    assert.equal((await s3.send({ method: 'PUT', bucket: 'versioned', path: '/small', body: 'three' })).status, 200)
    assert.equal(await ask(compared, served, { target: ['versioned', 'small'] }), '200 at once')
    assert.equal(await ask(compared, served, { target: ['versioned', 'small'], dialect: 'svc' }), '200 at once')
    assert.equal(await ask(compared, served, { target: ['versioned', 'deleted'] }), '404')
  }),
)

test('an object of several parts', LOCAL, () =>
  withComparison(async (compared, served) => {
    const place = await begin(served.s3, 'plain', '/parts')
    const parts = [
      await part(served.s3, place, 1, Buffer.alloc(MIB5, 'a')),
      await part(served.s3, place, 2, 'the rest'),
    ]
    assert.equal((await finish(served.s3, place, parts)).status, 200)
    const target = ['plain', 'parts'] as const
    assert.equal(await ask(compared, served, { target, method: 'HEAD' }), '200 at once')
    const answer = await bothAnswer(compared, headOf({ ...PLAIN, target }, served))
    assert.equal(compared.answered, 1)
    assert.match(answer, /\r\netag: "[0-9a-f]{32}-2"\r\n/i)
    assert.ok(answer.endsWith('aathe rest'))
    assert.equal(served.parts.store.context.readers.count, 0)
  }),
)

test('damaged records and bytes are reported once, and hold nothing', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { meta, blobs, readers } = served.parts.store.context
    const failed = async (target: Request['target'], methods = ['GET', 'HEAD']): Promise<void> => {
      for (const method of methods) {
        assert.equal(await ask(compared, served, { target, method }), '500', `${method} ${target}`)
        for (const log of compared.logs) assert.equal(log.filter(({ level }) => level === 'error').length, 1)
        assert.equal(readers.count, 0)
      }
    }
    const { read, readAtOnce } = blobs
    const broken = (): never => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' })
    }
    Object.assign(blobs, { read: broken, readAtOnce: broken })
    for (const key of ['packed', 'long']) await failed(['plain', key], ['GET'])
    assert.equal(await ask(compared, served, { target: ['plain', 'packed'], method: 'HEAD' }), '200 at once')
    assert.equal(await ask(compared, served), '200 at once')
    Object.assign(blobs, { read, readAtOnce })
    assert.equal(await ask(compared, served, { target: ['plain', 'packed'] }), '200 at once')
    const value = Buffer.from('no record')
    await meta.commit({ checks: [], writes: [{ key: recordKey.current('plain', 'small'), value }] })
    await failed(['plain', 'small'])
    await meta.commit({ checks: [], writes: [{ key: recordKey.bucket('plain'), value }] })
    await failed(['plain', 'packed'])
  }),
)

test('an object that may be among the lost ones', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { losses, readers } = served.parts.store.context
    for (const key of [recordKey.current('plain', 'missing'), recordKey.bucket('absent'), recordKey.accountsMark()]) {
      losses.replace({ keys: [], more: [key[0]!] })
      for (const target of [
        ['plain', 'small'],
        ['plain', 'missing'],
        ['absent', 'small'],
      ] as const) {
        const expected = target[1] === 'small' && target[0] === 'plain' ? '200' : /^(404|500)/
        assert.match(await ask(compared, served, { target }), new RegExp(expected))
      }
      assert.equal(readers.count, 0)
    }
    losses.replace({ keys: [], more: [] })
    assert.equal(await ask(compared, served), '200 at once')
  }),
)
