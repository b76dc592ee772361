/** Requests as bytes, signed once and sent as often as wanted: a load generator has no time to sign. */
import { createHash, createHmac } from 'node:crypto'

export const KEYS = { accessKey: 'AKBENCH', secretKey: 'secret-of-the-benchmark' }
export const REGION = 'us-east-1'

const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')

export interface Asked {
  readonly method: string
  /** Percent-encoded already; a query in order of its names. */
  readonly path: string
  readonly query?: string
  readonly body?: Buffer
  /** As SDKs send bodies over TLS: the signature does not cover them. */
  readonly isBodyUnsigned?: boolean
}

/** As an S3 client sends it: everything signed, the body's digest included unless the request says otherwise. */
export function signedRequest(host: string, asked: Asked): Buffer {
  const { method, path, query = '', body = Buffer.alloc(0), isBodyUnsigned = false } = asked
  const stamp = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = [stamp.slice(0, 8), REGION, 's3', 'aws4_request']
  const hash = isBodyUnsigned ? 'UNSIGNED-PAYLOAD' : sha(body)
  const headers = [`host:${host}`, `x-amz-content-sha256:${hash}`, `x-amz-date:${stamp}`]
  const names = 'host;x-amz-content-sha256;x-amz-date'
  const canonical = [method, path, query, ...headers, '', names, hash].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope.join('/'), sha(canonical)].join('\n')
  const key = scope.reduce<Buffer | string>((k, word) => mac(k, word), `AWS4${KEYS.secretKey}`)
  const credential = `Credential=${KEYS.accessKey}/${scope.join('/')}`
  const signature = mac(key, toSign).toString('hex')
  const head = [
    `${method} ${path}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    ...headers,
    `authorization: AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`,
    ...(method === 'PUT' ? [`content-length: ${body.length}`] : []),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}
