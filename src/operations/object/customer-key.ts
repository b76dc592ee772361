/** R25. A key that the customer brings: three headers that come together or not at all. It is used and kept nowhere. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Fault } from '../../model/faults.ts'
import { headerName } from '../../rules/access/names.ts'
import type { Decoder, RequestView } from '../operation.ts'

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

/** Neither the key nor its digest is repeated in what is said about them: answers are logged. */
const wrong = (name: string, reason: string): Fault =>
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
  if (algorithm === undefined) throw wrong(algorithmName, 'A customer key needs its encryption algorithm.')
  if (sentKey === undefined) throw wrong(keyName, 'The customer key is missing.')
  if (sentMd5 === undefined) throw wrong(md5Name, 'The MD5 of the customer key is missing.')
  if (algorithm !== 'AES256') throw wrong(algorithmName, 'The encryption algorithm must be AES256.')
  const key = base64(sentKey, KEY_BYTES)
  if (key === undefined) throw wrong(keyName, 'The customer key must be 32 bytes in base64.')
  const md5 = base64(sentMd5, MD5_BYTES)
  if (md5 === undefined || !timingSafeEqual(md5, createHash('md5').update(key).digest())) {
    throw wrong(md5Name, 'The MD5 of the customer key does not match the key.')
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

/** The key of a copy's source. */
export const sourceCustomerKey: Decoder<CustomerKey | undefined> = {
  decode: request => readCustomerKey(request, OF_SOURCE),
}

/** The key of what the request reads or writes. */
export const customerKey: Decoder<CustomerKey | undefined> = { decode: request => readCustomerKey(request, OF_TARGET) }
