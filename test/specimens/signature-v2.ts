/** The client side of Signature Version 2, written from its specification and independently of the server. */
import { createHmac } from 'node:crypto'
import type { Pair } from './signing.ts'

export interface SignerV2 {
  readonly accessKey: string
  readonly secretKey: string
}

export interface LinkV2 {
  readonly method: string
  /** Signed in place of the path: it starts with the bucket, even if the request has it in the host. */
  readonly resource: string
  /** Seconds since 1970. */
  readonly expires: number | string
  /** Dialect headers, Content-MD5 and Content-Type; signed, and sent by the user of the URL. */
  readonly headers?: readonly Pair[]
}

export const signatureV2 = (secretKey: string, text: string): string =>
  createHmac('sha1', secretKey).update(text, 'utf8').digest('base64')

export function stringToSignV2({ method, resource, expires, headers = [] }: LinkV2): string {
  const named = (name: string): string => headers.find(([sent]) => sent.toLowerCase() === name)?.[1] ?? ''
  const own = headers.map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
  const amz = own.filter(([name]) => name.startsWith('x-amz-')).sort(([a], [b]) => (a < b ? -1 : 1))
  const lines = amz.map(([name, value]) => `${name}:${value}\n`).join('')
  return `${method}\n${named('content-md5')}\n${named('content-type')}\n${expires}\n${lines}${resource}`
}

/** The three parameters of a presigned URL. */
export function queryV2(signer: SignerV2, link: LinkV2): string {
  const signature = signatureV2(signer.secretKey, stringToSignV2(link))
  const pairs = { AWSAccessKeyId: signer.accessKey, Signature: signature, Expires: String(link.expires) }
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}
