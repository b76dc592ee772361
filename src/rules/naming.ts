import { Fault } from '../model/faults.ts'
import { LIMITS } from './limits.ts'

const LABELS = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const LONE_SURROGATE = /\p{Surrogate}/u
const ADDRESS = /^\d+\.\d+\.\d+\.\d+$/

/** G15. Bucket names are host labels: 3–63 of a–z, 0–9, dot and hyphen, and nothing that reads as an address. */
export function isBucketName(name: string): boolean {
  if (name.length < 3 || name.length > 63) return false
  if (!LABELS.test(name) || ADDRESS.test(name)) return false
  return !(name.startsWith('xn--') || name.endsWith('-s3alias') || name.endsWith('--ol-s3'))
}

/** A region is part of a signature's credential scope and is sent in headers. */
export const isRegionName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name)

export function checkBucketName(name: string): void {
  if (!isBucketName(name)) throw new Fault('InvalidBucketName', { BucketName: name })
}

/** R6. A key is 1–1024 bytes of well-formed UTF-8 without a zero byte; all other bytes are accepted. */
export function checkKey(key: string): void {
  if (isPlain(key)) return
  if (key.length === 0) throw new Fault('InvalidArgument', { ArgumentName: 'key' })
  const size = Buffer.byteLength(key)
  if (size > LIMITS.keyBytesMax) throw new Fault('KeyTooLongError', { Size: size, MaxSizeAllowed: LIMITS.keyBytesMax })
  if (key.includes('\0') || LONE_SURROGATE.test(key)) throw new Fault('InvalidURI')
}

/** Fast path for ASCII keys, whose length in bytes is their length in characters. */
function isPlain(key: string): boolean {
  if (key.length === 0 || key.length > LIMITS.keyBytesMax) return false
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code === 0 || code > 0x7f) return false
  }
  return true
}

export function isKey(key: string): boolean {
  return (
    key.length > 0 && Buffer.byteLength(key) <= LIMITS.keyBytesMax && !key.includes('\0') && !LONE_SURROGATE.test(key)
  )
}
