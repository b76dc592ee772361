/** Signing keys, digests and the comparison of signatures. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { oneShotHash } from '../digest/one-shot-hash.ts'
import type { Credential } from '../model/caller.ts'
import type { Scheme } from './schemes.ts'

export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const BEYOND_ASCII = /[\u0080-\u00ff]/

/** SHA-256 of latin1 text. Most of it is ASCII, which the runtime hashes without an intermediate buffer. */
export function sha256Hex(text: string): string {
  return oneShotHash('sha256', BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1') : text, 'hex')
}

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
/** The longest UTF-8 encoding of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3

/**
 * A prepared HMAC key: the two padded key blocks are computed once, and hashing them with the text in one call costs
 * half as much as an HMAC object per signature.
 */
export class SigningKey {
  readonly bytes: Buffer
  readonly inner = Buffer.alloc(BLOCK_BYTES, 0x36)
  /** With space for the inner digest after the block. */
  readonly outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c)

  /** `bytes` is a derived key, which is shorter than a block. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    for (const [i, byte] of bytes.entries()) {
      this.inner[i]! ^= byte
      this.outer[i]! ^= byte
    }
  }
}

/** Grows to the longest text to sign. Signing is synchronous, so one buffer serves all. */
let room = Buffer.alloc(1024)

/** HMAC-SHA-256 in hexadecimal digits. */
export function hmac(key: SigningKey, text: string): string {
  const bytesMax = BLOCK_BYTES + UTF8_BYTES_MAX * text.length
  if (bytesMax > room.length) room = Buffer.alloc(2 * bytesMax)
  room.set(key.inner)
  const bytes = BLOCK_BYTES + room.write(text, BLOCK_BYTES)
  key.outer.write(oneShotHash('sha256', room.subarray(0, bytes), 'binary'), BLOCK_BYTES, 'latin1')
  return oneShotHash('sha256', key.outer, 'hex')
}

/** The credential scope: a day, a region and a service. */
export interface Scope {
  readonly date: string
  readonly region: string
  readonly text: string
}

export function scopeOf(scheme: Scheme, date: string, region: string): Scope {
  return { date, region, text: `${date}/${region}/${scheme.service}/${scheme.terminator}` }
}

const CACHED_KEYS_MAX = 4096

interface CachedKey {
  readonly secretKey: string
  readonly key: SigningKey
}

/** Deriving a key takes four rounds; a client uses the same one all day. */
const cached = new Map<string, CachedKey>()

/** The key for a credential within a scope. */
export function derivedKey(scheme: Scheme, credential: Credential, scope: Scope): SigningKey {
  let key: Buffer | string = scheme.keyPrefix + credential.secretKey
  for (const word of [scope.date, scope.region, scheme.service, scheme.terminator]) {
    key = createHmac('sha256', key).update(word).digest()
  }
  return new SigningKey(key as Buffer)
}

/** Cached; an entry for an old secret is replaced. */
export function signingKey(scheme: Scheme, credential: Credential, scope: Scope): SigningKey {
  const { accessKey, secretKey } = credential
  const name = `${accessKey}/${scope.text}`
  const known = cached.get(name)
  if (known?.secretKey === secretKey) return known.key
  const key = derivedKey(scheme, credential, scope)
  cached.delete(name)
  if (cached.size >= CACHED_KEYS_MAX) cached.delete(cached.keys().next().value!)
  cached.set(name, { secretKey, key })
  return key
}

const SIGNATURE = /^[0-9a-f]{64}$/
const SIGNATURE_DIGITS = 64
const ours = Buffer.alloc(SIGNATURE_DIGITS)
const theirs = Buffer.alloc(SIGNATURE_DIGITS)

/** Compares signatures in constant time. */
export function sameSignature(expected: string, provided: string): boolean {
  if (expected.length !== SIGNATURE_DIGITS) throw new RangeError(`expected a signature of ${SIGNATURE_DIGITS} digits`)
  ours.write(expected, 'latin1')
  if (!SIGNATURE.test(provided)) return false
  theirs.write(provided, 'latin1')
  return timingSafeEqual(ours, theirs)
}
