/**
 * The key that a cluster's shared secrets are sealed under in the metadata. Every gateway is given it; the database and
 * its backups never see it.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Random } from '../lib/random.ts'
import { CIPHER, CIPHER_OPTIONS, deriveKey, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from './derive.ts'

export interface ClusterKey {
  /** `boundTo` is not secret; the same must be given to open. */
  seal(secret: Buffer, boundTo: string): Promise<Buffer>
  open(sealed: Buffer, boundTo: string): Promise<Buffer>
}

export class WrongClusterKey extends Error {
  constructor() {
    super('the cluster key of this gateway is not the one that the cluster was created with')
    this.name = 'WrongClusterKey'
  }
}

const FORMAT = 1
const SALT_BYTES = 16
const HEADER_BYTES = 1 + SALT_BYTES + NONCE_BYTES

/** 32 bytes as 64 hexadecimal digits or as base64. */
export function parseClusterKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const decoded = /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined
  return decoded?.length === KEY_BYTES ? decoded : undefined
}

/** format ‖ salt ‖ nonce ‖ ciphertext ‖ tag; each sealing derives a key of its own. */
export function localClusterKey(key: Buffer, random: Random): ClusterKey {
  const derived = (salt: Buffer): Buffer => deriveKey(key, 'cluster key', Buffer.of(FORMAT), salt)
  return {
    async seal(secret, boundTo) {
      const [salt, nonce] = [random.bytes(SALT_BYTES), random.bytes(NONCE_BYTES)]
      const cipher = createCipheriv(CIPHER, derived(salt), nonce, CIPHER_OPTIONS)
      cipher.setAAD(Buffer.from(boundTo, 'utf8'))
      return Buffer.concat([Buffer.of(FORMAT), salt, nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
    },
    async open(sealed, boundTo) {
      if (sealed.length < HEADER_BYTES + TAG_BYTES || sealed[0] !== FORMAT) throw new WrongClusterKey()
      const salt = sealed.subarray(1, 1 + SALT_BYTES)
      const nonce = sealed.subarray(1 + SALT_BYTES, HEADER_BYTES)
      const decipher = createDecipheriv(CIPHER, derived(salt), nonce, CIPHER_OPTIONS)
      decipher.setAAD(Buffer.from(boundTo, 'utf8'))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()])
      } catch {
        throw new WrongClusterKey()
      }
    },
  }
}
