import { createHash } from 'node:crypto'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import { algorithmOf, type Upload } from '../../model/upload.ts'
import type { Checksum, Version } from '../../model/version.ts'
import { headerName } from '../../rules/access/names.ts'
import type { Assembly } from '../../rules/assembly.ts'
import {
  type ChecksumType,
  checkContentMd5,
  checkExpectedChecksum,
  checksumType,
  decodeContentMd5,
  parseExpectedChecksum,
} from '../../rules/checksum.ts'
import { type Precondition, quotedEtag } from '../../rules/conditional-requests.ts'
import { checkListedChecksum, verifyCompletionChecksum } from '../../rules/part-checksums.ts'
import { streamChecksum } from '../../store/content/body-checksum.ts'
import { listDigest } from '../../store/uploads/completion.ts'
import type { UploadName } from '../../store/uploads/upload-record.ts'
import type { OperationContext } from '../context.ts'
import { sentChecksums } from '../integrity.ts'
import { newVersionHeaders } from '../object/attributes.ts'
import {
  type CustomerKey,
  checkSameEncryption,
  checkUploadKey,
  contextHeader,
  customerKey,
  encryptionHeaders,
} from '../object/encryption.ts'
import { maybe, type OperationResponse, operation, requires, writePrecondition } from '../operation.ts'
import { type ListedPartChecksum, readPartList } from './part-list.ts'
import { declaredChecksum, uploadId, uploadName, writeChecksum } from './uploads.ts'

const LIST_BYTES_MAX = 8 * 2 ** 20

/** The list of parts as sent. Checksum headers describe the object, so only Content-MD5 covers this body. */
interface SentList {
  /** Called once the upload is known to exist; throws if the list is malformed. */
  parts(): readonly ListedPartChecksum[]
}

async function sentList({ body, request }: OperationContext): Promise<SentList> {
  const md5 = request.header('content-md5')
  const wanted = md5 === undefined ? undefined : decodeContentMd5(md5)
  const tooLong = new Fault('MaxMessageLengthExceeded', { MaxMessageLengthBytes: LIST_BYTES_MAX })
  if ((body.length ?? 0) > LIST_BYTES_MAX) throw tooLong
  body.reserveMemory(body.length ?? LIST_BYTES_MAX)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.stream) {
    size += chunk.length
    if (size > LIST_BYTES_MAX) throw tooLong
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  return {
    parts() {
      if (wanted !== undefined) checkContentMd5(wanted, createHash('md5').update(bytes).digest())
      return readPartList(bytes)
    },
  }
}

interface CompletionInput {
  readonly precondition: Precondition
  readonly type: ChecksumType | undefined
  readonly expected: ReturnType<typeof parseExpectedChecksum>
  readonly objectSize: string | undefined
  readonly customerKey: CustomerKey | undefined
}

/** R82. The checksum type must be the one chosen at creation; dialects differ where none was. */
function checkType(ctx: OperationContext, upload: Upload, type: ChecksumType | undefined): void {
  if (type === undefined || type === upload.checksum?.type) return
  const { lateChecksumType } = ctx.behavior
  if (upload.checksum === undefined && lateChecksumType === 'BadDigest') return
  const mode = upload.checksum === undefined ? 'no' : `the ${upload.checksum.type}`
  const fixed = `The upload was created using ${mode} checksum mode.`
  throw new Fault(lateChecksumType, { reason: `${fixed} The complete request must use the same checksum mode.` })
}

/** R85. */
const objectSize = maybe.header(':mp-object-size', (value, name) => {
  if (!/^\d+$/.test(value)) throw new Fault('InvalidRequest', { reason: `Value for ${name} header is invalid.` })
  return value
})

function checkSize(expected: string | undefined, size: number): void {
  if (expected === undefined || Number(expected) === size) return
  const name = headerName('mp-object-size')
  const reason = `The provided '${name}' header value ${expected} does not match what was computed: ${size}`
  throw new Fault('InvalidRequest', { reason })
}

/** R79–R83. Computes the object's checksum and compares it with the client's. */
async function checksumOf(
  upload: Upload,
  { parts }: Assembly,
  input: { readonly listed: readonly ListedPartChecksum[] } & CompletionInput,
  read: () => AsyncIterable<Buffer>,
): Promise<Checksum | undefined> {
  const declared = declaredChecksum(upload)
  const id = upload.id.toString('hex')
  const summed = parts.map(part => ({ ...part, algorithm: algorithmOf(upload, part) }))
  for (const [index, { number, etag, sums }] of input.listed.entries()) {
    checkListedChecksum(declared, sums, summed[index]!, { uploadId: id, number, etag })
  }
  const { checksum, unverified } = verifyCompletionChecksum(declared, input.type, input.expected, summed)
  if (unverified !== undefined) {
    checkExpectedChecksum(unverified, await streamChecksum(unverified.algorithm, read()))
  }
  return checksum
}

async function completionResponse(ctx: OperationContext, version: Version): Promise<OperationResponse> {
  return {
    headers: (await newVersionHeaders(ctx, version)).filter(([name]) => name !== 'etag'),
    body: {
      root: 'CompleteMultipartUploadResult',
      write: (to: XmlWriter) => {
        to.leaf('Location', ctx.location)
        to.leaf('Bucket', ctx.target.bucket)
        to.leaf('Key', ctx.target.key)
        to.leaf('ETag', quotedEtag(version.etag))
        writeChecksum(to, version.checksum)
      },
    },
  }
}

/** R96, R97. The upload is gone because it was completed: a client that lost the response gets the result again. */
async function repeatedResponse(
  ctx: OperationContext,
  name: UploadName,
  list: SentList,
  gone: Fault,
): Promise<OperationResponse> {
  const completed = await ctx.store.completion.find(name)
  if (completed === undefined) throw gone
  if (!ctx.behavior.repeatsCompletion) {
    const { etag } = completed
    throw new Fault('NoSuchUpload', { UploadId: name.uploadId, UploadState: 'completed', ETag: quotedEtag(etag) })
  }
  if (!listDigest(list.parts()).equals(completed.list)) throw gone
  const { versionId, etag, completedAt } = completed
  const version = await ctx.store.objects.head({ ...ctx.target, versionId }).catch((error: unknown) => {
    throw error instanceof Fault ? gone : error
  })
  // The null version may have been replaced since.
  if (version.etag !== etag || version.modifiedAt !== completedAt) throw gone
  return completionResponse(ctx, version)
}

/** R97. An object that fails the precondition may be the upload's own, which another request completed meanwhile. */
const endedMeanwhile = (ctx: OperationContext, name: UploadName): Promise<Fault | undefined> =>
  ctx.store.uploads.find(name).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Fault) return error
      throw error
    },
  )

async function complete(
  ctx: OperationContext,
  name: UploadName,
  list: SentList,
  input: CompletionInput,
): Promise<Version> {
  const { precondition } = input
  const upload = await ctx.store.uploads.find(name)
  checkUploadKey(upload, input.customerKey, ctx.behavior.completionNeedsKey && upload.checksum !== undefined)
  checkSameEncryption(upload, ctx.request)
  checkType(ctx, upload, input.type)
  // The commit decides, but a precondition that already fails takes precedence over faults of the list.
  await ctx.store.objects.checkEarly(ctx.target, precondition)
  const listed = list.parts()
  return ctx.store.completion.complete({
    ...name,
    parts: listed,
    precondition,
    ...(input.customerKey === undefined ? {} : { customerKey: input.customerKey.key }),
    beforeRead: upload => ctx.allowEarlyResponse([...encryptionHeaders(upload), contextHeader(upload)]),
    inspect(upload, assembly, read) {
      checkSize(input.objectSize, assembly.size)
      return checksumOf(upload, assembly, { ...input, listed }, read)
    },
  })
}

/** R91. Requires the permission to write the object. */
export const CompleteMultipartUpload = operation({
  name: 'CompleteMultipartUpload',
  match: { method: 'POST', on: 'object', requires: ['?uploadId'] },
  permission: requires('PutObject'),
  createsObject: true,
  foldsFaults: true,
  input: {
    uploadId,
    customerKey,
    precondition: writePrecondition,
    type: maybe.header(':checksum-type', checksumType),
    expected: { decode: request => parseExpectedChecksum(sentChecksums(request), true) },
    objectSize,
  },
  async run(ctx, input) {
    const name = uploadName(ctx, input.uploadId)
    const list = await sentList(ctx)
    try {
      return await completionResponse(ctx, await complete(ctx, name, list, input))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const gone = error.code === 'PreconditionFailed' ? await endedMeanwhile(ctx, name) : error
      if (gone?.code === 'NoSuchUpload') return repeatedResponse(ctx, name, list, gone)
      const { Condition, ETag } = error.detail
      // R93, D1.
      if (error.code === 'PreconditionFailed' && Condition === 'If-None-Match' && ctx.behavior.completeNotModified) {
        throw new Fault('NotModified', {}, ETag === undefined ? [] : [['etag', quotedEtag(String(ETag))]])
      }
      throw error
    }
  },
})

/** R74. A POST to an object without an upload id can only be meant as a completion. */
export const CompleteWithoutUpload = operation({
  name: 'CompleteMultipartUpload',
  match: { method: 'POST', on: 'object' },
  permission: requires('PutObject'),
  input: {},
  async run() {
    throw new Fault('InvalidRequest', { reason: 'The request needs the parameter uploadId.' })
  },
})
