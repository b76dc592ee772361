/**
 * Completes an upload: the object appears in one small commit, whatever the number of parts. The list of slices is
 * written ahead in pages; the part records are left to the reclaimer.
 */
import { createHash } from 'node:crypto'
import { keySuccessor } from '../../lib/bytes.ts'
import type { Bucket } from '../../model/bucket.ts'
import { type CompletedUpload, completedFormat } from '../../model/completed.ts'
import { Fault } from '../../model/faults.ts'
import { algorithmOf, type Part, type Upload } from '../../model/upload.ts'
import { countUpload } from '../../model/usage.ts'
import type { Checksum, Lock, Version } from '../../model/version.ts'
import { type Assembly, assemble, type ListedPart } from '../../rules/assembly.ts'
import { ALWAYS, checkPrecondition, type Precondition } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { bucketForWrite, type Transaction, transact } from '../commit/transaction.ts'
import { withContentPages } from '../content/content-pages.ts'
import { readContent, requireContent } from '../content/read-content.ts'
import { addGarbage } from '../content/reference-counts.ts'
import { contentKeyOf } from '../keys/content-keys.ts'
import { lockForNewVersion, NO_BYPASS, transactRecordingLock } from '../objects/lock-gate.ts'
import { type KeyHead, publish, readHead } from '../objects/versions.ts'
import type { StoreContext } from '../store-context.ts'
import {
  bytesOfParts,
  isStillCompleting,
  isUploadName,
  markCompleting,
  requireUpload,
  storedParts,
  type UploadName,
} from './upload-record.ts'

const TRIES_MAX = 20
const FORGET_PAGE = 200

interface CompleteRequest extends UploadName {
  readonly parts: readonly ListedPart[]
  readonly precondition?: Precondition
  /** The customer's key of the upload, needed only to read the assembled bytes. */
  readonly customerKey?: Buffer
  /** Checks the assembled object and may refuse it; returns the checksum to store. `read` streams its bytes. */
  readonly inspect?: (
    upload: Upload,
    assembly: Assembly,
    read: () => AsyncIterable<Buffer>,
  ) => Checksum | undefined | Promise<Checksum | undefined>
  /** Called before bytes are read, after every check that does not need them. */
  readonly beforeRead?: (upload: Upload) => void
}

export class Completion {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** Runs as a reader, so that slices shared by the parts are not freed meanwhile, even if the upload is aborted. */
  async complete(request: CompleteRequest): Promise<Version> {
    const { readers } = this.#context
    const pin = readers.enter()
    try {
      return await this.#complete(request)
    } finally {
      readers.leave(pin)
    }
  }

  async #complete(request: CompleteRequest): Promise<Version> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const upload = await transact(this.#context, async tx => markCompleting(tx, await requireUpload(tx, request)))
      const stored = await storedParts(this.#context, upload)
      const assembly = assemble(request.parts, stored, request.uploadId)
      if (assembly.size > LIMITS.partBytesMax * LIMITS.partNumberMax) {
        throw new Fault('EntityTooLarge', { ProposedSize: assembly.size })
      }
      const checksum = await request.inspect?.(upload, assembly, () => this.#read(request, upload, assembly))
      const parts = assembly.parts.map(part => storedPart(upload, part, checksum))
      const read = { upload, storedBytes: bytesOfParts(stored) }
      const published = await this.#publish(request, read, { ...assembly, parts }, checksum)
      if (published !== undefined) return published
    }
    throw new Fault('OperationAborted')
  }

  async *#read(request: CompleteRequest, upload: Upload, { parts, size }: Assembly): AsyncGenerator<Buffer> {
    const context = this.#context
    const content = { kind: 'slices' as const, slices: parts.flatMap(part => part.slices) }
    const contentKey = await contentKeyOf(context, upload.encryption, request.customerKey)
    // The commit checks the precondition again; failing early avoids the read.
    await transact(context, tx => headFor(tx, request))
    request.beforeRead?.(upload)
    yield* readContent(context, content, contentKey, 0, size)
  }

  /** R96. The result of a completed upload, while it is kept. */
  async find(name: UploadName): Promise<CompletedUpload | undefined> {
    if (!isUploadName(name.key, name.uploadId)) return undefined
    const entry = await this.#context.meta.get(recordKey.completed(Buffer.from(name.uploadId, 'hex')))
    const found = entry === undefined ? undefined : completedFormat.decode(entry.value)
    return found?.bucket === name.bucket && found.key === name.key ? found : undefined
  }

  /** Removes results older than `before`, one page at a time; resolves to the next start. */
  async forget(before: number, from: Buffer = keyRanges.kind('e').start): Promise<Buffer | undefined> {
    const entries = await this.#context.meta.scan({ start: from, end: keyRanges.kind('e').end }, FORGET_PAGE)
    const old = entries.filter(entry => completedFormat.decode(entry.value).completedAt < before)
    if (old.length > 0) {
      await transact(this.#context, async tx => {
        for (const { key } of old) tx.remove(recordKey.completed(key.subarray(1)))
      })
    }
    return entries.length < FORGET_PAGE ? undefined : keySuccessor(entries.at(-1)!.key)
  }

  /** R35, R90, D4. Undefined when a part was stored meanwhile and the parts must be read again. */
  async #publish(
    request: CompleteRequest,
    { upload: completing, storedBytes }: { readonly upload: Upload; readonly storedBytes: number },
    assembly: Assembly,
    checksum: Checksum | undefined,
  ): Promise<Version | undefined> {
    const context = this.#context
    const depth = await this.#depth(assembly.parts)
    return withContentPages(context, assembly.parts, name =>
      transactRecordingLock(context, { ...request, lock: completing.lock }, async tx => {
        const upload = await requireUpload(tx, request)
        if (!isStillCompleting(upload, completing)) return undefined
        const { bucket, head } = await headFor(tx, request)
        const content = await name(tx, { size: assembly.size, depth, sums: checksum?.algorithm })
        tx.remove(recordKey.upload(upload.bucket, upload.key, upload.id))
        countUpload(tx.usageOf(bucket.id), storedBytes, -1)
        addGarbage(context, tx, { kind: 'parts', upload: upload.id, taken: bitmap(assembly.parts) })
        const now = context.clock.now()
        const version = {
          modifiedAt: now,
          owner: upload.owner,
          marker: false,
          size: assembly.size,
          etag: assembly.etag,
          parts: assembly.parts.length,
          checksum,
          encryption: upload.encryption,
          lock: await lockAtCompletion(context, bucket, upload, now),
          attributes: upload.attributes,
          content,
        }
        const published = await publish(context, tx, head, version, NO_BYPASS)
        tx.put(recordKey.completed(upload.id), completedFormat.encode(completedRecord(request, published)))
        return published
      }),
    )
  }

  async #depth(parts: readonly Part[]): Promise<number> {
    const nested = new Map<string, Buffer>()
    for (const { slices } of parts) {
      for (const slice of slices) if (slice.of === 'content') nested.set(slice.id.toString('hex'), slice.id)
    }
    let depth = 0
    for (const id of nested.values()) depth = Math.max(depth, 1 + (await requireContent(this.#context, id)).depth)
    return depth
  }
}

/** R92–R94. The head the object is published on, if the precondition holds. */
async function headFor(tx: Transaction, request: CompleteRequest): Promise<{ bucket: Bucket; head: KeyHead }> {
  const bucket = await bucketForWrite(tx, request.bucket)
  const head = await readHead(tx, bucket, request.key)
  checkPrecondition(request.precondition ?? ALWAYS, head.current?.version.etag)
  return { bucket, head }
}

/** A part keeps its checksum only if it uses the object's algorithm. */
const storedPart = (upload: Upload, part: Part, checksum: Checksum | undefined): Part =>
  algorithmOf(upload, part) === checksum?.algorithm ? part : { ...part, checksum: undefined }

/** R96. Identifies a list of parts. */
export function listDigest(parts: readonly ListedPart[]): Buffer {
  const hash = createHash('sha256')
  for (const { number, etag } of parts) hash.update(`${number}:${etag}\n`)
  return hash.digest()
}

const completedRecord = ({ bucket, key, parts }: CompleteRequest, published: Version): CompletedUpload => ({
  bucket,
  key,
  completedAt: published.modifiedAt,
  versionId: published.id,
  etag: published.etag,
  list: listDigest(parts),
})

/** A lock requested at creation was checked then and is kept; a default counts from completion. */
async function lockAtCompletion(context: StoreContext, bucket: Bucket, { lock }: Upload, now: number): Promise<Lock> {
  return lock.retention === undefined ? lockForNewVersion(context, bucket, lock, now) : lock
}

function bitmap(parts: readonly Part[]): Buffer {
  const bits = Buffer.alloc((LIMITS.partNumberMax >> 3) + 1)
  for (const { number } of parts) bits[number >> 3]! |= 1 << (number & 7)
  return bits.subarray(0, (parts.at(-1)!.number >> 3) + 1)
}

/** True when the object took over the slices of this part. */
export function isPartUsed(bits: Buffer, number: number): boolean {
  return ((bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0
}
