/**
 * The two signature schemes. They differ in these words and in nothing else; the edge decides which one a request
 * speaks and hands it in.
 */
import { headerValue, type RawRequest, splitTarget } from '../http/raw-request.ts'

export interface Scheme {
  readonly name: 'svc' | 's3'
  readonly algorithm: string
  /** Stands before the secret when a signing key is derived. */
  readonly keyPrefix: string
  readonly service: string
  readonly terminator: string
  /** What dialect headers, form fields and trailers begin with, up to the second hyphen. */
  readonly headerPrefix: string
  readonly queryPrefix: string
  /** Finds in a query what only a presigned one has, be it whole or not. */
  readonly queryMarks: RegExp
  /** The content coding that announces a body in chunks. */
  readonly chunkEncoding: string
  /** Values of the content hash header that announce signed chunks. */
  readonly signedChunks: string
  readonly signedChunksTrailer: string
  /** First lines of what the signature of a chunk and of the trailers are made over. */
  readonly chunkAlgorithm: string
  readonly trailerAlgorithm: string
}

export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD'
export const UNSIGNED_CHUNKS_TRAILER = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

function scheme(words: {
  name: Scheme['name']
  version: string
  service: string
  vendor: string
  token: string
  chunkEncoding: string
}): Scheme {
  const algorithm = `${words.version}-HMAC-SHA256`
  return {
    name: words.name,
    algorithm,
    keyPrefix: words.version,
    service: words.service,
    terminator: `${words.version.toLowerCase()}_request`,
    headerPrefix: `x-${words.token}-`,
    queryPrefix: `X-${words.vendor}-`,
    queryMarks: new RegExp(`(^|&)X-${words.vendor}-(Algorithm|Credential|Signature)=`),
    chunkEncoding: words.chunkEncoding,
    signedChunks: `STREAMING-${algorithm}-PAYLOAD`,
    signedChunksTrailer: `STREAMING-${algorithm}-PAYLOAD-TRAILER`,
    chunkAlgorithm: `${algorithm}-PAYLOAD`,
    trailerAlgorithm: `${algorithm}-TRAILER`,
  }
}

/** In S3 a plus in a query is a space, as forms write it; in svc it is a plus, as everywhere else in an address. */
export const queryIn = ({ name }: Scheme, query: string): string =>
  name === 's3' && query.includes('+') ? query.replaceAll('+', '%20') : query

export const SCHEMES: { readonly svc: Scheme; readonly s3: Scheme } = {
  svc: scheme({
    name: 'svc',
    version: 'SVC4',
    service: 'svc',
    vendor: 'Svc',
    token: 'svc',
    chunkEncoding: 'svc-chunked',
  }),
  s3: scheme({
    name: 's3',
    version: 'AWS4',
    service: 's3',
    vendor: 'Amz',
    token: 'amz',
    chunkEncoding: 'aws-chunked',
  }),
}

const ALL = [SCHEMES.svc, SCHEMES.s3]

const ESCAPED_NAME = /(^|&)[^=&]*%/
const EACH_NAME = /(^|&)[^=&]*/g
const ESCAPED_LETTER = /%(2[dD]|[46][1-9a-fA-F]|[57][0-9aA])/g

/** With letters in names as they are, however they were sent: a signature is the same for all spellings. */
function withPlainNames(query: string): string {
  if (!ESCAPED_NAME.test(query)) return query
  const plain = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  return query.replace(EACH_NAME, name => name.replace(ESCAPED_LETTER, plain))
}

/** Whether a query carries a signature of this scheme, be it whole or not. */
export const isSignedIn = (query: string, { queryMarks }: Scheme): boolean => queryMarks.test(withPlainNames(query))

/** The scheme that a request's signature names; undefined when it carries none that we know. */
export function schemeNamedBy(request: RawRequest): Scheme | undefined {
  const authorization = headerValue(request, 'authorization')
  if (authorization !== undefined) for (const one of ALL) if (authorization.startsWith(one.algorithm)) return one
  const { query } = splitTarget(request.target)
  return query === '' ? undefined : ALL.find(one => isSignedIn(query, one))
}
