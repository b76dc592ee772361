/** The encryption that a request asks for: with the service's key, a named key, or a customer key (R22–R25). */

import { createHash, timingSafeEqual } from 'node:crypto'
import { ParseCache } from '../../lib/parse-cache.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import { Fault } from '../../model/faults.ts'
import type { Upload } from '../../model/upload.ts'
import { DEFAULT_KEY_NAME } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import {
  type BucketEncryption,
  fitsHeader,
  KEY_ID_CHARACTERS_MAX,
  readBucketEncryption,
} from '../../rules/documents/encryption.ts'
import type { EncryptionInfo, KeyChoice } from '../../store/keys/content-keys.ts'
import type { Header, OperationContext, RequestView } from '../context.ts'
import type { Decoder } from '../operation.ts'
import { invalidArgument } from '../operation.ts'

export interface CustomerKey {
  readonly key: Buffer
  /** Base64, as sent. */
  readonly md5: string
}

const KEY_BYTES = 32
const MD5_BYTES = 16

function base64(value: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(value, 'base64')
  return bytes.length === length && bytes.toString('base64') === value ? bytes : undefined
}

/** Faults repeat neither the key nor its digest: responses are logged. */
const invalidHeader = (name: string, reason: string): Fault =>
  new Fault('InvalidArgument', { ArgumentName: headerName(name.slice(1)), reason })

interface HeaderNames {
  readonly algorithmName: string
  readonly keyName: string
  readonly md5Name: string
}

const namesFrom = (start: string): HeaderNames => ({
  algorithmName: `${start}server-side-encryption-customer-algorithm`,
  keyName: `${start}server-side-encryption-customer-key`,
  md5Name: `${start}server-side-encryption-customer-key-md5`,
})

function readCustomerKey(request: RequestView, names: HeaderNames): CustomerKey | undefined {
  const { algorithmName, keyName, md5Name } = names
  const algorithm = request.header(algorithmName)
  const sentKey = request.header(keyName)
  const sentMd5 = request.header(md5Name)
  if (algorithm === undefined && sentKey === undefined && sentMd5 === undefined) return undefined
  if (algorithm === undefined)
    throw invalidHeader(algorithmName, 'The encryption algorithm of the customer key is missing.')
  if (sentKey === undefined) throw invalidHeader(keyName, 'The customer key is missing.')
  if (sentMd5 === undefined) throw invalidHeader(md5Name, 'The MD5 of the customer key is missing.')
  if (algorithm !== 'AES256') throw invalidHeader(algorithmName, 'The encryption algorithm must be AES256.')
  const key = base64(sentKey, KEY_BYTES)
  if (key === undefined) throw invalidHeader(keyName, 'The customer key must be 32 bytes in base64.')
  const md5 = base64(sentMd5, MD5_BYTES)
  if (md5 === undefined || !timingSafeEqual(md5, createHash('md5').update(key).digest())) {
    throw invalidHeader(md5Name, 'The MD5 of the customer key does not match the key.')
  }
  return { key, md5: sentMd5 }
}

/** D24, A70. The operator may limit customer keys to TLS. */
export function refuseCustomerKeys(request: RequestView): void {
  const sent = [':', ':copy-source-'].some(
    start => request.headersUnder(`${start}server-side-encryption-customer-`).length > 0,
  )
  if (!sent) return
  const reason = 'Requests specifying Server Side Encryption with Customer provided keys must be made over HTTPS.'
  throw new Fault('InvalidRequest', { reason })
}

const OF_SOURCE = namesFrom(':copy-source-')
const OF_TARGET = namesFrom(':')

export const sourceCustomerKey: Decoder<CustomerKey | undefined> = {
  decode: request => readCustomerKey(request, OF_SOURCE),
}

export const customerKey: Decoder<CustomerKey | undefined> = { decode: request => readCustomerKey(request, OF_TARGET) }

const CONTEXT_BYTES_MAX = 8 * 1024

const ALGORITHM = ':server-side-encryption'
/** Neutral values; each dialect has its own spelling. */
const NAMED = 'verenc'
const DUAL_LAYER = 'verenc+dsse'

const KEY_NAME = ':server-side-encryption-kms-key-id'
const CONTEXT = ':server-side-encryption-context'
const BUCKET_KEY = ':server-side-encryption-bucket-key-enabled'

const shownName = (name: string): string => headerName(name.slice(1))

/** R23. Base64 of a JSON object of strings; stored as bytes, so that it is returned as sent. */
function contextOf(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64')
  if (bytes.length > CONTEXT_BYTES_MAX) {
    throw new Fault('InvalidRequest', { reason: `The value of ${shownName(CONTEXT)} is too long.` })
  }
  if (bytes.toString('base64') !== value || !isTextMap(bytes)) {
    throw invalidArgument(
      shownName(CONTEXT),
      value,
      'The encryption context must be a base64-encoded JSON object of strings.',
    )
  }
  return bytes
}

function isTextMap(bytes: Buffer): boolean {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false
    return Object.values(parsed).every(value => typeof value === 'string')
  } catch {
    return false
  }
}

function keyNameOf(value: string): string {
  if (value !== '' && value.length <= KEY_ID_CHARACTERS_MAX && Buffer.byteLength(value) <= KEY_ID_CHARACTERS_MAX) {
    return value
  }
  throw new Fault('InvalidRequest', { reason: `The value of ${shownName(KEY_NAME)} is empty or too long.` })
}

/** R24. */
function bucketKeyOf(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined
  if (value !== 'true' && value !== 'false') throw invalidArgument(shownName(BUCKET_KEY), value)
  return value === 'true'
}

/** R22. The server-side encryption that the headers ask for, if any. */
function serverSide(request: RequestView): KeyChoice | undefined {
  const algorithm = request.header(ALGORITHM)
  const name = request.header(KEY_NAME)
  const context = request.header(CONTEXT)
  const bucketKey = bucketKeyOf(request.header(BUCKET_KEY))
  if (algorithm === NAMED || algorithm === DUAL_LAYER) {
    return {
      by: 'named',
      name: name === undefined ? DEFAULT_KEY_NAME : keyNameOf(name),
      context: context === undefined ? undefined : contextOf(context),
      bucketKey: bucketKey === true,
      ...(algorithm === DUAL_LAYER ? { isDouble: true } : {}),
    }
  }
  if (algorithm !== undefined && algorithm !== 'AES256') throw unknownAlgorithm(algorithm)
  for (const [header, value] of [
    [KEY_NAME, name],
    [CONTEXT, context],
  ] as const) {
    if (value !== undefined)
      throw invalidArgument(
        shownName(header),
        value,
        `${shownName(ALGORITHM)} must name an algorithm with a named key.`,
      )
  }
  return algorithm === undefined ? undefined : { by: 'service' }
}

const unknownAlgorithm = (algorithm: string): Fault =>
  invalidArgument(shownName(ALGORITHM), algorithm, 'The encryption method specified is not supported')

/** Reads accept no encryption headers: a client that sends them expects something that will not happen. */
export const noEncryption: Decoder<undefined> = {
  decode(request) {
    for (const name of [ALGORITHM, KEY_NAME, CONTEXT]) {
      const value = request.header(name)
      if (value === undefined) continue
      throw invalidArgument(
        shownName(name),
        value,
        `The header ${shownName(name)} is not supported for this operation.`,
      )
    }
    return undefined
  },
}

/** R25. One of the two kinds, never both. */
export const requestedEncryption: Decoder<KeyChoice | undefined> = {
  decode(request) {
    const own = customerKey.decode(request)
    const service = serverSide(request)
    if (own === undefined) return service
    if (service !== undefined) {
      const reason = 'Server Side Encryption with Customer provided key is incompatible with the encryption method.'
      throw invalidArgument(shownName(ALGORITHM), request.header(ALGORITHM) ?? '', reason)
    }
    return { by: 'customer', ...own }
  },
}

/**
 * R55, R68. The requested encryption, else the bucket's default. A bucket may refuse customer keys, which creation of
 * an upload reports as a bad request.
 */
export async function effectiveEncryption(
  ctx: Pick<OperationContext, 'bucket' | 'store'> & { readonly request?: RequestView },
  requested: KeyChoice | undefined,
  blocked: 'AccessDenied' | 'InvalidRequest' = 'AccessDenied',
): Promise<KeyChoice | undefined> {
  const rule = await bucketEncryption(ctx)
  if (rule === undefined) return requested
  if (requested?.by === 'customer' && rule.blocksCustomerKeys) {
    throw new Fault(blocked, { reason: 'The bucket does not accept customer-provided keys.' })
  }
  if (requested !== undefined || rule.algorithm === undefined) return requested
  if (rule.algorithm === 'AES256') return { by: 'service' }
  return {
    by: 'named',
    name: rule.keyId ?? DEFAULT_KEY_NAME,
    context: undefined,
    bucketKey: bucketKeyOf(ctx.request?.header(BUCKET_KEY)) ?? rule.bucketKey === true,
    ...(rule.isDouble ? { isDouble: true } : {}),
  }
}

/** Cached, because every write to such a bucket needs it. */
const encryptionRules = new ParseCache(text => readBucketEncryption(parseXml(text)))

async function bucketEncryption({
  bucket,
  store,
}: Pick<OperationContext, 'bucket' | 'store'>): Promise<BucketEncryption | undefined> {
  if (!bucket.documents.includes('encryption')) return undefined
  const text = await store.documents.get(bucket.name, 'encryption')
  return text === undefined ? undefined : encryptionRules.get(text)
}

/** Headers about the encryption of an object or upload. Only the response to its creation includes the context. */
export function encryptionHeaders({ encryption }: { readonly encryption: EncryptionInfo | undefined }): Header[] {
  if (encryption === undefined) return []
  switch (encryption.by) {
    case 'service':
      return [[ALGORITHM, 'AES256']]
    case 'named':
      return [
        [ALGORITHM, encryption.isDouble === true ? DUAL_LAYER : NAMED],
        // Buckets accepted any name once, also one that no header can carry.
        [KEY_NAME, fitsHeader(encryption.keyName!) ? encryption.keyName : undefined],
        [BUCKET_KEY, encryption.bucketKey ? 'true' : undefined],
      ]
    case 'customer':
      return [
        [`${ALGORITHM}-customer-algorithm`, 'AES256'],
        [`${ALGORITHM}-customer-key-md5`, encryption.customerKeyMd5],
      ]
  }
}

/** R66, R89. */
export const contextHeader = ({ encryption }: { readonly encryption: EncryptionInfo | undefined }): Header => [
  CONTEXT,
  encryption?.context?.toString('base64'),
]

const mismatch = (reason: string): Fault => new Fault('InvalidRequest', { reason })

/** R86. A part or completion must use the customer key given at creation. */
export function checkUploadKey({ encryption }: Upload, key: CustomerKey | undefined, isNeeded: boolean): void {
  if (encryption?.by !== 'customer') {
    if (key === undefined) return
    throw mismatch('The upload was not created with a customer-provided key.')
  }
  if (key === undefined) {
    if (!isNeeded) return
    throw mismatch('The upload was created with a customer-provided key, which the request must supply.')
  }
  if (key.md5 !== encryption.customerKeyMd5) {
    throw mismatch('The provided encryption parameters did not match the ones used originally.')
  }
}

/** R87. Encryption headers of a part or completion must not contradict those at creation. */
export function checkSameEncryption({ encryption }: Upload, request: RequestView): void {
  const fixed = new Map(encryptionHeaders({ encryption }))
  fixed.set(...contextHeader({ encryption }))
  for (const name of [ALGORITHM, KEY_NAME, CONTEXT]) {
    const value = request.header(name)
    if (value !== undefined && value !== fixed.get(name)) {
      throw mismatch(`The value of ${shownName(name)} differs from the value given when the upload was created.`)
    }
  }
}
