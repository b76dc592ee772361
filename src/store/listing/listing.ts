/**
 * G14. Listings cost what they return: a common prefix is skipped by one seek, and neither old versions nor deleted
 * keys are stored between the records that a plain listing reads.
 */
import { type ByteSpan, copyOf, keySuccessor, textOf } from '../../lib/bytes.ts'
import { ShownRecord, type ShownVersion } from '../../model/shown-version.ts'
import { type Upload, uploadFormat } from '../../model/upload.ts'
import { keyRanges, recordKey, sequenceOf } from '../commit/record-keys.ts'
import { bucketForRead, Transaction } from '../commit/transaction.ts'
import { readHead, seqOfVersion } from '../objects/versions.ts'
import type { StoreContext } from '../store-context.ts'
import { isUploadName } from '../uploads/upload-record.ts'
import {
  firstBatch,
  isRolledUp,
  keyAfter,
  keyAfterMarker,
  ListingCursor,
  type ListPage,
  type ListRequest,
  listedPrefix,
  PageBuilder,
  type RecordWalk,
  rangeOf,
  rolledUp,
} from './listing-page.ts'
import { VersionCursor, type VersionPosition } from './version-cursor.ts'

export interface ListedVersion {
  readonly key: string
  readonly version: ShownVersion
  readonly latest: boolean
}

/** Builds an item from an object's name and record while they are borrowed. */
type ListingProjection<T> = (name: ByteSpan, shown: ShownRecord) => T

interface ObjectsRequest extends ListRequest {
  /** Marker of the previous page. */
  readonly after?: string | undefined
  /** Without a marker: the key to start after. */
  readonly startAfter?: string | undefined
}

/** Shared by all listings: a record is verified and projected synchronously. */
const shown = new ShownRecord()

export class Listing {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  objects(request: ObjectsRequest): Promise<ListPage<ListedVersion>> {
    return this.objectsAs(request, name => ({ key: textOf(name), version: shown.version(), latest: true }))
  }

  /**
   * Projections of current objects after `after`, in byte order of their keys; may project more than the page returns.
   */
  async objectsAs<T extends { readonly key: string }>(
    request: ObjectsRequest,
    make: ListingProjection<T>,
  ): Promise<ListPage<T>> {
    const { after, startAfter } = request
    await this.#requireBucket(request.bucket)
    const first = startAfter === undefined ? undefined : keyAfterMarker('o', request, startAfter)
    const start = after === undefined ? first : keyAfter('o', request, after)
    return this.#walk(request, {
      kind: 'o',
      range: rangeOf('o', request, start),
      verify: ({ key, value }) => shown.verify(value, key),
      make({ value }, name, isVerified) {
        if (!isVerified) shown.read(value)
        return make(name, shown)
      },
    })
  }

  /** Uploads in progress, by key and start time. */
  async uploads(
    request: ListRequest & { readonly after?: { readonly key: string; readonly uploadId?: string } },
  ): Promise<ListPage<Upload>> {
    const { bucket, after } = request
    await this.#requireBucket(bucket)
    const isWithinKey =
      after?.uploadId !== undefined &&
      isUploadName(after.key, after.uploadId) &&
      listedPrefix(after.key, request) === undefined
    const start = isWithinKey
      ? keySuccessor(recordKey.upload(bucket, after.key, Buffer.from(after.uploadId!, 'hex')))
      : after && keyAfter('u', request, after.key)
    return this.#walk(request, {
      kind: 'u',
      range: rangeOf('u', request, start),
      // A decoded upload references bytes of its record.
      make: ({ value }) => uploadFormat.decode(copyOf(value)),
    })
  }

  async #walk<T extends { readonly key: string }>(request: ListRequest, walk: RecordWalk<T>): Promise<ListPage<T>> {
    const page = new PageBuilder<T>(request.limit)
    if (page.full) return page.close(false)
    const cursor = new ListingCursor(this.#context.meta, request, walk)
    for (;;) {
      // Most items are already fetched, and awaiting each would cost more than listing it.
      const next = cursor.next ?? (await cursor.peek())
      if (next === undefined) return page.close(false)
      if (page.full) return page.close(true)
      if (isRolledUp(next)) {
        page.addPrefix(next.prefix)
        cursor.pass(next.prefix, page.left)
      } else {
        page.add(next)
        cursor.advance()
      }
    }
  }

  /** All versions and delete markers after the given one: keys in order, newest version first. */
  async versions(
    request: ListRequest & { readonly after?: { readonly key: string; readonly versionId?: string | undefined } },
  ): Promise<ListPage<ListedVersion>> {
    const { bucket, after } = request
    await this.#requireBucket(bucket)
    const page = new PageBuilder<ListedVersion>(request.limit)
    if (page.full) return page.close(false)
    const position =
      after?.versionId === undefined || listedPrefix(after.key, request) !== undefined
        ? undefined
        : await this.#positionInKey(bucket, after.key, after.versionId)
    const start = (kind: string) => (position === undefined && after ? keyAfter(kind, request, after.key) : undefined)
    const cursor = new VersionCursor(this.#context.meta, shown, {
      bucket,
      current: rangeOf('o', request, start('o')),
      older: rangeOf('v', request, start('v')),
      after: position,
      firstBatch: firstBatch(request),
    })
    let lastKey: string | undefined
    for (;;) {
      const found = cursor.isReady ? cursor.next : await cursor.peek()
      if (found === undefined) return page.close(false)
      if (page.full) return page.close(true)
      const { key, version } = found
      const prefix = rolledUp(key, request)
      if (prefix === undefined) {
        const latest = key === position?.key ? version.seq === position.newest : key !== lastKey
        page.add({ key, version, latest })
        lastKey = key
        cursor.advance(found)
      } else {
        page.addPrefix(prefix)
        cursor.pass(prefix)
      }
    }
  }

  /** A page may end within a key's versions; the next one starts after that version, even if it was removed. */
  async #positionInKey(
    bucket: string,
    key: string,
    versionId: string,
  ): Promise<VersionPosition & { readonly newest: number | undefined }> {
    const tx = new Transaction(this.#context.meta)
    const head = await readHead(tx, await bucketForRead(tx, bucket), key)
    const seq = seqOfVersion(head, versionId)
    // A removed null version leaves no position, so the key's versions are listed again rather than one missed.
    const [newestOlder] = await this.#context.meta.scan(keyRanges.olderOf(bucket, key), 1)
    const newest = head.current?.version.seq ?? (newestOlder && sequenceOf(newestOlder.key))
    return { key, seq: seq ?? Number.MAX_SAFE_INTEGER, newest }
  }

  async #requireBucket(bucket: string): Promise<void> {
    await bucketForRead(new Transaction(this.#context.meta), bucket)
  }
}
