/**
 * The two signature schemes. They differ only in these names; the edge detects which one a request uses and passes it
 * in.
 */
import { headerValue, type RawRequest, splitTarget } from '../http/raw-request.ts'

export interface Scheme {
  readonly name: 'svc' | 's3'
  readonly algorithm: string
  /** Prefix of the secret in the derivation of a signing key. */
  readonly keyPrefix: string
  readonly service: string
  readonly terminator: string
  /** Prefix of the dialect's headers, form fields and trailers, up to the second hyphen. */
  readonly headerPrefix: string
  readonly queryPrefix: string
  /** Matches a query with any parameter of a signature, complete or not. */
  readonly queryMarks: RegExp
  /** The content coding that announces a body in chunks. */
  readonly chunkEncoding: string
  /** Values of the content hash header that announce signed chunks. */
  readonly signedChunks: string
  readonly signedChunksTrailer: string
  /** First lines of the strings to sign of chunks and trailers. */
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

/** In S3 a plus in a query is a space, as in forms; in svc it is a plus, as in the rest of a URL. */
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

/** Unescapes letters in parameter names: a signature is the same for all spellings. */
function withPlainNames(query: string): string {
  const plain = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  return query.replace(EACH_NAME, name => name.replace(ESCAPED_LETTER, plain))
}

/** Whether a query has any part of a signature of this scheme. */
export const isSignedIn = (query: string, { queryMarks }: Scheme): boolean =>
  queryMarks.test(query) || (ESCAPED_NAME.test(query) && queryMarks.test(withPlainNames(query)))

/** The scheme of a request's signature; undefined when it has none or an unknown one. */
export function schemeNamedBy(request: RawRequest): Scheme | undefined {
  const authorization = headerValue(request, 'authorization')
  if (authorization !== undefined) for (const one of ALL) if (authorization.startsWith(one.algorithm)) return one
  const { query } = splitTarget(request.target)
  return query === '' ? undefined : ALL.find(one => isSignedIn(query, one))
}
