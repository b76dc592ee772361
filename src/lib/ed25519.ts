/** Ed25519 with raw 32-byte keys. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'

const RAW_BYTES = 32
/** DER prefixes of such keys (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export interface Ed25519Key {
  readonly publicKey: Buffer
  sign(text: string): Buffer
}

export function ed25519Key(seed: Buffer): Ed25519Key {
  if (seed.length !== RAW_BYTES) throw new RangeError(`an Ed25519 seed must have ${RAW_BYTES} bytes`)
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-RAW_BYTES)
  return { publicKey, sign: text => sign(null, Buffer.from(text, 'utf8'), key) }
}

export function verifyEd25519(publicKey: Buffer, text: string, signature: Buffer): boolean {
  if (publicKey.length !== RAW_BYTES) return false
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, publicKey]), format: 'der', type: 'spki' })
  return verify(null, Buffer.from(text, 'utf8'), key, signature)
}
