/**
 * Copies an object whose bytes must change, between plain and sealed or to another customer's key: they are read and
 * stored again. Everything else equals a copy that shares bytes: the part table is kept, and so is the entity tag where
 * the encryption on both sides allows it (R53).
 */
import { BodyDigest } from '../../digest/body-digest.ts'
import type { ContentPart, Slice } from '../../model/content.ts'
import type { Checksum, Version } from '../../model/version.ts'
import { UNLOCKED } from '../../model/version.ts'
import { multipartEtag } from '../../rules/assembly.ts'
import { type ChecksumAlgorithm, wholeChecksum } from '../../rules/checksum.ts'
import { ALWAYS, checkPrecondition } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import { copiedChecksum } from '../../rules/part-checksums.ts'
import { bucketForWrite } from '../commit/transaction.ts'
import { encryptionFor, etagOf, hasContentEtag, isContentEtag, type KeyChoice } from '../keys/content-keys.ts'
import type { CopyRequest, CopyResult } from '../objects/copy-request.ts'
import { lockForNewVersion, NO_BYPASS, transactRecordingLock } from '../objects/lock-gate.ts'
import type { ObjectHandle, Objects } from '../objects/objects.ts'
import { publish, readHead } from '../objects/versions.ts'
import type { StoreContext } from '../store-context.ts'
import { type BodyChecksum, bodyChecksum } from './body-checksum.ts'
import { withContentPages } from './content-pages.ts'
import { type BodyInspector, type Draft, ingest, type RunningDigest, withDraft } from './ingest.ts'
import type { PlacedPart } from './part-table.ts'

/** A copy request with its attributes resolved. */
type RewriteRequest = CopyRequest & Required<Pick<CopyRequest, 'attributes'>>

/** Reads the source and stores its bytes again. */
export async function rewriteContent(
  context: StoreContext,
  objects: Objects,
  request: RewriteRequest,
): Promise<CopyResult> {
  const handle = await objects.open(request.from, request.customerKey)
  const source = handle.version
  try {
    // The source may have been replaced since the first check.
    request.check?.(source)
    request.beforeRead?.(source)
    const { parts } = await handle.parts(0, LIMITS.partNumberMax)
    const version =
      parts.length === 0
        ? await rewriteWhole(objects, request, handle)
        : await rewriteParts(context, request, handle, parts)
    return { source, version }
  } finally {
    handle.close()
  }
}

const keepsTag = (source: Version, target: KeyChoice | undefined): boolean =>
  hasContentEtag(source) && isContentEtag(target?.by)

function rewriteWhole(objects: Objects, request: RewriteRequest, handle: ObjectHandle): Promise<Version> {
  const { version: source } = handle
  const checksumming = new CopyChecksum(request, source, [])
  return objects.put({
    bucket: request.to.bucket,
    key: request.to.key,
    owner: request.owner,
    body: handle.read(),
    bytesExpected: source.size,
    attributes: request.attributes(source),
    inspection: checksumming,
    ...(keepsTag(source, request.encryption) ? { etag: source.etag } : {}),
    ...(request.lock === undefined ? {} : { lock: request.lock }),
    ...(request.encryption === undefined ? {} : { encryption: request.encryption }),
    ...(request.precondition === undefined ? {} : { precondition: request.precondition }),
  })
}

/** All parts become slices of one blob: the part table is kept, and the cost does not depend on the number of parts. */
async function rewriteParts(
  context: StoreContext,
  request: RewriteRequest,
  handle: ObjectHandle,
  table: readonly PlacedPart[],
): Promise<Version> {
  const { version: source } = handle
  const { encryption: choice, to, lock = UNLOCKED } = request
  const keys = choice === undefined ? undefined : encryptionFor(context, choice)
  const checksumming = new CopyChecksum(request, source, table)
  // Unchanged tags need no digest.
  const digests = keepsTag(source, choice) ? undefined : new PartDigests(table)
  const draft = await ingest(context, handle.read(), {
    contentKey: keys?.contentKey,
    digests: digests === undefined ? [checksumming] : [checksumming, digests],
    bytesMax: LIMITS.objectPutBytesMax,
    bytesExpected: source.size,
    mayInline: false,
  })
  return withDraft(draft, async () => {
    // Both digests end even if one fails: an unfinished digest would keep its thread's slot.
    const [checksum, computed] = await Promise.all([checksumming.end(), digests?.end()])
    const tags = computed?.map(md5 => etagOf(context, md5, choice)) ?? table.map(part => part.etag)
    const parts = table.map(({ number, size, start, checksum }, index): ContentPart => {
      return { number, size, etag: tags[index]!, checksum, slices: slicesOf(draft, { start, size }) }
    })
    return withContentPages(context, parts, name =>
      transactRecordingLock(context, { ...to, lock }, async tx => {
        const bucket = await bucketForWrite(tx, to.bucket)
        const head = await readHead(tx, bucket, to.key)
        checkPrecondition(request.precondition ?? ALWAYS, head.current?.version.etag)
        draft.addRecords(tx, parts.filter(part => part.slices.length > 0).length)
        const now = context.clock.now()
        const version = {
          modifiedAt: now,
          owner: request.owner,
          marker: false,
          size: source.size,
          etag: digests === undefined ? source.etag : multipartEtag(tags),
          parts: parts.length,
          checksum,
          encryption: keys?.encryption,
          lock: await lockForNewVersion(context, bucket, lock, now),
          attributes: request.attributes(source),
          content: await name(tx, { size: source.size, depth: 0, sums: table[0]?.algorithm }),
        }
        return publish(context, tx, head, version, NO_BYPASS)
      }),
    )
  })
}

function slicesOf({ content }: Draft, { start, size }: Pick<PlacedPart, 'start' | 'size'>): readonly Slice[] {
  const whole = content.kind === 'slices' ? content.slices[0] : undefined
  return whole === undefined || size === 0 ? [] : [{ ...whole, start, length: size }]
}

/** MD5 of every part as the bytes pass. */
class PartDigests implements RunningDigest {
  readonly #table: readonly PlacedPart[]
  readonly #done: Buffer[] = []
  #md5 = new BodyDigest('md5')
  #position = 0

  constructor(table: readonly PlacedPart[]) {
    this.#table = table
  }

  async update(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const left = this.#end() - this.#position
      if (left === 0) {
        await this.#next()
        continue
      }
      const piece = chunk.subarray(at, at + left)
      await this.#md5.update(piece)
      this.#position += piece.length
      at += piece.length
    }
  }

  async end(): Promise<readonly Buffer[]> {
    while (this.#done.length < this.#table.length) await this.#next()
    return this.#done
  }

  abandon(): void {
    this.#md5.abandon()
  }

  #end(): number {
    return this.#table[this.#done.length]!.end
  }

  async #next(): Promise<void> {
    this.#done.push(await this.#md5.digest())
    this.#md5 = new BodyDigest('md5')
  }
}

/**
 * R52. The copy's checksum: the source's, or one by the requested algorithm, computed as the bytes pass if necessary.
 */
class CopyChecksum implements BodyInspector {
  readonly #known: Checksum | undefined
  readonly #algorithm: ChecksumAlgorithm | undefined
  readonly #running: BodyChecksum | undefined

  constructor({ algorithm }: RewriteRequest, { checksum }: Version, table: readonly PlacedPart[]) {
    this.#algorithm = algorithm
    this.#known = algorithm === undefined ? checksum : copiedChecksum(checksum, algorithm, table)
    this.#running = algorithm === undefined || this.#known !== undefined ? undefined : bodyChecksum(algorithm)
  }

  update(chunk: Buffer): Promise<void> | undefined {
    return this.#running?.update(chunk)
  }

  async end(): Promise<Checksum | undefined> {
    return this.#running === undefined ? this.#known : wholeChecksum(this.#algorithm!, await this.#running.digest())
  }

  abandon(): void {
    this.#running?.abandon()
  }
}
