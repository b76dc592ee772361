/** A37–A41: names that are special on a disk, in a URL or in a program. Here they are plain keys. */
import assert from 'node:assert/strict'
import { get, outcome, put, texts } from './actions.ts'
import { begin, expectFolded } from './parts.ts'
import { BASE_HOST, inBoth, makeBucket } from './server.ts'
import { exchange } from './wire.ts'

const ODD = [
  '../beside/k',
  'a/../../beside/k',
  './k',
  '.',
  '..',
  '/',
  '//',
  'a//b',
  '\\..\\beside\\k',
  '..%2fbeside%2fk',
  'c:\\k',
  '~/k',
  '/etc/passwd',
]

/** Escapes every byte that is not a letter: the meaning of a path must not depend on its spelling. */
const escaped = (key: string): string =>
  [...Buffer.from(key)]
    .map(byte => (/[A-Za-z]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${hex(byte)}`))
    .join('')

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')

inBoth('A37: keys that look like paths are stored literally', async client => {
  const bucket = await makeBucket(client)
  const beside = await makeBucket(client, 'beside')
  await put(client, beside, '/k', 'of the other bucket')
  for (const key of ODD) await put(client, bucket, `/${escaped(key)}`, `at ${key}`)
  for (const key of ODD) {
    assert.equal((await get(client, bucket, `/${escaped(key)}`)).body.toString(), `at ${key}`)
    // The same in path style.
    const byPath = await client.send({ method: 'GET', path: `/${bucket}/${escaped(key)}` })
    assert.equal(byPath.body.toString(), `at ${key}`)
  }
  const listed = texts((await get(client, bucket, '/')).xml(), 'Key')
  assert.deepEqual(listed, [...ODD].sort())
  for (const path of [`/${bucket}/../beside/k2`, `/${bucket}/%2e%2e/beside/k2`, `/${bucket}/..%2fbeside%2fk2`]) {
    assert.equal(outcome(await client.send({ method: 'GET', path })), '404 NoSuchKey')
  }
  for (const path of ['/../beside/k', '/%2e%2e/beside/k', '/./beside/k', '//beside/k', '/..', '/.']) {
    const answer = await client.send({ method: 'GET', path })
    assert([400, 404].includes(answer.status), `${path}: ${answer.status}`)
    assert.doesNotMatch(answer.body.toString(), /of the other bucket/)
  }
  assert.deepEqual(texts((await get(client, beside, '/')).xml(), 'Key'), ['k'])
})

inBoth('A38: invalid copy sources are refused', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const place = await begin(client, bucket, '/parts')
  const targets = ['/copy', `/parts?partNumber=1&uploadId=${place.id}`]
  for (const target of targets) {
    const copy = (source: string) =>
      client.send({ method: 'PUT', bucket, path: target, headers: [[':copy-source', source]] })
    for (const source of [
      '',
      '/',
      'k',
      `${bucket}`,
      `/${bucket}`,
      `${bucket}/`,
      `${bucket}/%00`,
      `${bucket}/%zz`,
      '%',
    ]) {
      const answer = await copy(source)
      if (target === '/copy') expectFolded(client, answer, 'InvalidArgument')
      else assert.equal(outcome(answer), '400 InvalidArgument', source)
    }
    for (const source of [
      '../beside/k',
      `${bucket}/../k`,
      '..%2fbeside/k',
      'none/k',
      `${bucket}/none`,
      `//${bucket}/k`,
      `%00/${bucket}/k`,
      `${bucket}%00/k`,
      `${'b'.repeat(9_000)}/k`,
    ]) {
      const answer = await copy(source)
      assert([400, 404].includes(answer.status), `${source}: ${outcome(answer)}`)
    }
    assert([400, 404].includes((await copy(`${bucket}/${'k'.repeat(9_000)}`)).status))
    for (const version of ['junk', '', '%00', '../x']) {
      const answer = await copy(`${bucket}/k?versionId=${version}`)
      assert([400, 404].includes(answer.status), `${version}: ${outcome(answer)}`)
    }
  }
  assert.deepEqual(texts((await get(client, bucket, '/')).xml(), 'Key'), ['k'])
  assert.doesNotMatch((await get(client, bucket, `/parts?uploadId=${place.id}`)).body.toString(), /<Part>/)
})

inBoth('A40: keys that are not UTF-8 or contain NUL are refused', async client => {
  const bucket = await makeBucket(client)
  for (const path of ['/%ff', '/%C3', '/a%00b', '/%ED%A0%80', '/%C0%AF', '/%F5%80%80%80', '/100%', '/%g0']) {
    const answer = await client.send({ method: 'PUT', bucket, path, body: 'x' })
    assert.equal(outcome(answer), '400 InvalidURI', path)
  }
  const raw = await exchange(client.port, `GET /\xff\xfe HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n\r\n`)
  assert.equal(raw?.status, 400)
  assert.deepEqual(texts((await get(client, bucket, '/')).xml(), 'Key'), [])
})

const NAMES = [
  '__proto__',
  '__proto__/x',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\u202Eright to left',
  'caf\u00e9',
  'cafe\u0301',
  '<img src=x onerror=alert(1)>&amp;"\'',
  'new\nline\rand\ttab',
  '\u0001\u001f\u007f',
  '\ufeffmark',
  '\u{1F600}',
]

inBoth('A41: keys with special meaning to programs round-trip', async client => {
  const bucket = await makeBucket(client)
  for (const name of NAMES) await put(client, bucket, `/${escaped(name)}`, name)
  for (const name of NAMES) assert.equal((await get(client, bucket, `/${escaped(name)}`)).body.toString(), name)
  const byBytes = [...NAMES].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const encoded = texts((await get(client, bucket, '/?encoding-type=url')).xml(), 'Key')
  const decoded = encoded.map(name => decodeURIComponent(name.replaceAll('+', ' ')))
  assert.deepEqual(decoded, byBytes)
  // Characters that XML cannot carry are replaced; all others are unchanged.
  const plain = texts((await get(client, bucket, '/')).xml(), 'Key')
  const isTellable = (name: string): boolean => name !== '\u0001\u001f\u007f'
  assert.deepEqual(
    plain.filter((_, index) => isTellable(byBytes[index]!)),
    byBytes.filter(isTellable),
  )
  assert.equal(({} as { x?: unknown }).x, undefined)
  assert.deepEqual(Object.keys(Object.prototype), [])
  for (const name of NAMES) {
    assert.equal((await client.send({ method: 'DELETE', bucket, path: `/${escaped(name)}` })).status, 204)
  }
  assert.deepEqual(texts((await get(client, bucket, '/')).xml(), 'Key'), [])
})
