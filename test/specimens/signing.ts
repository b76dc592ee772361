/**
 * Client signatures with every part accessible, so that a test can make a valid one or corrupt exactly one thing.
 * Written independently of the server. Texts are latin1, one character per byte.
 */
import { createHash, createHmac } from 'node:crypto'
import type { Scheme } from '../../src/auth/signing.ts'

export type Pair = readonly [string, string]

export interface Signer {
  readonly scheme: Scheme
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface Unsigned {
  readonly method: string
  /** Path and query as sent over the wire. */
  readonly target: string
  /** Wire names, in the order sent. */
  readonly headers: readonly Pair[]
}

const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text, 'latin1').digest()

export const sha256 = (bytes: Buffer | string): string =>
  createHash('sha256')
    .update(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    .digest('hex')

export const stampOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '')

export const scopeOf = ({ scheme, region, now }: Signer): string =>
  [stampOf(now).slice(0, 8), region, scheme.service, scheme.terminator].join('/')

const keys = new Map<string, Buffer>()

/** Cached: deriving a key takes four steps, and a run needs few of them. */
export function signingKey(signer: Signer): Buffer {
  const name = `${signer.secretKey}/${scopeOf(signer)}`
  const known = keys.get(name)
  if (known !== undefined) return known
  let key: Buffer | string = signer.scheme.keyPrefix + signer.secretKey
  for (const word of scopeOf(signer).split('/')) key = mac(key, word)
  keys.set(name, key as Buffer)
  return key as Buffer
}

/** Each byte as itself or as an escape; an escape represents its byte, a lone percent sign itself. */
function canonicalText(text: string): string {
  let out = ''
  for (let i = 0; i < text.length; i++) {
    const hex = text[i] === '%' ? /^[0-9A-Fa-f]{2}/.exec(text.slice(i + 1, i + 3))?.[0] : undefined
    const code = hex === undefined ? text.charCodeAt(i) : Number.parseInt(hex, 16)
    if (hex !== undefined) i += 2
    const character = String.fromCharCode(code)
    out += /[A-Za-z0-9._~-]/.test(character) ? character : `%${code.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

function canonicalQuery(query: string): string {
  const pairs = query
    .split('&')
    .filter(piece => piece !== '')
    .map(piece => {
      const [name = '', value = ''] = piece.split(/=(.*)/s)
      return [canonicalText(name), canonicalText(value)] as const
    })
  pairs.sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : x > y ? 1 : 0) : a < b ? -1 : 1))
  return pairs.map(pair => pair.join('=')).join('&')
}

function headerLine(headers: readonly Pair[], name: string): string {
  const values = headers
    .filter(([sent]) => sent.toLowerCase() === name)
    .map(([, value]) => value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, ''))
  return `${name}:${values.join(',')}`
}

function signature(signer: Signer, request: Unsigned, names: readonly string[], contentHash: string): string {
  const [path = '', query = ''] = request.target.split(/\?(.*)/s)
  const lines = names.map(name => headerLine(request.headers, name))
  const canonical = [request.method, path || '/', canonicalQuery(query), ...lines, '', names.join(';'), contentHash]
  const text = [signer.scheme.algorithm, stampOf(signer.now), scopeOf(signer), sha256(canonical.join('\n'))]
  return mac(signingKey(signer), text.join('\n')).toString('hex')
}

/** Headers that must be signed: the host and the dialect's own. */
function namesToSign({ headers }: Unsigned, { headerPrefix }: Scheme, leftOut: readonly string[]): string[] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  return [...names].filter(name => (name === 'host' || name.startsWith(headerPrefix)) && !leftOut.includes(name)).sort()
}

export interface HeaderSigning {
  /** Undefined omits the header. */
  readonly contentHash: string | undefined
  /** Wire names that the signature does not cover. */
  readonly leftOut?: readonly string[]
}

/** The request with date, content hash and Authorization; its signature seeds the chain of chunks. */
export function signedByHeader(
  signer: Signer,
  request: Unsigned,
  { contentHash, leftOut = [] }: HeaderSigning,
): { readonly request: Unsigned; readonly signature: string } {
  const { headerPrefix, algorithm } = signer.scheme
  const headers: Pair[] = [...request.headers, [`${headerPrefix}date`, stampOf(signer.now)]]
  if (contentHash !== undefined) headers.push([`${headerPrefix}content-sha256`, contentHash])
  const dated = { ...request, headers }
  const names = namesToSign(dated, signer.scheme, leftOut)
  const made = signature(signer, dated, names, contentHash ?? '')
  const credential = `${signer.accessKey}/${scopeOf(signer)}`
  const parts = `Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${made}`
  return { request: { ...dated, headers: [...headers, ['Authorization', `${algorithm} ${parts}`]] }, signature: made }
}

export interface QuerySigning extends HeaderSigning {
  readonly seconds: number
}

/** The request with everything in its query; a content hash, if any, is sent as a header. */
export function signedByQuery(
  signer: Signer,
  request: Unsigned,
  { contentHash, leftOut = [], seconds }: QuerySigning,
): { readonly request: Unsigned; readonly signature: string } {
  const { headerPrefix, queryPrefix: x, algorithm } = signer.scheme
  const headers: Pair[] = [...request.headers]
  if (contentHash !== undefined) headers.push([`${headerPrefix}content-sha256`, contentHash])
  const names = namesToSign({ ...request, headers }, signer.scheme, leftOut)
  const query = [
    `${x}Algorithm=${algorithm}`,
    `${x}Credential=${encodeURIComponent(`${signer.accessKey}/${scopeOf(signer)}`)}`,
    `${x}Date=${stampOf(signer.now)}`,
    `${x}Expires=${seconds}`,
    `${x}SignedHeaders=${encodeURIComponent(names.join(';'))}`,
  ].join('&')
  const asked = { ...request, headers, target: `${request.target}${request.target.includes('?') ? '&' : '?'}${query}` }
  const made = signature(signer, asked, names, contentHash ?? 'UNSIGNED-PAYLOAD')
  return { request: { ...asked, target: `${asked.target}&${x}Signature=${made}` }, signature: made }
}

export interface Chunks {
  readonly pieces: readonly Buffer[]
  /** The request's signature; undefined for unsigned chunks. */
  readonly seed: string | undefined
  /** Undefined for a body without trailers. */
  readonly trailers: readonly Pair[] | undefined
}

/** A chunked body, one buffer per frame, so that a test can corrupt one of them. */
export function chunkFrames(signer: Signer, { pieces, seed, trailers }: Chunks): Buffer[] {
  const { scheme } = signer
  const key = signingKey(signer)
  let previous = seed ?? ''
  const sign = (algorithm: string, digests: readonly string[]): string => {
    const text = [algorithm, stampOf(signer.now), scopeOf(signer), previous, ...digests].join('\n')
    previous = mac(key, text).toString('hex')
    return previous
  }
  const frames = [...pieces.filter(piece => piece.length > 0), Buffer.alloc(0)].map(piece => {
    const digests = [sha256(''), sha256(piece)]
    const mark = seed === undefined ? '' : `;chunk-signature=${sign(scheme.chunkAlgorithm, digests)}`
    const line = Buffer.from(`${piece.length.toString(16)}${mark}\r\n`)
    return piece.length === 0 ? line : Buffer.concat([line, piece, Buffer.from('\r\n')])
  })
  for (const [name, value] of trailers ?? []) frames.push(Buffer.from(`${name}:${value}\r\n`, 'latin1'))
  if (trailers !== undefined && seed !== undefined) {
    const lines = trailers.map(([name, value]) => `${name}:${value}\n`).join('')
    frames.push(
      Buffer.from(`${scheme.headerPrefix}trailer-signature:${sign(scheme.trailerAlgorithm, [sha256(lines)])}\r\n`),
    )
  }
  frames.push(Buffer.from('\r\n'))
  return frames
}

/** The signature of a form's policy. */
export const policySignature = (signer: Signer, policy: string): string =>
  mac(signingKey(signer), policy).toString('hex')
