/** How the body of a request must be checked: decided from its headers, then applied while it is read. */

import { BodyDigest } from '../digest/body-digest.ts'
import { Fault } from '../model/faults.ts'
import type { SignatureChain } from './chunk-signatures.ts'
import { type ChunkRule, decodeChunks } from './chunked-body.ts'
import { authFault } from './refusal.ts'
import { type Scheme, UNSIGNED_CHUNKS_TRAILER, UNSIGNED_PAYLOAD } from './schemes.ts'
import type { HeaderFields } from './signing.ts'

export type PayloadRule = { readonly kind: 'unsigned' } | { readonly kind: 'sha256'; readonly hex: string } | ChunkRule

/** The kind of body that the content hash header declares. */
type DeclaredPayload =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'sha256'; readonly hex: string }
  | { readonly kind: 'chunks'; readonly signed: boolean; readonly trailer: boolean }

const SHA256_HEX = /^[0-9a-fA-F]{64}$/

export function declaredPayload(contentHash: string, scheme: Scheme): DeclaredPayload {
  if (SHA256_HEX.test(contentHash)) return { kind: 'sha256', hex: contentHash.toLowerCase() }
  if (contentHash === UNSIGNED_PAYLOAD) return { kind: 'unsigned' }
  if (contentHash === UNSIGNED_CHUNKS_TRAILER) return { kind: 'chunks', signed: false, trailer: true }
  if (contentHash === scheme.signedChunks) return { kind: 'chunks', signed: true, trailer: false }
  if (contentHash === scheme.signedChunksTrailer) return { kind: 'chunks', signed: true, trailer: true }
  const name = `${scheme.headerPrefix}content-sha256`
  const words = [UNSIGNED_PAYLOAD, UNSIGNED_CHUNKS_TRAILER, scheme.signedChunks, scheme.signedChunksTrailer]
  throw new Fault('InvalidArgument', {
    ArgumentName: name,
    ArgumentValue: contentHash,
    reason: `${name} must be ${words.join(', ')} or a valid sha256 value.`,
  })
}

export function payloadRule(
  declared: DeclaredPayload,
  request: { readonly fields: HeaderFields; readonly scheme: Scheme; readonly chain: SignatureChain | undefined },
): PayloadRule {
  const { fields, scheme, chain } = request
  const trailerHeader = fields.get(`${scheme.headerPrefix}trailer`)
  if (declared.kind !== 'chunks' || !declared.trailer) {
    // A declared checksum that cannot arrive must not be dropped silently.
    if (trailerHeader !== undefined) throw trailerNotSupported(scheme)
  }
  if (declared.kind !== 'chunks') return declared
  return {
    kind: 'chunks',
    chain: declared.signed ? chain : undefined,
    declared: declared.trailer ? declaredTrailers(trailerHeader ?? '', scheme) : undefined,
    trailers: new Map(),
    decodedLength: decodedLength(fields, scheme),
  }
}

/** Anonymous clients declare chunks by the content coding alone. */
export function anonymousPayload(fields: HeaderFields, scheme: Scheme): PayloadRule {
  const contentHash = fields.get(`${scheme.headerPrefix}content-sha256`)
  const codings = (fields.get('content-encoding') ?? '').split(',').map(coding => coding.trim())
  const isChunked = codings.includes(scheme.chunkEncoding)
  const hasTrailer = fields.has(`${scheme.headerPrefix}trailer`)
  const declared: DeclaredPayload =
    contentHash !== undefined
      ? declaredPayload(contentHash, scheme)
      : isChunked
        ? { kind: 'chunks', signed: false, trailer: hasTrailer }
        : { kind: 'unsigned' }
  if (declared.kind === 'chunks' && declared.signed) {
    throw authFault('InvalidRequest', { reason: 'A body in signed chunks requires a signed request.' })
  }
  return payloadRule(declared, { fields, scheme, chain: undefined })
}

const trailerNotSupported = (scheme: Scheme): Fault =>
  new Fault('InvalidRequest', {
    reason: `The value specified in the ${scheme.headerPrefix}trailer header is not supported`,
  })

const CHECKSUM = /^checksum-(crc32|crc32c|crc64nvme|sha1|sha256)$/

function declaredTrailers(header: string, scheme: Scheme): ReadonlySet<string> {
  const names = header
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '')
  for (const name of names) {
    const isChecksum = name.startsWith(scheme.headerPrefix) && CHECKSUM.test(name.slice(scheme.headerPrefix.length))
    if (!isChecksum) throw trailerNotSupported(scheme)
  }
  return new Set(names)
}

function decodedLength(fields: HeaderFields, scheme: Scheme): number {
  const name = `${scheme.headerPrefix}decoded-content-length`
  const text = fields.get(name)
  if (text === undefined) throw new Fault('MissingContentLength', {})
  const length = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(length)) return length
  throw new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: text })
}

/**
 * The decoded body, which fails when it does not match its signature or hash. A consumer must reach the end before
 * anything takes effect: only then are all checks complete.
 */
export function checkedBody(body: AsyncIterable<Buffer>, rule: PayloadRule): AsyncIterable<Buffer> {
  if (rule.kind === 'chunks') return decodeChunks(body, rule)
  if (rule.kind === 'sha256') return hashedBody(body, rule.hex)
  return body
}

async function* hashedBody(body: AsyncIterable<Buffer>, expected: string): AsyncGenerator<Buffer, void> {
  const hash = new BodyDigest('sha256')
  try {
    for await (const piece of body) {
      const hashing = hash.update(piece)
      if (hashing !== undefined) await hashing
      yield piece
    }
    const computed = (await hash.digest()).toString('hex')
    if (computed !== expected) {
      throw new Fault('XSvcContentSHA256Mismatch', {
        ClientComputedContentSHA256: expected,
        SvcComputedContentSHA256: computed,
      })
    }
  } finally {
    hash.abandon()
  }
}
