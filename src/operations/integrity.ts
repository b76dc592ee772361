/**
 * Integrity checks of a body: Content-MD5, or a checksum in a header or trailer. Verified while the body streams.
 */

import { createHash } from 'node:crypto'
import { Fault } from '../model/faults.ts'
import { headerName } from '../rules/access/names.ts'
import {
  type ChecksumAlgorithm,
  checkContentMd5,
  checkExpectedChecksum,
  checksumAlgorithm,
  decodeContentMd5,
  moreThanOneChecksum,
  parseExpectedChecksum,
  type UploadChecksum,
  wholeChecksum,
} from '../rules/checksum.ts'
import { bodyChecksum } from '../store/content/body-checksum.ts'
import type { BodyInspector } from '../store/content/ingest.ts'
import type { IncomingBody, OperationContext, RequestView } from './context.ts'
import type { Operation } from './operation.ts'

/** Headers under `checksum-` that carry no checksum. */
const NOT_VALUES: ReadonlySet<string> = new Set(['algorithm', 'type', 'mode'])
const CHECKSUM_PREFIX = ':checksum-'

/** The checksums in a request's headers, by the name of their algorithm. */
export const sentChecksums = (request: RequestView): readonly (readonly [name: string, value: string])[] =>
  request.headersUnder(CHECKSUM_PREFIX).filter(([name]) => !NOT_VALUES.has(name))

interface IntegrityChecks extends BodyInspector {
  /** The client sent a digest or checksum of the body. */
  readonly proven: boolean
}

interface DeclaredChecksums {
  readonly md5: Buffer | undefined
  readonly expected: ReturnType<typeof parseExpectedChecksum>
  /** The trailer that will carry a checksum. */
  readonly trailer: string | undefined
  readonly algorithm: ChecksumAlgorithm | undefined
  /** The declared algorithm differs from that of the checksum sent. */
  readonly isMismatch: boolean
}

function noChecksumSent(): Fault {
  const [algorithm, value, trailer] = ['sdk-checksum-algorithm', 'checksum-', 'trailer'].map(headerName)
  const reason = `${algorithm} specified, but no corresponding ${value}* or ${trailer} headers were found.`
  return new Fault('InvalidRequest', { reason })
}

/** R104, R112. At most one checksum, by header or trailer. */
function declaredChecksums(request: RequestView, { declaredTrailers: trailers }: IncomingBody): DeclaredChecksums {
  const md5 = request.header('content-md5')
  const wanted = md5 === undefined ? undefined : decodeContentMd5(md5)
  const sent = sentChecksums(request)
  const expected = sent.length === 0 ? undefined : parseExpectedChecksum(sent, false)
  const [trailer, another] = trailers.filter(name => name.startsWith(CHECKSUM_PREFIX))
  const sdk = request.header(':sdk-checksum-algorithm')
  const declared = sdk === undefined ? undefined : checksumAlgorithm(sdk)
  if (declared !== undefined && expected === undefined && trailer === undefined) throw noChecksumSent()
  const late = trailer === undefined ? undefined : checksumAlgorithm(trailer.slice(CHECKSUM_PREFIX.length))
  const algorithm = expected?.algorithm ?? late
  if (another !== undefined || (late !== undefined && late !== algorithm)) throw moreThanOneChecksum()
  return { md5: wanted, expected, trailer, algorithm, isMismatch: declared !== undefined && declared !== algorithm }
}

/** R112. A declared checksum must be sent, by the declared algorithm. */
export function checkIntegrityHeaders({
  request,
  body,
  behavior,
}: Pick<OperationContext, 'request' | 'body' | 'behavior'>): void {
  if (!declaredChecksums(request, body).isMismatch) return
  if (behavior.checksumMismatch === 'InvalidRequest') throw noChecksumSent()
  const reason = `The checksum does not use the algorithm that ${headerName('sdk-checksum-algorithm')} declares.`
  throw new Fault('BadDigest', { reason })
}

/** For a part, S3 uses the algorithm chosen at creation and ignores the one declared in the request. */
export function checkPartIntegrityHeaders(ctx: Pick<OperationContext, 'request' | 'body' | 'behavior'>): void {
  if (ctx.behavior.checksumMismatch === 'InvalidRequest') checkIntegrityHeaders(ctx)
  else declaredChecksums(ctx.request, ctx.body)
}

/** R80. The object's checksum is computed from those the client sent, so each part needs one. */
export function requirePartChecksum(
  { request, body }: Pick<OperationContext, 'request' | 'body'>,
  of: UploadChecksum,
): void {
  if (of.type !== 'COMPOSITE' || declaredChecksums(request, body).algorithm !== undefined) return
  throw algorithmMismatch(of.algorithm, 'null')
}

function algorithmMismatch(declared: ChecksumAlgorithm, sent: string): Fault {
  const want = declared.toLowerCase()
  const reason = `Checksum Type mismatch occurred, expected checksum Type: ${want}, actual checksum Type: ${sent}`
  return new Fault('InvalidRequest', { reason })
}

/**
 * R103, R104, R112, D12. The checksum that the client sent is computed while streaming. An algorithm declared at the
 * creation of an upload is always computed, and no other may be sent.
 */
export function integrityChecks(
  request: RequestView,
  body: IncomingBody,
  declared?: ChecksumAlgorithm,
): IntegrityChecks {
  const { md5: wantedMd5, expected, trailer, algorithm: sent } = declaredChecksums(request, body)
  if (declared !== undefined && sent !== undefined && sent !== declared) {
    throw algorithmMismatch(declared, sent.toLowerCase())
  }
  const algorithm = sent ?? declared
  const sum = algorithm === undefined ? undefined : bodyChecksum(algorithm)
  return {
    proven: wantedMd5 !== undefined || sent !== undefined,
    update: chunk => sum?.update(chunk),
    abandon: () => sum?.abandon(),
    async end(computedMd5) {
      if (wantedMd5 !== undefined) checkContentMd5(wantedMd5, computedMd5)
      if (sum === undefined || algorithm === undefined) return undefined
      const digest = await sum.digest()
      const inTrailer = trailer === undefined ? undefined : body.trailers().get(trailer)
      const second =
        inTrailer === undefined ? undefined : parseExpectedChecksum([[algorithm.toLowerCase(), inTrailer]], false)
      if (expected !== undefined) checkExpectedChecksum(expected, digest)
      if (second !== undefined) checkExpectedChecksum(second, digest)
      return wholeChecksum(algorithm, digest)
    },
  }
}

const UNREAD_BYTES_MAX = 2 ** 20
const EMPTY_MD5 = createHash('md5').digest()

/** R104, for a request without a body. */
export function checkEmptyBody(request: RequestView): void {
  const contentMd5 = request.header('content-md5')
  if (contentMd5 !== undefined) checkContentMd5(decodeContentMd5(contentMd5), EMPTY_MD5)
}

/**
 * Reads a body that the operation ignores, where its hash or Content-MD5 could turn out wrong. Most such requests have
 * no body; the body of a GET or HEAD is not read.
 */
export function checkUnreadBody(
  { match: { method } }: Operation,
  request: RequestView,
  body: IncomingBody,
): Promise<void> | undefined {
  if (method === 'PUT' || method === 'POST') return undefined
  const isRead = method !== 'DELETE'
  if (isRead && (body.length ?? 0) > 0) return undefined
  const contentMd5 = isRead ? undefined : request.header('content-md5')
  if (contentMd5 === undefined) return body.mayDiffer ? drainBody(body, undefined) : undefined
  return drainBody(body, decodeContentMd5(contentMd5))
}

async function drainBody({ stream, length }: IncomingBody, sent: Buffer | undefined): Promise<void> {
  const tooLong = new Fault('MaxMessageLengthExceeded', { MaxMessageLengthBytes: UNREAD_BYTES_MAX })
  if ((length ?? 0) > UNREAD_BYTES_MAX) throw tooLong
  const md5 = createHash('md5')
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > UNREAD_BYTES_MAX) throw tooLong
    md5.update(chunk)
  }
  if (sent !== undefined) checkContentMd5(sent, md5.digest())
}
