/**
 * R37, P28. The record of an upload, and how uploads end. Parts are stored concurrently without changing the record, so
 * it does not contain their sum. Completing and aborting need all parts as of one time: they announce the end in the
 * record, read the parts, and end the upload only if no part was stored in between.
 */
import { EMPTY } from '../../lib/bytes.ts'
import type { Entry } from '../../meta/meta.ts'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { type Part, partFormat, type Upload, uploadFormat } from '../../model/upload.ts'
import { countUpload } from '../../model/usage.ts'
import { isBucketName, isKey } from '../../rules/naming.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import { findBucket } from '../commit/transaction.ts'
import { addGarbage } from '../content/reference-counts.ts'
import type { StoreContext } from '../store-context.ts'

const PARTS_PER_SCAN = 2000
const ABORT_TRIES_MAX = 100

/** An upload as clients address it. */
export interface UploadName {
  readonly bucket: string
  readonly key: string
  /** 32 hexadecimal digits. */
  readonly uploadId: string
}

const UPLOAD_ID_SHAPE = /^[0-9a-f]{32}$/

/** False for ids that no upload can have. */
export function isUploadName(key: string, uploadId: string): boolean {
  return UPLOAD_ID_SHAPE.test(uploadId) && isKey(key)
}

/** Reads an upload for a transaction: once it ends, nothing can be added to it. */
export async function requireUpload(tx: Transaction, name: UploadName): Promise<Upload> {
  const entry =
    isBucketName(name.bucket) && isUploadName(name.key, name.uploadId)
      ? await tx.get(recordKey.upload(name.bucket, name.key, Buffer.from(name.uploadId, 'hex')))
      : undefined
  if (entry === undefined) throw new Fault('NoSuchUpload', { UploadId: name.uploadId })
  return uploadFormat.decode(entry.value)
}

/**
 * The bucket of an upload that the transaction checks. The bucket itself need not be checked: one with an upload in
 * progress is not removed.
 */
export async function bucketOfUpload({ meta }: StoreContext, { bucket }: Upload): Promise<Bucket> {
  return findBucket(meta, bucket)
}

const put = (tx: Transaction, upload: Upload): void =>
  tx.put(recordKey.upload(upload.bucket, upload.key, upload.id), uploadFormat.encode(upload))

/** From here on storing a part changes the upload's record, so that the commit that ends the upload fails. */
export function markCompleting(tx: Transaction, upload: Upload): Upload {
  if (upload.completing) return upload
  const completing = { ...upload, completing: true }
  put(tx, completing)
  return completing
}

/** Ends a completion that has begun, because a part is being stored. */
export function clearCompleting(tx: Transaction, upload: Upload): void {
  if (upload.completing) put(tx, { ...upload, completing: false, round: upload.round + 1 })
}

/** False when a part was stored since, even if the completion began again after that. */
export const isStillCompleting = (upload: Upload, completing: Upload): boolean =>
  upload.completing && upload.round === completing.round

export async function storedParts({ meta }: StoreContext, upload: Upload): Promise<Map<number, Part>> {
  const out = new Map<number, Part>()
  const { end } = keyRanges.parts(upload.id)
  for (let next = 1; ; ) {
    const entries = await meta.scan({ start: recordKey.part(upload.id, next), end }, PARTS_PER_SCAN)
    for (const entry of entries) {
      const part = partFormat.decode(entry.value)
      out.set(part.number, part)
      next = part.number + 1
    }
    if (entries.length < PARTS_PER_SCAN) return out
  }
}

export function bytesOfParts(parts: ReadonlyMap<number, Part>): number {
  let bytes = 0
  for (const { size } of parts.values()) bytes += size
  return bytes
}

/** Runs an attempt on the upload if it is to be aborted; undefined when it is kept. */
type AttemptAbort = <T>(attempt: (tx: Transaction, upload: Upload) => Promise<T>) => Promise<T | undefined>

/**
 * R36, R100. Aborts an upload: nothing can be added to it, its parts become garbage, and its bytes are no longer
 * counted. False when `attemptAbort` keeps it.
 */
export async function abortUpload(context: StoreContext, attemptAbort: AttemptAbort): Promise<boolean> {
  for (let tries = 0; tries < ABORT_TRIES_MAX; tries++) {
    const completing = await attemptAbort(async (tx, upload) => markCompleting(tx, upload))
    if (completing === undefined) return false
    const bytes = bytesOfParts(await storedParts(context, completing))
    const outcome = await attemptAbort(async (tx, upload) => {
      if (!isStillCompleting(upload, completing)) return 'again'
      tx.remove(recordKey.upload(upload.bucket, upload.key, upload.id))
      addGarbage(context, tx, { kind: 'parts', upload: upload.id, taken: EMPTY })
      countUpload(tx.usageOf((await bucketOfUpload(context, upload)).id), bytes, -1)
      return 'aborted'
    })
    if (outcome !== 'again') return outcome === 'aborted'
  }
  throw new Fault('OperationAborted')
}

/** Ends an upload together with its bucket, whose usage no longer counts: its parts need not be read. */
export function discardUpload(context: StoreContext, tx: Transaction, entry: Entry): void {
  const { bucket, key, id } = uploadFormat.decode(entry.value)
  tx.check(entry)
  tx.remove(recordKey.upload(bucket, key, id))
  addGarbage(context, tx, { kind: 'parts', upload: id, taken: EMPTY })
}
