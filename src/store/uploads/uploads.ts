/** Multipart uploads in progress: create, parts, abort. Completion is in `completion.ts`. */
import { createHash } from 'node:crypto'
import type { Body } from '../../blobs/blobs.ts'
import { BodyDigest } from '../../digest/body-digest.ts'
import { keySuccessor } from '../../lib/bytes.ts'
import { uint64 } from '../../lib/keys.ts'
import type { Entry } from '../../meta/meta.ts'
import type { Slice } from '../../model/content.ts'
import { Fault } from '../../model/faults.ts'
import { type Part, partFormat, type Upload, uploadFormat } from '../../model/upload.ts'
import { countPart, countUpload } from '../../model/usage.ts'
import { type Attributes, type Lock, NO_ATTRIBUTES, UNLOCKED, type Version } from '../../model/version.ts'
import { checksumAlgorithm, wholeChecksum } from '../../rules/checksum.ts'
import { LIMITS } from '../../rules/limits.ts'
import { initialLock } from '../../rules/lock.ts'
import { checkKey } from '../../rules/naming.ts'
import type { ByteRange } from '../../rules/range.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { bucketForWrite, type Transaction, transact } from '../commit/transaction.ts'
import { bodyChecksum } from '../content/body-checksum.ts'
import { type BodyInspector, ingest, inspectBody, reserveRecordSpace, withDraft } from '../content/ingest.ts'
import { readContent } from '../content/read-content.ts'
import { addGarbage, isShareable, sliceRange } from '../content/reference-counts.ts'
import {
  contentKeyOf,
  encryptionFor,
  etagOf,
  hasContentEtag,
  isContentEtag,
  type KeyChoice,
} from '../keys/content-keys.ts'
import { checkNamedKey } from '../keys/named-keys.ts'
import type { ObjectHandle, Objects } from '../objects/objects.ts'
import type { VersionSelector } from '../objects/versions.ts'
import type { StoreContext } from '../store-context.ts'
import { abortUpload, bucketOfUpload, clearCompleting, requireUpload, type UploadName } from './upload-record.ts'

const PAGE = 1000
const UPLOAD_TIME_BYTES = 6

interface CreateRequest {
  readonly bucket: string
  readonly key: string
  readonly initiator: string
  readonly owner: string
  readonly attributes?: Attributes
  readonly lock?: Lock
  readonly encryption?: KeyChoice
  readonly checksum?: Upload['checksum']
}

interface PartRequest extends UploadName {
  readonly number: number
  readonly body: Body
  readonly bytesExpected?: number
  /** The customer's key, for an upload created with one. */
  readonly customerKey?: Buffer
  readonly customerKeyMd5?: string
  readonly inspection?: BodyInspector
  /** Used instead of the digest of the bytes. */
  readonly etag?: string
}

interface CopyPartRequest extends Omit<PartRequest, 'body' | 'bytesExpected' | 'inspection' | 'etag'> {
  readonly from: VersionSelector
  readonly sourceCustomerKey?: Buffer
  /** A fixed range, or one computed from the source's size. */
  readonly range?: ByteRange | ((size: number) => ByteRange)
  /** May refuse the source. */
  readonly check?: (source: Version) => void
  /** Called before bytes are read, after every check that does not need them. */
  readonly beforeRead?: (source: Version) => void
}

const OVERTAKEN =
  'A newer upload of this part number was stored while this one was sent. Nothing was stored; try again.'

export class Uploads {
  readonly #context: StoreContext
  readonly #objects: Objects

  constructor(context: StoreContext, objects: Objects) {
    this.#context = context
    this.#objects = objects
  }

  /** R33, R71. Every upload gets an ID of its own. */
  async create(request: CreateRequest): Promise<Upload> {
    const context = this.#context
    checkKey(request.key)
    await reserveRecordSpace(context)
    const keys = request.encryption === undefined ? undefined : encryptionFor(context, request.encryption)
    return transact(context, async tx => {
      const bucket = await bucketForWrite(tx, request.bucket)
      const now = context.clock.now()
      const lock = request.lock ?? UNLOCKED
      initialLock(bucket, lock, now)
      if (keys !== undefined) await checkNamedKey(tx, keys.encryption)
      const upload: Upload = {
        // The time comes first, so that the uploads of a key are listed in the order of their creation.
        id: Buffer.concat([uint64(now).subarray(8 - UPLOAD_TIME_BYTES), context.random.bytes(16 - UPLOAD_TIME_BYTES)]),
        bucket: request.bucket,
        key: request.key,
        initiator: request.initiator,
        owner: request.owner,
        initiatedAt: now,
        attributes: request.attributes ?? NO_ATTRIBUTES,
        lock,
        encryption: keys?.encryption,
        checksum: request.checksum,
        completing: false,
        round: 0,
      }
      tx.put(recordKey.upload(upload.bucket, upload.key, upload.id), uploadFormat.encode(upload))
      countUpload(tx.usageOf(bucket.id), 0, 1)
      return upload
    })
  }

  async putPart(request: PartRequest): Promise<Part> {
    const context = this.#context
    checkPartNumber(request.number)
    const { upload, contentKey } = await this.#openUpload(request)
    const begunAt = await this.#startTime(upload, request.number)
    const md5 = new BodyDigest('md5')
    const draft = await ingest(context, request.body, {
      contentKey,
      digests: request.inspection === undefined ? [md5] : [md5, request.inspection],
      bytesMax: LIMITS.partBytesMax,
      bytesExpected: request.bytesExpected,
      mayInline: false,
    })
    return withDraft(draft, async () => {
      const { digest, checksum } = await inspectBody(md5, request.inspection)
      const slices = draft.content.kind === 'slices' ? draft.content.slices : []
      const part: Part = {
        number: request.number,
        size: draft.size,
        etag: request.etag ?? etagOf(context, digest, keyChoiceOf(upload, request)),
        checksum: checksum?.value,
        algorithm: checksum?.algorithm,
        modifiedAt: context.clock.now(),
        begunAt,
        slices,
      }
      await transact(context, async tx => {
        const add = await this.#prepare(tx, request, part)
        draft.addRecords(tx)
        add()
      })
      return part
    })
  }

  /** Stores a range of an object as a part, sharing its bytes where possible. */
  async copyPart(request: CopyPartRequest): Promise<Part> {
    const context = this.#context
    checkPartNumber(request.number)
    await reserveRecordSpace(context)
    const { upload, contentKey } = await this.#openUpload(request)
    const begunAt = await this.#startTime(upload, request.number)
    const handle = await this.#objects.open(request.from, request.sourceCustomerKey)
    try {
      const source = handle.version
      request.check?.(source)
      const requested = typeof request.range === 'function' ? request.range(source.size) : request.range
      const range = requested ?? { start: 0, end: source.size }
      const size = range.end - range.start
      if (requested !== undefined && !(range.start >= 0 && size > 0 && range.end <= source.size)) {
        throw new Fault('InvalidArgument', { ArgumentName: 'copy-source-range' })
      }
      if (size > LIMITS.partBytesMax) throw new Fault('EntityTooLarge', { ProposedSize: size })
      const isWhole = size === source.size && source.parts === 0
      const keepsTag = isWhole && hasContentEtag(source) && isContentEtag(upload.encryption?.by)
      const tag = keepsTag ? source.etag : sharedEtag(source.etag, range)
      // D30. The tag of a range is the same whether or not its bytes are read.
      const copyRequest = requested === undefined ? request : { ...request, etag: tag }
      if (!isShareable({ content: source.content, contentKey: handle.contentKey }, contentKey)) {
        return await this.#copyBytes(copyRequest, handle, range, upload)
      }
      const sums = await this.#checksumOf(handle, range, upload, request)
      const shared = await transact(context, async tx => {
        // The source may have been removed or replaced; the bytes this commit references must still be referenced by
        // it.
        const now = await this.#objects.versionIn(tx, { ...request.from, versionId: source.id })
        if (now.etag !== source.etag || now.modifiedAt !== source.modifiedAt) throw new Fault('OperationAborted')
        const part: Part = {
          number: request.number,
          size,
          etag: requested === undefined ? (sums.etag ?? tag) : tag,
          checksum: sums.checksum,
          algorithm: sums.checksum === undefined ? undefined : upload.checksum?.algorithm,
          modifiedAt: context.clock.now(),
          begunAt,
          slices: [],
        }
        const add = await this.#prepare(tx, request, part)
        const from = { content: now.content, contentKey: handle.contentKey }
        const slices = await sliceRange(context, tx, from, range, contentKey)
        if (slices === undefined) return undefined
        add(slices)
        return part
      })
      return shared ?? (await this.#copyBytes(copyRequest, handle, range, upload))
    } finally {
      handle.close()
    }
  }

  /** Stores bytes that cannot be shared, with their checksum. */
  #copyBytes(
    request: CopyPartRequest & Pick<PartRequest, 'etag'>,
    handle: ObjectHandle,
    range: ByteRange,
    { checksum }: Upload,
  ): Promise<Part> {
    request.beforeRead?.(handle.version)
    const algorithm = checksum === undefined ? undefined : checksumAlgorithm(checksum.algorithm)
    const body = handle.read(range.start, range.end)
    if (algorithm === undefined) return this.putPart({ ...request, body })
    const sum = bodyChecksum(algorithm)
    const inspection: BodyInspector = {
      update: chunk => sum.update(chunk),
      end: async () => wholeChecksum(algorithm, await sum.digest()),
      abandon: () => sum.abandon(),
    }
    return this.putPart({ ...request, body, inspection })
  }

  /** An upload with checksums needs one for every part: bytes are read unless the source already has it. */
  async #checksumOf(
    handle: ObjectHandle,
    range: ByteRange,
    upload: Upload,
    request: CopyPartRequest,
  ): Promise<{ readonly etag?: string; readonly checksum?: string }> {
    const { version } = handle
    if (upload.checksum === undefined) return {}
    const algorithm = checksumAlgorithm(upload.checksum.algorithm)
    const { checksum: known } = version
    const isWhole = range.start === 0 && range.end === version.size
    if (isWhole && known?.algorithm === algorithm && known.type === 'FULL_OBJECT') return { checksum: known.value }
    const md5 = new BodyDigest('md5')
    const sum = bodyChecksum(algorithm)
    request.beforeRead?.(version)
    const bytes = readContent(this.#context, version.content, handle.contentKey, range.start, range.end)
    try {
      for await (const chunk of bytes) {
        await sum.update(chunk)
        await md5.update(chunk)
      }
      const etag = etagOf(this.#context, await md5.digest(), keyChoiceOf(upload, request))
      return { etag, checksum: (await sum.digest()).toString('base64') }
    } finally {
      md5.abandon()
      sum.abandon()
    }
  }

  /** The current time, but not before the existing part began, even if the clock was set back. */
  async #startTime(upload: Upload, number: number): Promise<number> {
    const entry = await this.#context.meta.get(recordKey.part(upload.id, number))
    return Math.max(this.#context.clock.now(), entry === undefined ? 0 : partFormat.decode(entry.value).begunAt)
  }

  /**
   * R34. Returns how to add the part to the commit, replacing an older one; throws when a newer request was stored
   * first.
   */
  async #prepare(tx: Transaction, name: UploadName, part: Part): Promise<(slices?: readonly Slice[]) => void> {
    const upload = await requireUpload(tx, name)
    const key = recordKey.part(upload.id, part.number)
    const entry = await tx.get(key)
    const old = entry === undefined ? undefined : partFormat.decode(entry.value)
    // Nothing is stored, so the part must not be acknowledged. Clients resend a part after this response.
    if (old !== undefined && old.begunAt > part.begunAt) throw new Fault('SlowDown', { reason: OVERTAKEN })
    const bucket = await bucketOfUpload(this.#context, upload)
    return (slices = part.slices) => {
      clearCompleting(tx, upload)
      countPart(tx.usageOf(bucket.id), part.size, old?.size ?? 0)
      if (old !== undefined && old.slices.length > 0) {
        addGarbage(this.#context, tx, { kind: 'slices', slices: old.slices })
      }
      tx.put(key, partFormat.encode({ ...part, slices }))
    }
  }

  async #openUpload(
    request: UploadName & { readonly customerKey?: Buffer },
  ): Promise<{ upload: Upload; contentKey: Buffer | undefined }> {
    const upload = await this.find(request)
    return { upload, contentKey: await contentKeyOf(this.#context, upload.encryption, request.customerKey) }
  }

  async find(name: UploadName): Promise<Upload> {
    return transact(this.#context, tx => requireUpload(tx, name))
  }

  async parts(upload: Upload, after: number, limit: number): Promise<readonly Part[]> {
    const { end } = keyRanges.parts(upload.id)
    const entries = await this.#context.meta.scan({ start: recordKey.part(upload.id, after + 1), end }, limit)
    return entries.map(entry => partFormat.decode(entry.value))
  }

  /** Aborts the upload in small commits, whatever the number of parts; the reclaimer frees the bytes. */
  async abort(name: UploadName): Promise<void> {
    await abortUpload(this.#context, attempt =>
      transact(this.#context, async tx => attempt(tx, await requireUpload(tx, name))),
    )
  }

  /** Aborts all uploads of a bucket that is being removed. */
  async abortAll(bucket: string): Promise<void> {
    const { end } = keyRanges.uploads(bucket)
    let { start } = keyRanges.uploads(bucket)
    for (;;) {
      const page: readonly Entry[] = await this.#context.meta.scan({ start, end }, PAGE)
      for (const entry of page) {
        const { key, id } = uploadFormat.decode(entry.value)
        await this.abort({ bucket, key, uploadId: id.toString('hex') }).catch(ignoreGone)
      }
      if (page.length < PAGE) return
      start = keySuccessor(page.at(-1)!.key)
    }
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'NoSuchUpload')) throw error
}

function checkPartNumber(number: number): void {
  if (Number.isInteger(number) && number >= 1 && number <= LIMITS.partNumberMax) return
  throw new Fault('InvalidArgument', { ArgumentName: 'partNumber', ArgumentValue: String(number) })
}

/** The key choice that determines the form of a part's tag. */
function keyChoiceOf(
  upload: Upload,
  request: { readonly customerKey?: Buffer; readonly customerKeyMd5?: string },
): KeyChoice | undefined {
  const { encryption } = upload
  if (encryption === undefined) return undefined
  if (encryption.by === 'service') return { by: 'service' }
  if (encryption.by === 'named') {
    return { by: 'named', name: encryption.keyName!, context: encryption.context, bucketKey: encryption.bucketKey }
  }
  return { by: 'customer', key: request.customerKey!, md5: request.customerKeyMd5 ?? '' }
}

/** Bytes that were not read have no digest: the tag is derived from the source's tag and the range. */
function sharedEtag(etag: string, range: { readonly start: number; readonly end: number }): string {
  return createHash('md5').update(`${etag}:${range.start}-${range.end}`).digest('hex')
}
