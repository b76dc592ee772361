/**
 * One key encrypted with another. A wrapped key is a short byte string that any record may hold: it is useless without
 * the wrapping key and the data it was bound to.
 */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { EMPTY } from '../lib/bytes.ts'
import { CIPHER, CIPHER_OPTIONS, deriveKey, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from './derive.ts'

/** The key, its name or its context differs from the one used to wrap; a damaged wrapped key looks the same. */
export class WrongKey extends Error {
  constructor() {
    super('the key, its name or its context does not open this wrapped key')
    this.name = 'WrongKey'
  }
}

/**
 * The first half derives a separate key for every wrapping, the second half is the nonce under it. With twelve bytes
 * alone, a service key that wraps billions of contents would approach the limit of random nonces.
 */
export const WRAP_NONCE_BYTES = 2 * NONCE_BYTES
export const WRAPPED_BYTES = WRAP_NONCE_BYTES + KEY_BYTES + TAG_BYTES

/** nonce ‖ ciphertext ‖ tag. Unwrapping needs the same `bound`, byte for byte. */
export function wrapKey(by: Buffer, key: Buffer, bound: Buffer, nonce: Buffer): Buffer {
  const once = deriveKey(by, 'wrap', EMPTY, nonce.subarray(0, NONCE_BYTES))
  const sealed = sealKey(once, key, bound, nonce.subarray(NONCE_BYTES))
  once.fill(0)
  return Buffer.concat([nonce, sealed])
}

export function unwrapKey(by: Buffer, wrapped: Buffer, bound: Buffer): Buffer {
  if (wrapped.length !== WRAPPED_BYTES) throw new WrongKey()
  const once = deriveKey(by, 'wrap', EMPTY, wrapped.subarray(0, NONCE_BYTES))
  try {
    return openKey(once, wrapped.subarray(WRAP_NONCE_BYTES), bound, wrapped.subarray(NONCE_BYTES, WRAP_NONCE_BYTES))
  } finally {
    once.fill(0)
  }
}

/**
 * A content has exactly one blob key per blob id, so the nonce can be derived from the id: wrapping the same blob key
 * again gives the same bytes.
 */
export function wrapBlobKey(contentKey: Buffer, blobKey: Buffer, blobId: Buffer): Buffer {
  return sealKey(contentKey, blobKey, boundToBlob(blobId), blobNonce(blobId))
}

export function unwrapBlobKey(contentKey: Buffer, wrapped: Buffer, blobId: Buffer): Buffer {
  return openKey(contentKey, wrapped, boundToBlob(blobId), blobNonce(blobId))
}

const BLOB_KEY_LABEL = Buffer.from('holdfast blob key\0', 'latin1')

function boundToBlob(blobId: Buffer): Buffer {
  return Buffer.concat([BLOB_KEY_LABEL, blobId])
}

/** Hashed, because blob ids share their first bytes. */
function blobNonce(blobId: Buffer): Buffer {
  return createHash('sha256').update(boundToBlob(blobId)).digest().subarray(0, NONCE_BYTES)
}

function sealKey(by: Buffer, key: Buffer, bound: Buffer, nonce: Buffer): Buffer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes, not ${key.length}`)
  const cipher = createCipheriv(CIPHER, by, nonce, CIPHER_OPTIONS)
  cipher.setAAD(bound)
  const sealed = cipher.update(key)
  cipher.final()
  return Buffer.concat([sealed, cipher.getAuthTag()])
}

function openKey(by: Buffer, sealed: Buffer, bound: Buffer, nonce: Buffer): Buffer {
  if (sealed.length !== KEY_BYTES + TAG_BYTES) throw new WrongKey()
  const decipher = createDecipheriv(CIPHER, by, nonce, CIPHER_OPTIONS)
  decipher.setAAD(bound)
  decipher.setAuthTag(sealed.subarray(KEY_BYTES))
  const key = decipher.update(sealed.subarray(0, KEY_BYTES))
  try {
    decipher.final()
  } catch {
    // The library's message adds nothing, and a cause would end up in logs.
    key.fill(0)
    throw new WrongKey()
  }
  return key
}
