/** Reads any range of a content, slice by slice. Slices are looked up one at a time, so memory use is constant. */
import { type BlobLocation, DamagedBlob } from '../../blobs/blobs.ts'
import { unwrapBlobKey } from '../../crypto/key-wrap.ts'
import { openSealed } from '../../crypto/sealing.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry } from '../../meta/meta.ts'
import {
  type BlobRecord,
  blobFormat,
  type Content,
  type ContentPart,
  type ContentRecord,
  contentFormat,
  type InlineSeal,
  pageFormat,
  type Slice,
} from '../../model/content.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { StoreContext } from '../store-context.ts'

/** A referenced record is missing: reported as damage, never as an empty object. */
export class BrokenReference extends Error {
  constructor(what: string, id: Buffer) {
    super(`${what} ${id.toString('hex')} is missing`)
    this.name = 'BrokenReference'
  }
}

export async function requireBlob(context: StoreContext, id: Buffer): Promise<BlobRecord> {
  return decodeBlob(id, await context.meta.get(recordKey.blob(id)))
}

function decodeBlob(id: Buffer, entry: Entry | undefined): BlobRecord {
  if (entry === undefined) throw new BrokenReference('blob record', id)
  return blobFormat.decode(entry.value)
}

const locationOf = ({ volume, offset, storedLength, frameBytes }: BlobRecord): BlobLocation => ({
  volume,
  offset,
  length: storedLength,
  frameBytes,
})

export async function requireContent(context: StoreContext, id: Buffer): Promise<ContentRecord> {
  const entry = await context.meta.get(recordKey.content(id))
  if (entry === undefined) throw new BrokenReference('content record', id)
  return contentFormat.decode(entry.value)
}

export async function requireContentPage(
  context: StoreContext,
  id: Buffer,
  page: number,
): Promise<readonly ContentPart[]> {
  const entry = await context.meta.get(recordKey.page(id, page))
  if (entry === undefined) throw new BrokenReference('content page', id)
  return pageFormat.decode(entry.value)
}

/** Reads a range as one buffer, for a content that is a single plain blob; undefined for any other. */
export function readSingleBlob(
  context: StoreContext,
  content: Content,
  start: number,
  end: number,
): MaybePromise<Buffer | undefined> {
  if (content.kind !== 'slices' || content.slices.length !== 1) return undefined
  const slice = content.slices[0]!
  if (slice.of !== 'blob' || slice.key !== undefined) return undefined
  const [from, to] = [slice.start + start, slice.start + end]
  const read = (entry: Entry | undefined): MaybePromise<Buffer | undefined> => {
    const record = decodeBlob(slice.id, entry)
    if (record.storageKey !== undefined) return undefined
    const location = locationOf(record)
    const streamed = (): Promise<Buffer> => joined(context.blobs.read(slice.id, location, from, to))
    const bytes = context.blobs.readAtOnce(slice.id, location, from, to)
    return bytes instanceof Promise ? bytes.then(whole => whole ?? streamed()) : (bytes ?? streamed())
  }
  const entry = context.meta.get(recordKey.blob(slice.id))
  return entry instanceof Promise ? entry.then(read) : read(entry)
}

export async function joined(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

/** Plaintext bytes [start, end) of a content. `contentKey` opens sealed slices. */
export async function* readContent(
  context: StoreContext,
  content: Content,
  contentKey: Buffer | undefined,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  if (start >= end) return
  if (content.kind === 'inline') {
    if (content.seal === undefined) yield content.bytes.subarray(start, end)
    else yield* openInline(context, content.bytes, content.seal, contentKey, start, end)
  } else if (content.kind === 'slices') {
    yield* readSlices(context, content.slices, contentKey, start, end)
  } else {
    yield* readShared(context, content.id, contentKey, start, end)
  }
}

async function* openInline(
  context: StoreContext,
  bytes: Buffer,
  sealed: InlineSeal,
  contentKey: Buffer | undefined,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  const { id } = sealed
  const keys = {
    blobKey: unwrapBlobKey(keyFor(contentKey, id), sealed.key, id),
    storageKey: await storageKeyOf(context, sealed.storageKey),
    blobId: id,
  }
  const readSealed = async function* (from: number, to: number): AsyncGenerator<Buffer> {
    yield bytes.subarray(from, to)
  }
  yield* openSealed(readSealed, keys, sealedPlainLength(bytes.length), start, end)
}

const storageKeyOf = ({ keyring }: StoreContext, version: number): Promise<Buffer> =>
  keyring.upToDate(() => keyring.storageKey(version).key)

/** An inline content fits one frame: the stored bytes are the plaintext and two tags. */
const sealedPlainLength = (stored: number): number => stored - 32

function keyFor(contentKey: Buffer | undefined, id: Buffer): Buffer {
  if (contentKey === undefined) throw new DamagedBlob(id, 'is sealed, but the version that references it has no key')
  return contentKey
}

async function* readSlices(
  context: StoreContext,
  slices: readonly Slice[],
  contentKey: Buffer | undefined,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  let position = 0
  for (const slice of slices) {
    const from = Math.max(start, position)
    const to = Math.min(end, position + slice.length)
    if (from < to) yield* readSlice(context, slice, contentKey, from - position, to - position)
    position += slice.length
    if (position >= end) return
  }
  throw new Error(`a content ends at ${position}, before ${end}`)
}

async function* readSlice(
  context: StoreContext,
  slice: Slice,
  contentKey: Buffer | undefined,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  const start = slice.start + from
  const end = slice.start + to
  const key = slice.key === undefined ? undefined : unwrapBlobKey(keyFor(contentKey, slice.id), slice.key, slice.id)
  if (slice.of === 'content') {
    yield* readShared(context, slice.id, key, start, end)
    return
  }
  const record = await requireBlob(context, slice.id)
  const location = locationOf(record)
  const { id } = slice
  if (record.storageKey === undefined) {
    yield* context.blobs.read(id, location, start, end)
    return
  }
  const keys = {
    blobKey: keyFor(key, id),
    storageKey: await storageKeyOf(context, record.storageKey),
    blobId: id,
  }
  yield* openSealed((a, b) => context.blobs.read(id, location, a, b), keys, record.length, start, end)
}

async function* readShared(
  context: StoreContext,
  id: Buffer,
  contentKey: Buffer | undefined,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  const record = await requireContent(context, id)
  for (const [index, page] of record.pages.entries()) {
    const pageEnd = record.pages[index + 1]?.start ?? record.size
    if (pageEnd <= start) continue
    if (page.start >= end) return
    let position = page.start
    for (const part of await requireContentPage(context, id, index)) {
      const from = Math.max(start, position)
      const to = Math.min(end, position + part.size)
      if (from < to) yield* readSlices(context, part.slices, contentKey, from - position, to - position)
      position += part.size
      if (position >= end) return
    }
  }
  throw new Error(`content ${id.toString('hex')} ends before ${end}`)
}
