/**
 * Stores a body: bytes first, name last. The result is a draft: durable, but not named by any record. The commit that
 * names it also writes its records; a draft that is never named is freed here, or by the sweep after a crash.
 */
import { type Body, DiskFull } from '../../blobs/blobs.ts'
import { wrapBlobKey } from '../../crypto/key-wrap.ts'
import { SEALED_FRAME_BYTES, seal } from '../../crypto/sealing.ts'
import type { BodyDigest } from '../../digest/body-digest.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { type ByteReader, type PieceStream, readerOf, StagedStream } from '../../lib/piece-stream.ts'
import { OutcomeUnknown } from '../../meta/meta.ts'
import { type BlobRecord, blobFormat, type Content, type Slice } from '../../model/content.ts'
import { Fault } from '../../model/faults.ts'
import type { Checksum } from '../../model/version.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'

/** Observes a body as it arrives and may reject it at its end. */
export interface BodyInspector extends RunningDigest {
  /** Throws a fault when the body does not match the client's declarations; resolves to the checksum to store. */
  end(md5: Buffer): Promise<Checksum | undefined>
}

/** Completes the digests of a body; throws when it does not match the client's declarations. */
export async function inspectBody(
  md5: BodyDigest,
  inspection: BodyInspector | undefined,
): Promise<{ readonly digest: Buffer; readonly checksum: Checksum | undefined }> {
  try {
    const digest = await md5.digest()
    return { digest, checksum: await inspection?.end(digest) }
  } finally {
    inspection?.abandon()
  }
}

/**
 * Up to this size a content is stored in its version's record: one commit and one sync instead of two. Measured: at 4
 * KiB inlining is faster by far; from 8 KiB on the volume's group sync catches up and listings stay lean.
 */
const INLINE_BYTES_MAX = 4096

const BLOB_KEY_BYTES = 32
/** Approximate disk space of a version's record without its content. */
const RECORD_BYTES = 4096

interface IngestOptions {
  /** Seals the bytes; plain without it. */
  readonly contentKey: Buffer | undefined
  /** Fed with every chunk, and abandoned when the body fails. */
  readonly digests: readonly RunningDigest[]
  /** Larger bodies are rejected. */
  readonly bytesMax: number
  /** The declared size, if any. */
  readonly bytesExpected?: number | undefined
  /** Parts become slices of an object later, so they are never inlined. */
  readonly mayInline: boolean
}

/** A promise returned by `update` is awaited: the body is read no faster than it is hashed. */
export interface RunningDigest {
  update(chunk: Buffer): Promise<void> | undefined
  abandon(): void
}

export interface Draft {
  readonly size: number
  readonly content: Content
  /** Adds the draft's records to the commit that names it, with this reference count. */
  addRecords(tx: Transaction, references?: number): void
  /** The commit succeeded. */
  committed(): void
  /** Nothing will name the draft: frees its bytes. */
  discard(): Promise<void>
}

/** Counts, hashes and limits the bytes of a body. */
class Meter {
  size = 0
  readonly #options: IngestOptions
  readonly #source: ByteReader
  #ended = false

  constructor(body: Body, options: IngestOptions) {
    this.#options = options
    this.#source = readerOf(body)
  }

  next(): MaybePromise<Buffer | undefined> {
    if (this.#ended) return undefined
    const reading = this.#source.read()
    return reading instanceof Promise ? reading.then(chunk => this.#take(chunk)) : this.#take(reading)
  }

  #take(chunk: Buffer | undefined): MaybePromise<Buffer | undefined> {
    const { bytesMax, bytesExpected } = this.#options
    if (chunk === undefined) {
      this.#ended = true
      if (bytesExpected !== undefined && this.size !== bytesExpected) throw this.#incomplete(bytesExpected)
      return undefined
    }
    this.size += chunk.length
    if (this.size > bytesMax) throw new Fault('EntityTooLarge', { ProposedSize: this.size, MaxSizeAllowed: bytesMax })
    if (bytesExpected !== undefined && this.size > bytesExpected) throw this.#incomplete(bytesExpected)
    return this.#hash(chunk, 0)
  }

  /** Feeds the chunk to the digests from this index on. */
  #hash(chunk: Buffer, from: number): MaybePromise<Buffer> {
    const { digests } = this.#options
    for (let index = from; index < digests.length; index++) {
      const hashing = digests[index]!.update(chunk)
      if (hashing !== undefined) return hashing.then(() => this.#hash(chunk, index + 1))
    }
    return chunk
  }

  #incomplete(expected: number): Fault {
    return new Fault('IncompleteBody', { NumberBytesExpected: expected, NumberBytesProvided: this.size })
  }

  /** The source may hold a socket or a file, so one that is not read to its end is closed. */
  async stop(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#source.cancel()
  }

  rest(first: readonly Buffer[]): PieceStream {
    let given = 0
    return new StagedStream(() => ({
      read: () => (given < first.length ? first[given++] : this.next()),
      cancel: () => {},
    }))
  }
}

export async function ingest(context: StoreContext, body: Body, options: IngestOptions): Promise<Draft> {
  const meter = new Meter(body, options)
  try {
    const first: Buffer[] = []
    const inlineMax = options.mayInline ? INLINE_BYTES_MAX : 0
    while (meter.size <= inlineMax) {
      const chunk = await meter.next()
      if (chunk === undefined) return await smallDraft(context, first, meter.size, options)
      first.push(chunk)
    }
    return await blobDraft(context, meter, first, options.contentKey)
  } catch (error) {
    for (const digest of options.digests) digest.abandon()
    if (error instanceof DiskFull) throw new Fault('InsufficientStorage')
    throw error
  } finally {
    await meter.stop()
  }
}

/**
 * A full disk, that of the blobs or that of the records, rejects writes that add data while there is still room for
 * those that free it: deleting, reclaiming, changing in place.
 */
export async function reserveRecordSpace(context: StoreContext, size = 0): Promise<void> {
  try {
    await context.blobs.ensureSpace(RECORD_BYTES + size)
    await context.recordSpace?.ensureSpace(RECORD_BYTES + size)
  } catch (error) {
    throw error instanceof DiskFull ? new Fault('InsufficientStorage') : error
  }
}

const noop = async (): Promise<void> => {}

async function smallDraft(
  context: StoreContext,
  chunks: readonly Buffer[],
  size: number,
  options: IngestOptions,
): Promise<Draft> {
  await reserveRecordSpace(context, size)
  const content = size === 0 ? EMPTY_CONTENT : await inlineContent(context, chunks, options.contentKey)
  return { size, content, addRecords: () => {}, committed: () => {}, discard: noop }
}

const EMPTY_CONTENT: Content = { kind: 'slices', slices: [] }

async function inlineContent(
  context: StoreContext,
  chunks: readonly Buffer[],
  contentKey: Buffer | undefined,
): Promise<Content> {
  if (contentKey === undefined) return { kind: 'inline', bytes: ownedBytes(chunks), seal: undefined }
  const id = context.ids.next()
  const blobKey = context.random.bytes(BLOB_KEY_BYTES)
  const storage = context.keyring.storageKey()
  const sealed: Buffer[] = []
  for await (const frame of seal(chunks, { blobKey, storageKey: storage.key, blobId: id })) sealed.push(frame)
  const key = wrapBlobKey(contentKey, blobKey, id)
  return { kind: 'inline', bytes: Buffer.concat(sealed), seal: { id, key, storageKey: storage.version } }
}

const ownedBytes = (chunks: readonly Buffer[]): Buffer => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))

async function blobDraft(
  context: StoreContext,
  meter: Meter,
  first: readonly Buffer[],
  contentKey: Buffer | undefined,
): Promise<Draft> {
  // The engine of the blobs asks for its own space as the bytes arrive.
  await context.recordSpace?.ensureSpace(RECORD_BYTES)
  const id = context.ids.next()
  const pin = context.drafts.enter()
  try {
    const blobKey = contentKey === undefined ? undefined : context.random.bytes(BLOB_KEY_BYTES)
    const storage = blobKey === undefined ? undefined : context.keyring.storageKey()
    const plain = meter.rest(first)
    const location =
      blobKey === undefined || storage === undefined
        ? await context.blobs.write(id, plain)
        : await context.blobs.write(
            id,
            seal(plain, { blobKey, storageKey: storage.key, blobId: id }),
            SEALED_FRAME_BYTES,
          )
    const record: Omit<BlobRecord, 'referenceCount'> = {
      volume: location.volume,
      offset: location.offset,
      storedLength: location.length,
      frameBytes: location.frameBytes,
      length: meter.size,
      storageKey: storage?.version,
    }
    const key = blobKey === undefined ? undefined : wrapBlobKey(contentKey!, blobKey, id)
    const slice: Slice = { of: 'blob', id, start: 0, length: meter.size, key }
    return {
      size: meter.size,
      content: { kind: 'slices', slices: [slice] },
      addRecords: (tx, references = 1) =>
        tx.put(recordKey.blob(id), blobFormat.encode({ ...record, referenceCount: references })),
      committed: () => context.drafts.leave(pin),
      async discard() {
        try {
          await context.blobs.remove(id, location)
        } finally {
          context.drafts.leave(pin)
        }
      },
    }
  } catch (error) {
    context.drafts.leave(pin)
    throw error
  }
}

/**
 * Names a draft by a commit, or frees it. After an unknown outcome nothing is freed: the bytes may already be named,
 * and the next start resolves it.
 */
export async function withDraft<T>(draft: Draft, commit: () => Promise<T>): Promise<T> {
  try {
    const result = await commit()
    draft.committed()
    return result
  } catch (error) {
    // The refusal does not wait: files are freed one at a time.
    if (!(error instanceof OutcomeUnknown)) draft.discard().catch(() => undefined)
    throw error
  }
}
