/** Inputs and elements that the operations on a multipart upload share. */
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import type { Part, Upload } from '../../model/upload.ts'
import type { Checksum } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import { checksumAlgorithm, type UploadChecksum } from '../../rules/checksum.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { UploadName } from '../../store/uploads/upload-record.ts'
import type { OperationContext } from '../context.ts'
import { checkEmptyBody } from '../integrity.ts'
import type { Decoder } from '../operation.ts'
import { invalidArgument, invalidPartNumber } from '../operation.ts'

export const uploadId: Decoder<string> = { decode: request => request.query('uploadId') ?? '' }

export const requiredPartNumber: Decoder<number> = {
  decode(request) {
    const value = request.query('partNumber') ?? ''
    if (/^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= LIMITS.partNumberMax) return Number(value)
    throw invalidPartNumber(value)
  },
}

export const uploadName = ({ target }: OperationContext, id: string): UploadName => ({
  bucket: target.bucket,
  key: target.key,
  uploadId: id,
})

/** The checksum declared at creation. */
export function declaredChecksum({ checksum }: Upload): UploadChecksum | undefined {
  return checksum === undefined ? undefined : { ...checksum, algorithm: checksumAlgorithm(checksum.algorithm) }
}

export const checksumHeader = (algorithm: string): string => `:checksum-${algorithm.toLowerCase()}`

export function writeChecksum(to: XmlWriter, checksum: Checksum | undefined): void {
  if (checksum === undefined) return
  to.leaf(`Checksum${checksum.algorithm}`, checksum.value)
  to.leaf('ChecksumType', checksum.type)
}

/** Parts have checksums only where the upload declared an algorithm. */
export function writePartChecksum(to: XmlWriter, upload: Upload, part: Part): void {
  if (upload.checksum !== undefined) to.leaf(`Checksum${upload.checksum.algorithm}`, part.checksum)
}

/** The initiator of an upload: a user of an account, or the account itself. */
export function writeInitiator(to: XmlWriter, ctx: OperationContext, { initiator }: Upload): void {
  const [account = '', user] = initiator.split(/\/(.*)/s)
  to.open('Initiator')
  to.leaf('ID', initiator)
  to.leaf('DisplayName', user ?? ctx.accounts.byCanonicalId(account)?.displayName ?? '')
  to.close()
}

/** R42, R62. For requests that are complete in their headers; reads to the end, where the signed hash is verified. */
export async function refuseBody(ctx: OperationContext): Promise<void> {
  const refused = (): Fault => new Fault('InvalidRequest', { reason: 'This request does not support content' })
  if ((ctx.body.length ?? 0) > 0) throw refused()
  for await (const chunk of ctx.body.stream) if (chunk.length > 0) throw refused()
  checkEmptyBody(ctx.request)
}

/** R65. Says whether something is copied from the source or replaced. */
export const directive = (name: string, fault: 'InvalidArgument' | 'InvalidRequest'): Decoder<'COPY' | 'REPLACE'> => ({
  decode(request) {
    const value = request.header(`:${name}`) ?? 'COPY'
    if (value === 'COPY' || value === 'REPLACE') return value
    if (fault === 'InvalidArgument')
      throw invalidArgument(headerName(name), value, `Unknown ${name.replace('-', ' ')}.`)
    throw new Fault('InvalidRequest', { reason: `The value of ${headerName(name)} must be COPY or REPLACE.` })
  },
})
