/** Signing keys, digests and the comparison of signatures. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Credential } from '../model/caller.ts'
import type { Scheme } from './schemes.ts'

export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const BEYOND_ASCII = /[\u0080-\u00ff]/

/** SHA-256 of latin1 text. Most of it is ASCII, which the runtime hashes without an intermediate buffer. */
export function sha256Hex(text: string): string {
  return hash('sha256', BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1') : text, 'hex')
}

export const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** What a signature is valid for: a day, a region and one service. */
export interface Scope {
  readonly date: string
  readonly region: string
  readonly text: string
}

export function scopeOf(scheme: Scheme, date: string, region: string): Scope {
  return { date, region, text: `${date}/${region}/${scheme.service}/${scheme.terminator}` }
}

const CACHED_KEYS_MAX = 4096

/** Deriving a key takes four rounds; a client uses the same one all day. */
const cached = new Map<string, { readonly secretKey: string; readonly key: Buffer }>()

/** The key for a credential within a scope. */
export function derivedKey(scheme: Scheme, credential: Credential, scope: Scope): Buffer {
  let key = hmac(scheme.keyPrefix + credential.secretKey, scope.date)
  for (const word of [scope.region, scheme.service, scheme.terminator]) key = hmac(key, word)
  return key
}

/** The same, remembered. A changed secret is a changed key, whatever was derived before. */
export function signingKey(scheme: Scheme, credential: Credential, scope: Scope): Buffer {
  const name = `${credential.accessKey}/${scope.text}`
  const known = cached.get(name)
  if (known !== undefined && known.secretKey === credential.secretKey) return known.key
  const key = derivedKey(scheme, credential, scope)
  cached.delete(name)
  if (cached.size >= CACHED_KEYS_MAX) cached.delete(cached.keys().next().value!)
  cached.set(name, { secretKey: credential.secretKey, key })
  return key
}

const SIGNATURE = /^[0-9a-f]{64}$/

/** Takes as long for a signature that is wrong in its first digit as for one that is wrong in its last. */
export function sameSignature(expected: Buffer, provided: string): boolean {
  return SIGNATURE.test(provided) && timingSafeEqual(expected, Buffer.from(provided, 'hex'))
}
