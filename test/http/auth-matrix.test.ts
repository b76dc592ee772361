/**
 * A1–A3. Every operation, with every kind of authentication and every kind of body announcement, each valid and with
 * one error, in both dialects. The expected result comes from a table that knows no operation.
 */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { SCHEMES, type Scheme } from '../../src/auth/signing.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { shortOrLong } from '../long.ts'
import { FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import { makePlace, renewed, type Send, setBefore } from '../specimens/place.ts'
import {
  chunkFrames,
  type Pair,
  type Signer,
  sha256,
  signedByHeader,
  signedByQuery,
  type Unsigned,
} from '../specimens/signing.ts'
import { type Case, cases, type DialectName, type Place, statusIn } from '../specimens/specimens.ts'
import { text } from './actions.ts'
import { BASE_HOST, MAIN, type Served, withServer } from './server.ts'

const WAYS = ['none', 'header', 'query'] as const
const FORMS = [
  'hash',
  'other hash',
  'unsigned',
  'chunks',
  'chunks+trailer',
  'unsigned chunks',
  'absent',
  'odd',
] as const
const STATES = ['good', 'bad signature', 'unknown key', 'expired', 'unsigned header', 'skewed'] as const

type Way = (typeof WAYS)[number]
type Form = (typeof FORMS)[number]
type State = (typeof STATES)[number]

interface Cell {
  readonly dialect: DialectName
  readonly way: Way
  readonly form: Form
  readonly state: State
}

/** Without a signature there is none to corrupt. */
const CELLS: readonly Omit<Cell, 'dialect'>[] = WAYS.flatMap(way =>
  FORMS.flatMap(form =>
    STATES.filter(state => way !== 'none' || state === 'good').map(state => ({ way, form, state })),
  ),
)

/** The short run tests one cell in eleven per operation; it covers every way, form and state. */
const STRIDE = shortOrLong(11, 1)
const cellsFor = (index: number) => CELLS.filter((_, cell) => (cell + index) % STRIDE === 0)

const MINUTE = 60_000

const wordOf = (form: Form, scheme: Scheme, body: Buffer): string | undefined =>
  ({
    hash: sha256(body),
    'other hash': sha256('other'),
    unsigned: 'UNSIGNED-PAYLOAD',
    chunks: scheme.signedChunks,
    'chunks+trailer': scheme.signedChunksTrailer,
    'unsigned chunks': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    absent: undefined,
    odd: 'STREAMING-NONSENSE',
  })[form]

const isSignedChunks = (form: Form): boolean => form === 'chunks' || form === 'chunks+trailer'
const isChunked = (form: Form): boolean => isSignedChunks(form) || form === 'unsigned chunks'

function signerFor({ dialect, way, state }: Cell, now: number): Signer {
  const late = way === 'query' ? 120 * MINUTE : 16 * MINUTE
  const shift = state === 'expired' ? -late : state === 'skewed' ? 16 * MINUTE : 0
  return {
    scheme: SCHEMES[dialect],
    accessKey: state === 'unknown key' ? 'AKNOBODY' : MAIN.accessKey,
    secretKey: state === 'bad signature' ? 'not the secret' : MAIN.secretKey,
    region: 'us-east-1',
    now: now + shift,
  }
}

interface Wire extends Unsigned {
  readonly body: Buffer
}

/** The cell's request as sent over the wire. */
function wireOf(cell: Cell, { operation, specimen }: Case, place: Place, now: number): Wire {
  const { dialect, way, form, state } = cell
  const scheme = SCHEMES[dialect]
  const asked = specimen.ask(place, dialect)
  const body = Buffer.from(asked.body ?? '')
  const x = scheme.headerPrefix
  const own = (name: string): string => (name.startsWith(':') ? x + name.slice(1) : name)
  // Shows the dialect where nothing else would.
  const headers: Pair[] = [
    ['Host', hostOf(asked.bucket)],
    [`${x}request-payer`, 'requester'],
  ]
  for (const [name, value] of asked.headers ?? []) headers.push([own(name), value])
  if (state === 'unsigned header') headers.push([`${x}meta-slipped-in`, '1'])
  if (isChunked(form)) {
    headers.push(['Content-Encoding', scheme.chunkEncoding], [`${x}decoded-content-length`, String(body.length)])
  }
  const contentHash = wordOf(form, scheme, body)
  const request = { method: operation.match.method, target: asked.path, headers }
  const signer = signerFor(cell, now)
  const how = { contentHash, seconds: 600, leftOut: [`${x}meta-slipped-in`] }
  if (way === 'none') {
    const bare = contentHash === undefined ? headers : [...headers, [`${x}content-sha256`, contentHash] as Pair]
    return sized({ ...request, headers: bare }, framed(form, signer, body, 'f'.repeat(64)))
  }
  const signed = way === 'header' ? signedByHeader(signer, request, how) : signedByQuery(signer, request, how)
  return sized(signed.request, framed(form, signer, body, signed.signature))
}

const hostOf = (bucket: string | undefined): string => (bucket === undefined ? BASE_HOST : `${bucket}.${BASE_HOST}`)

function framed(form: Form, signer: Signer, body: Buffer, seed: string): Buffer {
  if (!isChunked(form)) return body
  const trailers = form === 'chunks' ? undefined : []
  return Buffer.concat(chunkFrames(signer, { pieces: [body], seed: isSignedChunks(form) ? seed : undefined, trailers }))
}

function sized(request: Unsigned, body: Buffer): Wire {
  const carries = body.length > 0 || request.method === 'PUT' || request.method === 'POST'
  const headers = carries ? [...request.headers, ['Content-Length', String(body.length)] as Pair] : request.headers
  return { ...request, headers, body }
}

interface Expected {
  readonly status: number
  /** Undefined: the operation's own response. */
  readonly code?: string
}

const denied: Expected = { status: 403, code: 'AccessDenied' }

const OF_STATE: Readonly<Record<Exclude<State, 'good'>, Readonly<Record<'header' | 'query', string>>>> = {
  'bad signature': { header: 'SignatureDoesNotMatch', query: 'SignatureDoesNotMatch' },
  'unknown key': { header: 'InvalidAccessKeyId', query: 'InvalidAccessKeyId' },
  expired: { header: 'RequestTimeTooSkewed', query: 'AccessDenied' },
  'unsigned header': { header: 'AccessDenied', query: 'AccessDenied' },
  skewed: { header: 'RequestTimeTooSkewed', query: 'AccessDenied' },
}

/** Routes that respond the same to every caller: the operation does not exist. */
const FOR_NOBODY: ReadonlySet<string> = new Set(['PUT bucket ?legal-hold'])
/** Authorizes and responds key by key. */
const PER_KEY: ReadonlySet<string> = new Set(['POST bucket ?delete'])
/** Refused before its body is read; all others verify the body against its signed hash. */
const UNREAD: ReadonlySet<string> = new Set([...FOR_NOBODY, 'POST object'])

function expected({ dialect, way, form, state }: Cell, { operation, route, specimen }: Case): Expected {
  const folded = operation.foldsFaults && dialect === 'svc'
  const reads = !UNREAD.has(route)
  const mismatch = { status: 400, code: `X${dialect === 'svc' ? 'Svc' : 'Amz'}ContentSHA256Mismatch` }
  if (form === 'absent' && way === 'header') return { status: 400, code: 'InvalidRequest' }
  if (form === 'odd') return { status: 400, code: folded ? 'InvalidRequest' : 'InvalidArgument' }
  if (way === 'none') {
    if (isSignedChunks(form)) return { status: dialect === 'svc' ? 403 : 400, code: 'InvalidRequest' }
    if (PER_KEY.has(route)) return form === 'other hash' ? mismatch : { status: 200, code: 'AccessDenied' }
    return FOR_NOBODY.has(route) ? { status: statusIn(specimen, dialect) } : denied
  }
  if (state !== 'good') return { status: 403, code: OF_STATE[state][way] }
  return form === 'other hash' && reads ? mismatch : { status: statusIn(specimen, dialect) }
}

interface Answer {
  readonly status: number
  readonly body: Buffer
}

function exchange(port: number, agent: Agent, { method, target, headers, body }: Wire): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method, path: target, setHost: false, agent }
    const sent = httpRequest({ ...options, headers: headers.flat() as unknown as Record<string, string> }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Also the code of a key in a batch. */
const codeOf = ({ body }: Answer): string | undefined =>
  body.toString('latin1', 0, 5) === '<?xml' ? text(parseXml(body), 'Code') : undefined

/** All stored records, as one text. */
async function records({ store }: ServerParts): Promise<string> {
  const entries = await store.context.meta.scan({ start: Buffer.from([0]), end: undefined }, 10_000)
  return entries.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`).join('\n')
}

const AT_ONCE = 16

async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const lane = async (): Promise<void> => {
    for (const item of left) await run(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

function differences(cell: Cell, answer: Answer, want: Expected, method: string): string[] {
  const code = codeOf(answer)
  const isSame = answer.status === want.status && (method === 'HEAD' || code === want.code || want.code === undefined)
  if (isSame) return []
  const { way, form, state } = cell
  return [`${way}, ${form}, ${state}: ${answer.status} ${code ?? ''}, not ${want.status} ${want.code ?? ''}`]
}

async function matrix(dialect: DialectName, served: Served): Promise<void> {
  const client = served[dialect]
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const send: Send = what => client.send(what)
  const names = { bucket: 'plain', locked: 'locked', empty: 'nothing-in-it', fresh: 'not-there-yet', key: 'k' }
  const until = '2030-01-01T00:00:00Z'
  let place = await makePlace(send, { ...names, owner: MAIN.canonicalId, until })
  const problems: string[] = []
  let judged = 0
  const judge = async (cell: Cell, one: Case): Promise<void> => {
    const answer = await exchange(client.port, agent, wireOf(cell, one, place, served.clock.now()))
    judged++
    const want = expected(cell, one)
    for (const line of differences(cell, answer, want, one.operation.match.method))
      problems.push(`${one.route}: ${line}`)
  }
  const all = cases()
  for (const [index, one] of all.entries()) {
    place = await renewed(send, place, one.specimen.uses)
    await setBefore(send, one, place, dialect)
    const cells = cellsFor(index).map(cell => ({ ...cell, dialect }))
    const isRefused = (cell: Cell): boolean => {
      const { status, code } = expected(cell, one)
      return status >= 300 || code !== undefined
    }
    const before = await records(served.parts)
    await inTurns(cells.filter(isRefused), cell => judge(cell, one))
    assert.equal(await records(served.parts), before, `${one.route}: a refused request left something behind`)
    for (const cell of cells.filter(cell => !isRefused(cell))) {
      await judge(cell, one)
      place = await renewed(send, place, one.specimen.uses)
    }
  }
  agent.destroy()
  assert.deepEqual(problems, [])
  assert.equal(
    judged,
    all.reduce((sum, _, index) => sum + cellsFor(index).length, 0),
  )
  assert(judged >= Math.floor((all.length * CELLS.length) / STRIDE) - all.length, `${judged} cells`)
}

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: A1 A2 A3: every operation, signature and body, each corrupted in one place`, () =>
    withServer(served => matrix(dialect, served)))
}

/** A form is authenticated only by its own policy. */
const OF_FORM: Readonly<Record<State | 'no policy', Expected>> = {
  good: { status: 204 },
  'bad signature': { status: 403, code: 'SignatureDoesNotMatch' },
  'unknown key': { status: 403, code: 'InvalidAccessKeyId' },
  expired: denied,
  'unsigned header': denied,
  // A form is valid until its policy expires, whenever it was signed.
  skewed: { status: 204 },
  'no policy': denied,
}

function besideForm(form: Form, dialect: DialectName, alone: Expected): Expected {
  // The hash is verified, but does not authenticate the form.
  if (['absent', 'hash', 'unsigned'].includes(form)) return alone
  if (form === 'other hash') {
    const mismatch = `X${dialect === 'svc' ? 'Svc' : 'Amz'}ContentSHA256Mismatch`
    return alone.status === 204 ? { status: 400, code: mismatch } : alone
  }
  if (form === 'odd') return { status: 400, code: 'InvalidArgument' }
  if (isSignedChunks(form)) return { status: dialect === 'svc' ? 403 : 400, code: 'InvalidRequest' }
  return { status: 411, code: 'MissingContentLength' }
}

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: G5 PostObject: only its policy authenticates a form`, () =>
    withServer(async served => {
      const send: Send = what => served[dialect].send(what)
      const bucket = 'plain'
      await send({ method: 'PUT', bucket, path: '/' })
      const agent = new Agent({ keepAlive: true })
      const x = SCHEMES[dialect].headerPrefix
      const now = served.clock.now()
      for (const [state, alone] of Object.entries(OF_FORM) as [State | 'no policy', Expected][]) {
        for (const form of FORMS) {
          const key: Pair = ['key', `${state} ${form}`]
          const signer = signerFor({ dialect, way: 'header', form, state: state === 'no policy' ? 'good' : state }, now)
          const until = now + (state === 'expired' ? -MINUTE : 60 * MINUTE)
          const signed = signedFields(signer, { bucket, fields: [key], until })
          const fields = state === 'no policy' ? [key, [`${x}meta-a`, 'b'] as Pair] : signed
          const more: Pair[] = state === 'unsigned header' ? [[`${x}meta-slipped-in`, '1']] : []
          const body = formBody([...more, ...fields], Buffer.from('posted'))
          const hash = wordOf(form, SCHEMES[dialect], body)
          const beside: Pair[] = hash === undefined ? [] : [[`${x}content-sha256`, hash]]
          const headers: Pair[] = [['Host', hostOf(bucket)], FORM_TYPE, ...beside]
          const answer = await exchange(served.svc.port, agent, sized({ method: 'POST', target: '/', headers }, body))
          const want = besideForm(form, dialect, alone)
          assert.equal(answer.status, want.status, `${state}, ${form}: ${answer.body}`)
          if (want.code !== undefined) assert.equal(codeOf(answer), want.code, `${state}, ${form}`)
          const stored = await send({ method: 'GET', bucket, path: `/${encodeURIComponent(key[1])}` })
          assert.equal(stored.status, want.status === 204 ? 200 : 404, `${state}, ${form}`)
        }
      }
      agent.destroy()
    }))
}
