/** Bodies that are documents: read whole, within a limit, and verified before they take effect. */
import { createHash } from 'node:crypto'
import { BadXml, type XmlNode } from '../lib/xml.ts'
import { parseXml } from '../lib/xml-reader.ts'
import { Fault, type FaultCode } from '../model/faults.ts'
import { headerName } from '../rules/access/names.ts'
import type { OperationContext } from './context.ts'
import { checkIntegrityHeaders, integrityChecks } from './integrity.ts'

const DOCUMENT_BYTES_MAX = 2 ** 20

export interface BodyRule {
  readonly bytesMax?: number | undefined
  /** R103. Requires Content-MD5 or a checksum, or a signed hash where the dialect accepts that. */
  readonly proof: 'none' | 'checksum' | 'signed hash'
}

/** Reads the body to its end, where its claims are verified. Empty without a body. */
export async function wholeBody(
  ctx: OperationContext,
  { proof, bytesMax = DOCUMENT_BYTES_MAX }: BodyRule,
): Promise<Buffer> {
  checkIntegrityHeaders(ctx)
  const claims = integrityChecks(ctx.request, ctx.body)
  const tooLong = (): Fault => new Fault('MaxMessageLengthExceeded', { MaxMessageLengthBytes: bytesMax })
  if ((ctx.body.length ?? 0) > bytesMax) throw tooLong()
  ctx.body.reserveMemory(ctx.body.length ?? bytesMax)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of ctx.body.stream) {
      size += chunk.length
      if (size > bytesMax) throw tooLong()
      chunks.push(chunk)
      const hashing = claims.update(chunk)
      if (hashing !== undefined) await hashing
    }
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    const bySignature = proof === 'signed hash' && ctx.behavior.signedHashProves && ctx.body.hashSigned
    if (proof !== 'none' && size > 0 && !claims.proven && !bySignature) {
      const reason = `Missing required header for this request: Content-MD5 OR ${headerName('checksum-')}*`
      throw new Fault('InvalidRequest', { reason })
    }
    await claims.end(createHash('md5').update(body).digest())
    return body
  } finally {
    claims.abandon()
  }
}

/** Parses the document; `fault` is thrown for one that is malformed or of another kind. */
export function readXml<T>(body: Buffer, read: (root: XmlNode) => T, fault: FaultCode = 'MalformedXML'): T {
  try {
    return read(parseXml(body))
  } catch (error) {
    if (error instanceof BadXml) throw new Fault(fault)
    throw error
  }
}
