/**
 * Takes in a body: bytes first, name last. What comes out is a draft: durable, but no name points at it. The commit
 * that names it also writes its records; a draft that is never named is freed here, or by the sweep after a crash.
 */
import { type Body, DiskFull } from '../../blobs/blobs.ts'
import { wrapBlobKey } from '../../crypto/key-wrap.ts'
import { SEALED_FRAME_BYTES, seal } from '../../crypto/sealing.ts'
import { OutcomeUnknown } from '../../meta/meta.ts'
import { type BlobRecord, blobFormat, type Content, type Slice } from '../../model/content.ts'
import { Fault } from '../../model/faults.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'

/**
 * Up to this size a content lives in its version's record: one commit and one sync instead of two. Measured: at 4 KiB
 * that is the faster way by far; from 8 KiB on the volume's group sync catches up and listings stay lean.
 */
export const INLINE_BYTES_MAX = 4096

const BLOB_KEY_BYTES = 32
/** What a version's record takes on the disk beside its content, roughly. */
const RECORD_BYTES = 4096

export interface IngestOptions {
  /** Seals what is taken in; plain without. */
  readonly contentKey: Buffer | undefined
  /** Are made of every byte on its way in, and abandoned when the body fails. */
  readonly digests: readonly RunningDigest[]
  /** More bytes than this refuse the body. */
  readonly bytesMax: number
  /** The exact size that was announced. */
  readonly bytesExpected?: number | undefined
  /** Parts become slices of an object later, so they never live in a record. */
  readonly mayInline: boolean
}

/** What `update` returns, if anything, is awaited: bytes come no faster than they are hashed. */
export interface RunningDigest {
  update(chunk: Buffer): Promise<void> | undefined
  abandon(): void
}

export interface Draft {
  readonly size: number
  readonly content: Content
  /** Adds the draft's own records to the commit that names it, held as often as said: once by default. */
  name(tx: Transaction, shares?: number): void
  /** The commit is through. */
  named(): void
  /** Nothing will name it: frees what it holds. */
  discard(): Promise<void>
}

/** Counts, taps and bounds what passes. */
class Meter {
  size = 0
  readonly #options: IngestOptions
  readonly #source: AsyncIterator<Buffer> | Iterator<Buffer>
  #ended = false

  constructor(body: Body, options: IngestOptions) {
    this.#options = options
    this.#source = Symbol.asyncIterator in body ? body[Symbol.asyncIterator]() : body[Symbol.iterator]()
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#ended) return undefined
    const step = await this.#source.next()
    const { bytesMax, bytesExpected, digests } = this.#options
    if (step.done === true) {
      this.#ended = true
      if (bytesExpected !== undefined && this.size !== bytesExpected) throw this.#incomplete(bytesExpected)
      return undefined
    }
    const chunk = step.value
    this.size += chunk.length
    if (this.size > bytesMax) throw new Fault('EntityTooLarge', { ProposedSize: this.size, MaxSizeAllowed: bytesMax })
    if (bytesExpected !== undefined && this.size > bytesExpected) throw this.#incomplete(bytesExpected)
    for (const digest of digests) {
      const hashing = digest.update(chunk)
      if (hashing !== undefined) await hashing
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
    await this.#source.return?.()
  }

  async *rest(first: readonly Buffer[]): AsyncGenerator<Buffer> {
    yield* first
    for (let chunk = await this.next(); chunk !== undefined; chunk = await this.next()) yield chunk
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
 * Records go to the same disk as blobs do. A full one refuses whatever adds to it while there still is room for what
 * removes: deleting, reclaiming, changing in place.
 */
export async function reserveRecordSpace(context: StoreContext, size = 0): Promise<void> {
  try {
    await context.blobs.admit(RECORD_BYTES + size)
  } catch (error) {
    throw error instanceof DiskFull ? new Fault('InsufficientStorage') : error
  }
}

const nothing = async (): Promise<void> => {}

async function smallDraft(
  context: StoreContext,
  chunks: readonly Buffer[],
  size: number,
  options: IngestOptions,
): Promise<Draft> {
  await reserveRecordSpace(context, size)
  const content = size === 0 ? NO_BYTES : await inlineContent(context, chunks, options.contentKey)
  return { size, content, name: () => {}, named: () => {}, discard: nothing }
}

const NO_BYTES: Content = { kind: 'slices', slices: [] }

async function inlineContent(
  context: StoreContext,
  chunks: readonly Buffer[],
  contentKey: Buffer | undefined,
): Promise<Content> {
  if (contentKey === undefined) return { kind: 'inline', bytes: joined(chunks), seal: undefined }
  const id = context.ids.next()
  const blobKey = context.random.bytes(BLOB_KEY_BYTES)
  const storage = context.keyring.storageKey()
  const sealed: Buffer[] = []
  for await (const frame of seal(chunks, { blobKey, storageKey: storage.key, blobId: id })) sealed.push(frame)
  const key = wrapBlobKey(contentKey, blobKey, id)
  return { kind: 'inline', bytes: Buffer.concat(sealed), seal: { id, key, storageKey: storage.version } }
}

const joined = (chunks: readonly Buffer[]): Buffer => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))

async function blobDraft(
  context: StoreContext,
  meter: Meter,
  first: readonly Buffer[],
  contentKey: Buffer | undefined,
): Promise<Draft> {
  const id = context.ids.next()
  const ticket = context.drafts.enter()
  try {
    const blobKey = contentKey === undefined ? undefined : context.random.bytes(BLOB_KEY_BYTES)
    const storage = blobKey === undefined ? undefined : context.keyring.storageKey()
    const plain = meter.rest(first)
    const place =
      blobKey === undefined || storage === undefined
        ? await context.blobs.write(id, plain)
        : await context.blobs.write(
            id,
            seal(plain, { blobKey, storageKey: storage.key, blobId: id }),
            SEALED_FRAME_BYTES,
          )
    const record: Omit<BlobRecord, 'shares'> = {
      volume: place.volume,
      offset: place.offset,
      storedLength: place.length,
      frameBytes: place.frameBytes,
      length: meter.size,
      storageKey: storage?.version,
    }
    const key = blobKey === undefined ? undefined : wrapBlobKey(contentKey!, blobKey, id)
    const slice: Slice = { of: 'blob', id, start: 0, length: meter.size, key }
    return {
      size: meter.size,
      content: { kind: 'slices', slices: [slice] },
      name: (tx, shares = 1) => tx.put(recordKey.blob(id), blobFormat.encode({ ...record, shares })),
      named: () => context.drafts.leave(ticket),
      async discard() {
        try {
          await context.blobs.remove(id, place)
        } finally {
          context.drafts.leave(ticket)
        }
      },
    }
  } catch (error) {
    context.drafts.leave(ticket)
    throw error
  }
}

/**
 * Names a draft by a commit, or frees it. An unknown outcome frees nothing: the bytes may have their name already, and
 * the next start finds out.
 */
export async function withDraft<T>(draft: Draft, commit: () => Promise<T>): Promise<T> {
  try {
    const result = await commit()
    draft.named()
    return result
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) await draft.discard().catch(() => undefined)
    throw error
  }
}
