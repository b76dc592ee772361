import { hkdfSync } from 'node:crypto'
import { EMPTY } from '../lib/bytes.ts'

/** Every key in the store is an AES-256 key. */
export const KEY_BYTES = 32
export const NONCE_BYTES = 12
export const TAG_BYTES = 16
export const CIPHER = 'aes-256-gcm'
export const CIPHER_OPTIONS = { authTagLength: TAG_BYTES } as const

/**
 * Derives one key from another (HKDF-SHA256). The label separates the uses of a key; `binding` has a fixed length per
 * label, so that no two pairs of label and binding concatenate to the same bytes.
 */
export function deriveKey(from: Buffer, label: string, binding: Buffer, salt: Buffer = EMPTY): Buffer {
  if (from.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes, not ${from.length}`)
  const info = Buffer.concat([Buffer.from(`holdfast ${label}\0`, 'latin1'), binding])
  return Buffer.from(hkdfSync('sha256', from, salt, info, KEY_BYTES))
}
