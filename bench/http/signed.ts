/** Requests as bytes, signed once and sent as often as wanted: a load generator has no time to sign. */
import { createHash, createHmac } from 'node:crypto'

export const KEYS = { accessKey: 'AKBENCH', secretKey: 'secret-of-the-benchmark' }
export const REGION = 'us-east-1'

const CHUNK_BYTES = 64 * 1024
const EMPTY_SHA = createHash('sha256').digest('hex')
const PRESIGNED_SECONDS = 86_400

const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')

export interface Asked {
  readonly method: string
  /** Percent-encoded already; a query in order of its names. */
  readonly path: string
  readonly query?: string
  readonly body?: Buffer
  /** The signature covers the digest of the body by default. SDKs sign no body over TLS, and chunks without it. */
  readonly payload?: 'signed' | 'unsigned' | 'chunks'
  /** Signed in the query instead of a header; for requests without a body. */
  readonly isPresigned?: boolean
  /** Signed so many seconds earlier, up to the quarter of an hour for which a signature in a header is valid. */
  readonly secondsAgo?: number
}

/** The signature of one moment, for many texts. */
class Signer {
  readonly stamp: string
  readonly scope: string
  readonly credential: string
  readonly #key: Buffer | string

  constructor({ accessKey, secretKey }: typeof KEYS, secondsAgo = 0) {
    const at = new Date(Date.now() - secondsAgo * 1_000)
    this.stamp = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
    this.scope = [this.stamp.slice(0, 8), REGION, 's3', 'aws4_request'].join('/')
    this.credential = `${accessKey}/${this.scope}`
    this.#key = this.scope.split('/').reduce<Buffer | string>((key, word) => mac(key, word), `AWS4${secretKey}`)
  }

  request(canonical: readonly string[]): string {
    return this.#sign(['AWS4-HMAC-SHA256', this.stamp, this.scope, sha(canonical.join('\n'))])
  }

  chunk(previous: string, bytes: Buffer): string {
    return this.#sign(['AWS4-HMAC-SHA256-PAYLOAD', this.stamp, this.scope, previous, EMPTY_SHA, sha(bytes)])
  }

  #sign(lines: readonly string[]): string {
    return mac(this.#key, lines.join('\n')).toString('hex')
  }
}

/** The body as chunks, each signed with the signature before it, and an empty one at the end. */
function signedChunks(signer: Signer, seed: string, body: Buffer): Buffer {
  const pieces: Buffer[] = []
  let signature = seed
  const add = (bytes: Buffer): void => {
    signature = signer.chunk(signature, bytes)
    pieces.push(
      Buffer.from(`${bytes.length.toString(16)};chunk-signature=${signature}\r\n`),
      bytes,
      Buffer.from('\r\n'),
    )
  }
  for (let at = 0; at < body.length; at += CHUNK_BYTES) add(body.subarray(at, at + CHUNK_BYTES))
  add(Buffer.alloc(0))
  return Buffer.concat(pieces)
}

const HASHES = {
  signed: sha,
  unsigned: () => 'UNSIGNED-PAYLOAD',
  chunks: () => 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
} as const

/** As an S3 client sends it, everything signed. */
export function signedRequest(host: string, asked: Asked, keys = KEYS): Buffer {
  if (asked.isPresigned === true) {
    return Buffer.from(`${asked.method} ${presignedPath(host, asked, keys)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  }
  const { method, path, query = '', body = Buffer.alloc(0), payload = 'signed' } = asked
  const signer = new Signer(keys, asked.secondsAgo)
  const hash = HASHES[payload](body)
  const headers = [
    ...(method === 'POST' ? [`content-md5:${createHash('md5').update(body).digest('base64')}`] : []),
    `host:${host}`,
    `x-amz-content-sha256:${hash}`,
    `x-amz-date:${signer.stamp}`,
    ...(payload === 'chunks' ? [`x-amz-decoded-content-length:${body.length}`] : []),
  ]
  const names = headers.map(header => header.split(':')[0]!).join(';')
  const signature = signer.request([method, path, query, ...headers, '', names, hash])
  const sent = payload === 'chunks' ? signedChunks(signer, signature, body) : body
  const head = [
    `${method} ${path}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    ...headers,
    `authorization: AWS4-HMAC-SHA256 Credential=${signer.credential}, SignedHeaders=${names}, Signature=${signature}`,
    ...(payload === 'chunks' ? ['content-encoding: aws-chunked'] : []),
    ...(method === 'PUT' || method === 'POST' ? [`content-length: ${sent.length}`] : []),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), sent])
}

/** The path and query of a presigned request. */
export function presignedPath(host: string, { method, path, query = '' }: Asked, keys = KEYS): string {
  const signer = new Signer(keys)
  const signed = [
    ...query.split('&').filter(Boolean),
    'X-Amz-Algorithm=AWS4-HMAC-SHA256',
    `X-Amz-Credential=${encodeURIComponent(signer.credential)}`,
    `X-Amz-Date=${signer.stamp}`,
    `X-Amz-Expires=${PRESIGNED_SECONDS}`,
    'X-Amz-SignedHeaders=host',
  ]
    .toSorted()
    .join('&')
  const signature = signer.request([method, path, signed, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'])
  return `${path}?${signed}&X-Amz-Signature=${signature}`
}
