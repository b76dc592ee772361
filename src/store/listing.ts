/**
 * Listings. They cost what they return: a common prefix is passed by one seek, and neither old versions nor deleted
 * keys lie between the records that a plain listing reads.
 */
import { copyOf, justAfter, type Stretch, textOf } from '../lib/bytes.ts'
import { ShownRecord, type ShownVersion } from '../model/shown-version.ts'
import { type Upload, uploadFormat } from '../model/upload.ts'
import { all, at, seqOf } from './addresses.ts'
import { bucketForRead } from './bucket-record.ts'
import { Decision } from './decision.ts'
import type { Engine } from './engine.ts'
import {
  behind,
  behindNamed,
  Cursor,
  firstBatch,
  isRolledUp,
  type Listed,
  type ListRequest,
  Page,
  rangeOf,
  rolledUp,
  seenPrefix,
  type Walk,
} from './listing-page.ts'
import { isUploadName } from './upload-record.ts'
import { VersionCursor, type VersionPlace } from './version-cursor.ts'
import { readHead, seqOfVersion } from './versions.ts'

export interface ListedVersion {
  readonly key: string
  readonly version: ShownVersion
  readonly latest: boolean
}

/** Something made of an object, where its name and its record lie. */
export type Showing<T> = (name: Stretch, shown: ShownRecord) => T

interface ObjectsRequest extends ListRequest {
  /** The mark of the page before. */
  readonly after?: string | undefined
  /** Without one: the key behind which to begin. */
  readonly startAfter?: string | undefined
}

/** One for all listings: nothing comes between the check of a record and what is made of it. */
const shown = new ShownRecord()

export class Listing {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  objects(request: ObjectsRequest): Promise<Listed<ListedVersion>> {
    return this.objectsAs(request, name => ({ key: textOf(name), version: shown.version(), latest: true }))
  }

  /** Made of current objects behind `after`, in the order of their keys' bytes; maybe of more than the page has. */
  async objectsAs<T extends { readonly key: string }>(request: ObjectsRequest, make: Showing<T>): Promise<Listed<T>> {
    const { after, startAfter } = request
    await this.#mustExist(request.bucket)
    const first = startAfter === undefined ? undefined : behindNamed('o', request, startAfter)
    const start = after === undefined ? first : behind('o', request, after)
    return this.#walk(request, {
      kind: 'o',
      range: rangeOf('o', request, start),
      vouch: ({ key, value }) => shown.isSound(value, key),
      make({ value }, name, isVouched) {
        if (!isVouched) shown.read(value)
        return make(name, shown)
      },
    })
  }

  /** Uploads in progress: by key, then by when they were begun. */
  async uploads(
    request: ListRequest & { readonly after?: { readonly key: string; readonly uploadId?: string } },
  ): Promise<Listed<Upload>> {
    const { bucket, after } = request
    await this.#mustExist(bucket)
    const isInside =
      after?.uploadId !== undefined &&
      isUploadName(after.key, after.uploadId) &&
      seenPrefix(after.key, request) === undefined
    const start = isInside
      ? justAfter(at.upload(bucket, after.key, Buffer.from(after.uploadId!, 'hex')))
      : after && behind('u', request, after.key)
    return this.#walk(request, {
      kind: 'u',
      range: rangeOf('u', request, start),
      // Uploads keep bytes of their record.
      make: ({ value }) => uploadFormat.decode(copyOf(value)),
    })
  }

  async #walk<T extends { readonly key: string }>(request: ListRequest, walk: Walk<T>): Promise<Listed<T>> {
    const page = new Page<T>(request.limit)
    if (page.full) return page.close(false)
    const cursor = new Cursor(this.#engine.meta, request, walk)
    for (;;) {
      // Most are there already, and waiting for each of them would cost more than listing it.
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

  /** All versions and markers behind the named one: keys in order, each one's newest first. */
  async versions(
    request: ListRequest & { readonly after?: { readonly key: string; readonly versionId?: string | undefined } },
  ): Promise<Listed<ListedVersion>> {
    const { bucket, after } = request
    await this.#mustExist(bucket)
    const page = new Page<ListedVersion>(request.limit)
    if (page.full) return page.close(false)
    const inside =
      after?.versionId === undefined || seenPrefix(after.key, request) !== undefined
        ? undefined
        : await this.#placeInside(bucket, after.key, after.versionId)
    const start = (kind: string) => (inside === undefined && after ? behind(kind, request, after.key) : undefined)
    const cursor = new VersionCursor(this.#engine.meta, shown, {
      bucket,
      current: rangeOf('o', request, start('o')),
      older: rangeOf('v', request, start('v')),
      behind: inside,
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
        const latest = key === inside?.key ? version.seq === inside.newest : key !== lastKey
        page.add({ key, version, latest })
        lastKey = key
        cursor.advance(found)
      } else {
        page.addPrefix(prefix)
        cursor.pass(prefix)
      }
    }
  }

  /** A page may end in the middle of a key's versions: the next one starts behind that version, even if it is gone. */
  async #placeInside(
    bucket: string,
    key: string,
    versionId: string,
  ): Promise<VersionPlace & { readonly newest: number | undefined }> {
    const d = new Decision(this.#engine.meta)
    const head = await readHead(d, await bucketForRead(d, bucket), key)
    const seq = seqOfVersion(head, versionId)
    // A null version that is gone leaves no place behind: rather all of its key once more than one version missed.
    const [behindIt] = await this.#engine.meta.scan(all.olderOf(bucket, key), 1)
    const newest = head.current?.version.seq ?? (behindIt && seqOf(behindIt.key))
    return { key, seq: seq ?? Number.MAX_SAFE_INTEGER, newest }
  }

  async #mustExist(bucket: string): Promise<void> {
    await bucketForRead(new Decision(this.#engine.meta), bucket)
  }
}
