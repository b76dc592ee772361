/** A short secret text, sealed so that only this keyring opens it, and only with the data it was bound to. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { EMPTY } from '../lib/bytes.ts'
import type { Random } from '../lib/random.ts'
import { CIPHER, CIPHER_OPTIONS, deriveKey, NONCE_BYTES, TAG_BYTES } from './derive.ts'

/** The sealed text is damaged, or was bound to something else. */
export class SecretBoxBroken extends Error {
  constructor() {
    super('a sealed secret does not open')
    this.name = 'SealBroken'
  }
}

/** The part of the keyring used here. */
export interface StorageKeys {
  storageKey(version?: number): { readonly version: number; readonly key: Buffer }
}

const FORMAT = 1
const HEADER_BYTES = 1 + 4
const SALT_BYTES = 16
const LABEL = 'account secret'

/** format ‖ key version ‖ salt ‖ nonce ‖ ciphertext ‖ tag. The salt derives a separate key for every text. */
export function sealSecret(keys: StorageKeys, secret: string, boundTo: string, random: Random): Buffer {
  const { version, key } = keys.storageKey()
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = FORMAT
  header.writeUInt32BE(version, 1)
  const salt = random.bytes(SALT_BYTES)
  const nonce = random.bytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(key, LABEL, EMPTY, salt), nonce, CIPHER_OPTIONS)
  key.fill(0)
  cipher.setAAD(Buffer.concat([header, Buffer.from(boundTo, 'utf8')]))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([header, salt, nonce, sealed, cipher.getAuthTag()])
}

export function openSecret(keys: StorageKeys, box: Buffer, boundTo: string): string {
  if (box.length < HEADER_BYTES + SALT_BYTES + NONCE_BYTES + TAG_BYTES || box[0] !== FORMAT) throw new SecretBoxBroken()
  const { key } = keys.storageKey(box.readUInt32BE(1))
  const salt = box.subarray(HEADER_BYTES, HEADER_BYTES + SALT_BYTES)
  const rest = box.subarray(HEADER_BYTES + SALT_BYTES)
  const nonce = rest.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, deriveKey(key, LABEL, EMPTY, salt), nonce, CIPHER_OPTIONS)
  key.fill(0)
  decipher.setAAD(Buffer.concat([box.subarray(0, HEADER_BYTES), Buffer.from(boundTo, 'utf8')]))
  decipher.setAuthTag(rest.subarray(-TAG_BYTES))
  try {
    const opened = Buffer.concat([decipher.update(rest.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    return opened.toString('utf8')
  } catch {
    throw new SecretBoxBroken()
  }
}
