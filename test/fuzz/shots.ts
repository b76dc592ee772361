/**
 * Shots: the bytes sent on one connection, and the response they must get. Most are correctly signed, so that they get
 * far.
 */
import { SCHEMES } from '../../src/auth/signing.ts'
import { digestOf } from '../../src/rules/checksum.ts'
import { FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import { chunkFrames, type Pair, sha256, signedByHeader, signedByQuery, type Unsigned } from '../specimens/signing.ts'
import type { Dice } from './dice.ts'
import { addressed, type Draft, draftOf, spoilDraft, type Target, wireHeaders } from './draft.ts'
import { METHODS, oddValue } from './odd.ts'
import { spoilBody, spoilJson, spoilText } from './spoil.ts'

export interface Shot {
  readonly kind: string
  readonly bytes: Buffer
  /** The methods of its requests; a response to HEAD has no body. */
  readonly methods: readonly string[]
  /**
   * `must`: the first request is valid HTTP and gets a response. `may`: closing the connection is valid too. `gone`:
   * the client does not wait for one.
   */
  readonly answer: 'must' | 'may' | 'gone'
  /** Defaults to the port of the object API. */
  readonly at?: 'console'
}

const LINE = '\r\n'

export function written({ method, target, headers }: Unsigned, body: Buffer): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', '']
  return Buffer.concat([Buffer.from(lines.join(LINE), 'latin1'), body])
}

const HEADER_BYTES_SAFE = 15_000

/** Valid HTTP, but the connection may be closed on a header section that is too long. */
function shotOf(kind: string, request: Unsigned, body: Buffer): Shot {
  const bytes = written(request, body)
  const answer = bytes.length - body.length > HEADER_BYTES_SAFE ? 'may' : 'must'
  return { kind, bytes, methods: [request.method], answer }
}

const carries = (method: string, body: Buffer): boolean => body.length > 0 || method === 'PUT' || method === 'POST'

const lengthOf = (method: string, body: Buffer): Pair[] =>
  carries(method, body) ? [['Content-Length', String(body.length)]] : []

/** The draft as a request with its host. */
function requestOf(draft: Draft, target: Target, dice: Dice): Unsigned {
  const { host, target: path } = addressed(draft, target.baseHost, dice)
  return { method: draft.method, target: path, headers: [['Host', host], ...wireHeaders(draft)] }
}

/** Signed over the bytes sent, whatever they are. */
function signedShot(kind: string, draft: Draft, target: Target, dice: Dice): Shot {
  const request = requestOf(draft, target, dice)
  const signer = target.signer(draft.dialect)
  const way = dice.weighed([
    [8, 'header'],
    [2, 'query'],
    [1, 'none'],
  ] as const)
  const length = lengthOf(draft.method, draft.body)
  if (way === 'none') return shotOf(kind, { ...request, headers: [...request.headers, ...length] }, draft.body)
  const contentHash = dice.chance(0.7) ? sha256(draft.body) : 'UNSIGNED-PAYLOAD'
  const sign = way === 'header' ? signedByHeader : signedByQuery
  const signed = sign(signer, request, { contentHash, seconds: 900 }).request
  const expect: Pair[] = dice.chance(0.05) ? [['Expect', '100-continue']] : []
  return shotOf(kind, { ...signed, headers: [...signed.headers, ...length, ...expect] }, draft.body)
}

type Gun = (target: Target, dice: Dice) => Shot

const spoilt: Gun = (target, dice) => {
  const draft = draftOf(dice.pick(target.cases), target, dice)
  spoilDraft(draft, dice, target)
  return signedShot('spoilt', draft, target, dice)
}

const good: Gun = (target, dice) => signedShot('good', draftOf(dice.pick(target.cases), target, dice), target, dice)

/** Errors in the signature itself: its parts, its date, its place. */
const badlySigned: Gun = (target, dice) => {
  const draft = draftOf(dice.pick(target.cases), target, dice)
  const signer = target.signer(draft.dialect)
  const shift = dice.pick([0, 0, -901_000, 901_000, 10 ** 12])
  const how = { contentHash: sha256(draft.body), seconds: dice.pick([900, 0, -1, 604_801]) }
  const request = requestOf(draft, target, dice)
  const sign = dice.chance(0.6) ? signedByHeader : signedByQuery
  const { request: signed } = sign({ ...signer, now: signer.now + shift }, request, how)
  const spoil = (text: string): string => spoilText(text, dice).replace(/[^ -~]/g, '')
  const headers = signed.headers.map(
    ([name, value]): Pair => [name, /^auth|-date$|sha256$/i.test(name) ? spoil(value) : value],
  )
  const path = signed.target.replace(/(X-\w+-\w+=)([^&]*)/g, (_, name: string, value: string) =>
    dice.chance(0.3) ? name + spoil(value).replace(/[ #]/g, '%20') : name + value,
  )
  const length = lengthOf(draft.method, draft.body)
  return shotOf('badly signed', { ...signed, target: path, headers: [...headers, ...length] }, draft.body)
}

const CHUNKED = ['PUT object', 'PUT object ?partNumber ?uploadId', 'PUT bucket ?cors', 'POST bucket ?delete']

/** Chunked bodies: signed, unsigned, with trailers; valid, or with one corrupted frame. */
const chunked: Gun = (target, dice) => {
  const one = dice.pick(target.cases.filter(({ route }) => CHUNKED.includes(route)))
  const draft = draftOf(one, target, dice)
  if (dice.chance(0.3)) spoilDraft(draft, dice, target)
  const scheme = SCHEMES[draft.dialect]
  const x = scheme.headerPrefix
  const signer = target.signer(draft.dialect)
  const form = dice.pick([scheme.signedChunks, scheme.signedChunksTrailer, 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'])
  const hasTrailer = form.endsWith('-TRAILER')
  const trailer: Pair = [`${x}checksum-crc32`, digestOf('CRC32', draft.body).toString('base64')]
  const headers: Pair[] = [['Content-Encoding', scheme.chunkEncoding]]
  if (dice.chance(0.95)) {
    const length = dice.chance(0.9) ? String(draft.body.length) : oddValue(dice).replace(/[^ -~]/g, '')
    headers.push([`${x}decoded-content-length`, length])
  }
  if (hasTrailer) headers.push([`${x}trailer`, dice.chance(0.9) ? trailer[0] : 'x-odd'])
  const request = requestOf(draft, target, dice)
  const { request: signed, signature } = signedByHeader(
    signer,
    { ...request, headers: [...request.headers, ...headers] },
    { contentHash: form },
  )
  const cut = dice.below(draft.body.length + 1)
  const seed = form === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' ? undefined : signature
  const pieces = [draft.body.subarray(0, cut), draft.body.subarray(cut)]
  const frames = chunkFrames(signer, { pieces, seed, trailers: hasTrailer ? [trailer] : undefined })
  const body = Buffer.concat(dice.chance(0.7) ? spoilFrames(frames, dice) : frames)
  return shotOf('chunked', { ...signed, headers: [...signed.headers, ['Content-Length', String(body.length)]] }, body)
}

const LINES = ['-1', '0x10', 'f'.repeat(17), '', ' 5', '5 ', '5;a=b', 'ffffffff', '0', `1;${'e'.repeat(3_000)}`]

function spoilFrames(frames: readonly Buffer[], dice: Dice): Buffer[] {
  const place = dice.below(frames.length)
  const all = [...frames]
  return dice.pick<() => Buffer[]>([
    () => all.filter((_, index) => index !== place),
    () => [...all.slice(0, place), all[place]!, ...all.slice(place)],
    () => all.slice(0, place),
    () => all.with(place, spoilBody(all[place]!, dice)),
    () => all.with(place, Buffer.from(`${dice.pick(LINES)}\r\n${oddValue(dice)}\r\n`, 'latin1')),
    () => [...all, Buffer.from(oddValue(dice), 'latin1')],
    () => all.reverse(),
  ])()
}

const FIELDS = ['key', 'acl', 'tagging', 'Content-Type', 'success_action_status', 'success_action_redirect', 'Expires']

/** Forms: their fields, their policy, their framing. */
const form: Gun = (target, dice) => {
  const dialect = dice.pick(['svc', 's3'] as const)
  const signer = target.signer(dialect)
  const x = signer.scheme.headerPrefix
  const { bucket } = target.place
  const names = [...FIELDS, `${x}meta-a`, `${x}server-side-encryption`, `${x}website-redirect-location`, 'x-ignore-a']
  const more = Array.from({ length: dice.below(4) }, (): Pair => [dice.pick(names), oddValue(dice)])
  const key: Pair = ['key', dice.chance(0.7) ? 'posted' : oddValue(dice)]
  const conditions = dice.pick<unknown[]>([
    [],
    [['content-length-range', 0, 9]],
    [['starts-with', '$key', '']],
    [[]],
    [{}],
    [7],
  ])
  let fields = signedFields(signer, { bucket, fields: [key, ...more], until: signer.now + 60_000, conditions })
  if (dice.chance(0.2)) {
    fields = fields.map(([name, value]): Pair => {
      if (name !== 'policy') return [name, value]
      const document = spoilJson(Buffer.from(value, 'base64').toString('latin1'), dice)
      return [name, Buffer.from(document, 'latin1').toString('base64')]
    })
  }
  const whole = formBody(fields, dice.bytes(dice.size(3_000)))
  const body = dice.chance(0.5) ? whole : spoilBody(whole, dice)
  const type: Pair = dice.chance(0.9)
    ? FORM_TYPE
    : ['Content-Type', spoilText(FORM_TYPE[1], dice).replace(/[^ -~]/g, '')]
  const headers: Pair[] = [['Host', `${bucket}.${target.baseHost}`], type, ...lengthOf('POST', body)]
  return shotOf('form', { method: 'POST', target: '/', headers }, body)
}

const preflight: Gun = (target, dice) => {
  const draft = draftOf(dice.pick(target.cases), target, dice)
  draft.method = dice.pick(['OPTIONS', 'OPTIONS', ...METHODS])
  const origin = dice.pick(['http://a.example.com', 'null', oddValue(dice).replace(/[^ -~]/g, '')])
  draft.headers.push(['Origin', origin], ['Access-Control-Request-Method', dice.pick(METHODS)])
  draft.headers.push(['Access-Control-Request-Headers', oddValue(dice).replace(/[^ -~]/g, '')])
  draft.body = Buffer.alloc(0)
  const request = requestOf(draft, target, dice)
  const headers = [...request.headers, ...lengthOf(draft.method, draft.body)]
  return shotOf('preflight', { ...request, headers }, draft.body)
}

export const WELL_FORMED: readonly (readonly [number, Gun])[] = [
  [50, spoilt],
  [8, good],
  [8, badlySigned],
  [10, chunked],
  [8, form],
  [3, preflight],
]
