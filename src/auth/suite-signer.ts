/**
 * Signs requests as a client, for tests. Implemented independently of the server's code from the specification, so that
 * one does not repeat the other's mistakes.
 */
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { RawRequest } from '../http/raw-request.ts'
import type { Account, Credential } from '../model/caller.ts'
import type { Authentication } from './authentication.ts'
import { SCHEMES, type Scheme } from './signing.ts'

export const ACCESS_KEY = 'AKIAIOSFODNN7EXAMPLE'
export const SECRET_KEY = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
export const TIMESTAMP = '20130524T000000Z'
export const REGION = 'us-east-1'
export const NOW = Date.UTC(2013, 4, 24)
export const BOTH: readonly Scheme[] = [SCHEMES.svc, SCHEMES.s3]

/** Each case in both dialects. */
export function inBoth(name: string, run: (scheme: Scheme) => Promise<void>): void {
  for (const scheme of BOTH) test(`${scheme.name}: ${name}`, () => run(scheme))
}

const account: Account = {
  accountId: '123456789012',
  canonicalId: '0'.repeat(64),
  displayName: 'someone',
  email: undefined,
}

export const credential: Credential = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY, account, user: undefined }

/** A server that knows one key. */
export function server(scheme: Scheme, change: Partial<Authentication> = {}): Authentication {
  return {
    scheme,
    region: REGION,
    now: NOW,
    findCredential: async accessKey => (accessKey === ACCESS_KEY ? credential : undefined),
    ...change,
  }
}

const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
export const sha = (data: Buffer | string): string =>
  createHash('sha256')
    .update(typeof data === 'string' ? Buffer.from(data, 'latin1') : data)
    .digest('hex')

export function clientKey(scheme: Scheme): Buffer {
  const words = [TIMESTAMP.slice(0, 8), REGION, scheme.service, scheme.terminator]
  return words.reduce<Buffer | string>((key, word) => mac(key, word), scheme.keyPrefix + SECRET_KEY) as Buffer
}

export const clientScope = (scheme: Scheme, timestamp = TIMESTAMP): string =>
  [timestamp.slice(0, 8), REGION, scheme.service, scheme.terminator].join('/')

/** Test queries are ASCII or percent-encoded UTF-8. */
function clientQuery(query: string): string {
  const encode = (text: string): string =>
    encodeURIComponent(decodeURIComponent(text)).replace(
      /[!'()*]/g,
      c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  const pairs = query
    .split('&')
    .filter(piece => piece !== '')
    .map(piece => /^([^=]*)=?(.*)$/s.exec(piece)!.slice(1).map(encode) as [string, string])
  pairs.sort(
    ([a, x], [b, y]) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)) || Buffer.compare(Buffer.from(x), Buffer.from(y)),
  )
  return pairs.map(pair => pair.join('=')).join('&')
}

function clientSignature(scheme: Scheme, request: RawRequest, signed: readonly string[], contentHash: string): string {
  const [path, query = ''] = request.target.split(/\?(.*)/s) as [string, string?]
  const values = (name: string): string =>
    request.headers
      .filter(([sent]) => sent.toLowerCase() === name)
      .map(([, value]) => value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, ''))
      .join(',')
  const canonical = [
    request.method,
    path,
    clientQuery(query),
    ...signed.map(name => `${name}:${values(name)}`),
    '',
    signed.join(';'),
    contentHash,
  ].join('\n')
  const text = [scheme.algorithm, TIMESTAMP, clientScope(scheme), sha(canonical)].join('\n')
  return mac(clientKey(scheme), text).toString('hex')
}

export interface SampleRequest {
  readonly method?: string
  readonly target?: string
  /** `~` stands for the dialect's prefix. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly contentHash?: string
  /** Names left out of the signature. */
  readonly unsigned?: readonly string[]
}

const EMPTY_HASH = sha('')

function withPrefix(scheme: Scheme, headers: SampleRequest['headers'] = []): (readonly [string, string])[] {
  const own = (text: string): string => text.replaceAll('~', scheme.headerPrefix)
  return headers.map(([name, value]) => [own(name), own(value)])
}

const namesOf = (headers: RawRequest['headers'], without: readonly string[]): string[] =>
  [...new Set(headers.map(([name]) => name.toLowerCase()))].filter(name => !without.includes(name)).sort()

export function signed(scheme: Scheme, what: SampleRequest): RawRequest {
  const contentHash = what.contentHash ?? EMPTY_HASH
  const headers = withPrefix(scheme, [
    ['Host', 'examplebucket.svc.example'],
    ['~content-sha256', contentHash],
    ['~date', TIMESTAMP],
    ...(what.headers ?? []),
  ])
  const request = { method: what.method ?? 'GET', target: what.target ?? '/test.txt', headers }
  const names = namesOf(
    headers,
    withPrefix(
      scheme,
      (what.unsigned ?? []).map(name => [name, '']),
    ).map(([name]) => name),
  )
  const signature = clientSignature(scheme, request, names, contentHash)
  const authorization =
    `${scheme.algorithm} Credential=${ACCESS_KEY}/${clientScope(scheme)},` +
    `SignedHeaders=${names.join(';')},Signature=${signature}`
  return { ...request, headers: [...headers, ['Authorization', authorization]] }
}

export function presigned(scheme: Scheme, what: SampleRequest & { readonly seconds?: string }): RawRequest {
  const headers = withPrefix(scheme, [['Host', 'examplebucket.svc.example'], ...(what.headers ?? [])])
  const names = namesOf(
    headers,
    withPrefix(
      scheme,
      (what.unsigned ?? []).map(name => [name, '']),
    ).map(([name]) => name),
  )
  const x = scheme.queryPrefix
  const target = what.target ?? '/test.txt'
  const query = [
    `${x}Algorithm=${scheme.algorithm}`,
    `${x}Credential=${encodeURIComponent(`${ACCESS_KEY}/${clientScope(scheme)}`)}`,
    `${x}Date=${TIMESTAMP}`,
    `${x}Expires=${what.seconds ?? '86400'}`,
    `${x}SignedHeaders=${encodeURIComponent(names.join(';'))}`,
  ].join('&')
  const request = {
    method: what.method ?? 'GET',
    target: `${target}${target.includes('?') ? '&' : '?'}${query}`,
    headers,
  }
  const signature = clientSignature(scheme, request, names, what.contentHash ?? 'UNSIGNED-PAYLOAD')
  return { ...request, target: `${request.target}&${x}Signature=${signature}` }
}

export const signatureOf = (request: RawRequest): string =>
  /Signature=([0-9a-f]*)$/.exec(request.headers.find(([name]) => name === 'Authorization')?.[1] ?? request.target)![1]!

/** Replaces one header's value; `~` as above. */
export function withHeader(scheme: Scheme, request: RawRequest, name: string, value: string): RawRequest {
  const full = name.replace('~', scheme.headerPrefix)
  const others = request.headers.filter(([sent]) => sent.toLowerCase() !== full)
  return { ...request, headers: [...others, [full, value]] }
}

const digestLine = (scheme: Scheme, kind: string, previous: string, digests: readonly string[]): string =>
  [`${scheme.algorithm}-${kind}`, TIMESTAMP, clientScope(scheme), previous, ...digests].join('\n')

export function chunkSignature(scheme: Scheme, previous: string, data: Buffer): string {
  return mac(clientKey(scheme), digestLine(scheme, 'PAYLOAD', previous, [EMPTY_HASH, sha(data)])).toString('hex')
}

export function trailerSignature(scheme: Scheme, previous: string, lines: string): string {
  return mac(clientKey(scheme), digestLine(scheme, 'TRAILER', previous, [sha(lines)])).toString('hex')
}
