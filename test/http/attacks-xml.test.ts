/**
 * Malicious documents, sent to every route that reads XML: each gets the same response everywhere and has no effect.
 * src/lib/xml-reader.test.ts shows by counting that the work is bounded.
 */
import assert from 'node:assert/strict'
import { XML_LIMITS } from '../../src/lib/xml-reader.ts'
import { CORS_BYTES_MAX } from '../../src/rules/documents/cors.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { makePlace, renewed, type Send } from '../specimens/place.ts'
import { type Asked, type Case, cases, contentMd5, type Place, statusIn } from '../specimens/specimens.ts'
import { outcome } from './actions.ts'
import { inEither } from './long.ts'
import { type Client, inBoth, MAIN, type Received, type Served } from './server.ts'
import { exchange } from './wire.ts'

/** Refused before their body is read. */
const UNREAD = ['PUT bucket ?legal-hold', 'POST object']

interface Reading extends Case {
  readonly asked: Asked & { readonly body: string }
}

function routes(client: Client, place: Place): Reading[] {
  const all = cases().map(one => ({ ...one, asked: one.specimen.ask(place, client.dialect) }))
  return all.filter((one): one is Reading => one.asked.body?.startsWith('<') === true && !UNREAD.includes(one.route))
}

/** The fault for a malformed document on this route. */
function malformed({ route }: Case, client: Client, body: string | Buffer = ''): string {
  if (route.endsWith('?cors') && bytesOf(body).length > CORS_BYTES_MAX) return '400 MaxMessageLengthExceeded'
  if (route.endsWith('?acl')) return '400 MalformedACLError'
  // D8.
  return route.endsWith('?legal-hold') && client.dialect === 'svc' ? '400 InvalidRequest' : '400 MalformedXML'
}

const bytesOf = (body: string | Buffer): Buffer => (typeof body === 'string' ? Buffer.from(body) : body)

function send(client: Client, { operation, asked }: Reading, body: string | Buffer): Promise<Received> {
  const headers = (asked.headers ?? []).filter(([name]) => name !== 'Content-MD5')
  const { method } = operation.match
  return client.send({ ...asked, method, body: bytesOf(body), headers: [contentMd5(bytesOf(body)), ...headers] })
}

async function placeFor(client: Client): Promise<{ readonly place: Place; readonly sender: Send }> {
  const sender: Send = what => client.send(what)
  const names = { bucket: 'plain', locked: 'locked', empty: 'nothing-in-it', fresh: 'not-there-yet', key: 'k' }
  const place = await makePlace(sender, { ...names, owner: MAIN.canonicalId, until: '2030-01-01T00:00:00Z' })
  return { place, sender }
}

async function records({ store }: ServerParts): Promise<string> {
  const entries = await store.context.meta.scan({ start: Buffer.from([0]), end: undefined }, 10_000)
  return entries.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`).join('\n')
}

type Bad = readonly [what: string, spoil: (good: string) => string | Buffer]

/** Each of these on each route: refused with that route's fault, without effect. */
function refusedEverywhere(title: string, bad: readonly Bad[]): void {
  inEither(title, async (client, { parts }: Served) => {
    const { place } = await placeFor(client)
    const all = routes(client, place)
    assert(all.length >= 15, 'every route that reads XML')
    const before = await records(parts)
    for (const one of all) {
      for (const [what, spoil] of bad) {
        const spoiled = spoil(one.asked.body)
        const answer = await send(client, one, spoiled)
        assert.equal(outcome(answer), malformed(one, client, spoiled), `${one.route}: ${what}`)
      }
    }
    assert.equal(await records(parts), before)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
}

const inRoot = (good: string, more: string): string => good.replace(/<\/[^<]*>$/, end => more + end)
const inFirstText = (good: string, more: string): string => good.replace(/>([^<]+)</, (_, text) => `>${text}${more}<`)

const LAUGHS = Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')

refusedEverywhere('A61: no document type gets anywhere', [
  ['billion laughs', good => `<!DOCTYPE a [<!ENTITY l0 "ha">${LAUGHS}]>${inFirstText(good, '&l9;')}`],
  [
    'one big entity',
    good => `<!DOCTYPE a [<!ENTITY e "${'x'.repeat(1000)}">]>${inFirstText(good, '&e;'.repeat(50_000))}`,
  ],
  ['a file', good => `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>${inFirstText(good, '&e;')}`],
  ['an address', good => `<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd">${good}`],
  ['a parameter entity', good => `<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>${good}`],
  ['behind a declaration', good => `<?xml version="1.0"?><!DOCTYPE a>${good}`],
  ['in lower case', good => `<!doctype a>${good}`],
])

refusedEverywhere('A62: references are bounded, and name nothing of the client’s', [
  ['too many numbers', good => inFirstText(good, '&#65;'.repeat(XML_LIMITS.referencesMax + 1))],
  ['a name made of an expression', good => inFirstText(good, '&l.;')],
  ['a name that matches everything', good => inFirstText(good, '&.*;')],
  ['a name without end', good => inFirstText(good, `&${'a'.repeat(10_000)}`)],
  ['a name of XHTML', good => inFirstText(good, '&nbsp;')],
  ['zero', good => inFirstText(good, '&#0;')],
  ['half a character', good => inFirstText(good, '&#xD800;')],
  ['beyond Unicode', good => inFirstText(good, '&#x110000;')],
])

refusedEverywhere('A63: names of the language are names, and unknown ones', [
  ['__proto__', good => inRoot(good, '<__proto__><polluted>1</polluted></__proto__>')],
  ['constructor', good => inRoot(good, '<constructor><prototype><polluted>1</polluted></prototype></constructor>')],
  ['toString', good => inRoot(good, '<toString/>')],
  ['as the root', good => `<__proto__>${good}</__proto__>`],
  ['as an attribute of another root', () => '<constructor __proto__="polluted"/>'],
])

const ATTRIBUTES = Array.from({ length: 100_000 }, (_, i) => ` a${i}=""`).join('')

refusedEverywhere('A64: depth and numbers are bounded', [
  ['100,000 deep', good => inRoot(good, '<a>'.repeat(100_000))],
  ['100,000 deep and closed', good => inRoot(good, `${'<a>'.repeat(60_000)}${'</a>'.repeat(60_000)}`)],
  ['100,000 comments', good => inRoot(good, '<!---->'.repeat(100_000))],
  ['100,000 attributes', good => good.replace(/^<(\w+)/, `<$1${ATTRIBUTES}`)],
])

inEither('A64: a body that is too long is refused by what it announces, unread', async (client, { parts }) => {
  const { place } = await placeFor(client)
  const before = await records(parts)
  for (const { route, operation, asked } of routes(client, place)) {
    const { body: _, ...unsent } = asked
    const head = client.head({ ...unsent, method: operation.match.method, announced: 10 * 2 ** 20 })
    const answer = await exchange(client.port, head)
    // DeleteObjects has one code for every invalid document.
    const code = route === 'POST bucket ?delete' ? 'MalformedXML' : 'MaxMessageLengthExceeded'
    assert.deepEqual([answer?.status, answer?.code], [400, code], route)
  }
  assert.equal(await records(parts), before)
})

const utf16 = (good: string): Buffer => Buffer.from(`\ufeff${good}`, 'utf16le')

refusedEverywhere('A65: only UTF-8, one root, no instructions', [
  ['UTF-16', utf16],
  ['UTF-16 the other way', good => utf16(good).swap16()],
  ['UTF-16 by its declaration', good => `<?xml version="1.0" encoding="UTF-16"?>${good}`],
  ['bad UTF-8', good => Buffer.concat([Buffer.from(good), Buffer.from([0x20, 0xff])])],
  ['an overlong sequence', good => Buffer.from(inFirstText(good, '\u00c0\u00af'), 'latin1')],
  ['two roots', good => good + good],
  ['text behind the root', good => `${good}x`],
  ['an instruction', good => `<?php echo 1 ?>${good}`],
  ['a declaration twice', good => `<?xml version="1.0"?><?xml version="1.0"?>${good}`],
  ['a zero', good => inFirstText(good, '\0')],
  ['a comment that holds two hyphens', good => inRoot(good, '<!-- a -- b -->')],
  ['half of it', good => good.slice(0, good.length / 2)],
])

const GOOD: readonly Bad[] = [
  ['a byte order mark', good => `\ufeff${good}`],
  ['a declaration', good => `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n${good}\r\n`],
  ['comments', good => `<!-- a -->${inRoot(good, '<!-- b --> ')}<!-- c -->`],
  ['sections', good => good.replace(/>([^<]+)</g, '><![CDATA[$1]]><')],
  ['references', good => good.replace(/>([a-zA-Z])/, (_, c: string) => `>&#${c.charCodeAt(0)};`)],
  ['a namespace', good => good.replace(/^<(\w+)/, '<$1 xmlns="http://s3.amazonaws.com/doc/2006-03-01/"')],
  ['a prefix', good => good.replace(/^<(\w+)/, '<n:$1 xmlns:n="urn:x"').replace(/<\/(\w+)>$/, '</n:$1>')],
]

inBoth('A65: valid XML in any form is parsed correctly, on every route', async client => {
  const { place: made, sender } = await placeFor(client)
  let place = made
  for (const { route } of routes(client, place)) {
    for (const [what, write] of GOOD) {
      place = await renewed(sender, place, cases().find(one => one.route === route)!.specimen.uses)
      const one = routes(client, place).find(reading => reading.route === route)!
      const answer = await send(client, one, write(one.asked.body))
      assert.equal(answer.status, statusIn(one.specimen, client.dialect), `${route}: ${what}: ${answer.body}`)
    }
  }
})

inEither('A85: a body that says it is compressed is never inflated', async (client, { parts }) => {
  const { place } = await placeFor(client)
  const before = await records(parts)
  // A kilobyte that decompresses to a megabyte.
  const bomb = Buffer.from('H4sIAAAAAAACA+3BAQEAAACAkP6v7ggKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==', 'base64')
  for (const one of routes(client, place)) {
    const headers = [...(one.asked.headers ?? []), ['Content-Encoding', 'gzip'] as const]
    const answer = await send(client, { ...one, asked: { ...one.asked, headers } }, bomb)
    assert.equal(outcome(answer), malformed(one, client), one.route)
  }
  assert.equal(await records(parts), before)
  const headers = [['Content-Encoding', 'gzip']] as const
  const put = await client.send({ method: 'PUT', bucket: place.bucket, path: '/bomb.tar.gz', body: bomb, headers })
  assert.equal(put.status, 200)
  const got = await client.send({ method: 'GET', bucket: place.bucket, path: '/bomb.tar.gz' })
  assert(got.body.equals(bomb))
  assert.equal(got.headers.get('content-length'), String(bomb.length))
  assert.equal(got.headers.get('content-encoding'), 'gzip')
  const listed = await client.send({ method: 'GET', bucket: place.bucket, path: '/?prefix=bomb' })
  assert.equal(listed.body.toString().match(/<Key>/g)?.length, 1)
})
