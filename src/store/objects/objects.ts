/** The objects of a bucket: written, opened for reading, removed, and changed in their attributes. */
import type { Body } from '../../blobs/blobs.ts'
import { BodyDigest } from '../../digest/body-digest.ts'
import { type MaybePromise, withFinally } from '../../lib/maybe-promise.ts'
import {
  type Attributes,
  type Grant,
  type Lock,
  NO_ATTRIBUTES,
  NO_CONTENT,
  type Pairs,
  UNLOCKED,
  type Version,
} from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import {
  ALWAYS,
  checkPrecondition,
  checkRemoval,
  type Precondition,
  type RemovalPrecondition,
} from '../../rules/conditional-requests.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { LIMITS } from '../../rules/limits.ts'
import { mayRemove } from '../../rules/lock.ts'
import { checkKey } from '../../rules/naming.ts'
import { bucketForRead, bucketForWrite, type Transaction, transact } from '../commit/transaction.ts'
import { type BodyInspector, ingest, inspectBody, withDraft } from '../content/ingest.ts'
import { type PartsPage, type PlacedPart, partsAfter } from '../content/part-table.ts'
import { joined, readContent, readSingleBlob } from '../content/read-content.ts'
import { contentKeyOf, encryptionFor, etagOf, type KeyChoice } from '../keys/content-keys.ts'
import type { LedgerAttempt } from '../ledger/ledger-group-commit.ts'
import type { StoreContext } from '../store-context.ts'
import { setHold, setRetention } from './lock-changes.ts'
import {
  lockedFault,
  lockForNewVersion,
  NO_BYPASS,
  type RemovalRights,
  recordRefusal,
  timeForLock,
  transactRecordingLock,
} from './lock-gate.ts'
import {
  findVersion,
  locate,
  locateVersion,
  prefetchHead,
  publish,
  publishMarker,
  readHead,
  requireVersion,
  unlinkVersion,
  type VersionSelector,
} from './versions.ts'

/** An open object. Its bytes are not freed until it is closed, which reading to the end does as well. */
export class ObjectHandle {
  readonly version: Version
  readonly #context: StoreContext
  readonly #contentKey: Buffer | undefined
  readonly #pin: number

  constructor(context: StoreContext, version: Version, contentKey: Buffer | undefined, pin: number) {
    this.#context = context
    this.version = version
    this.#contentKey = contentKey
    this.#pin = pin
  }

  /** For a copy that takes slices of this object. */
  get contentKey(): Buffer | undefined {
    return this.#contentKey
  }

  /**
   * Bytes [start, end) as a stream. Can be called once; closes the handle when it ends, fails or is returned. Not a
   * bare generator: a generator returned before its first step would never close the handle.
   */
  read(start = 0, end = this.version.size): AsyncIterableIterator<Buffer> {
    if (start < 0 || start > end || end > this.version.size) {
      this.close()
      throw new RangeError(`range ${start}–${end} is outside the object`)
    }
    const bytes = readContent(this.#context, this.version.content, this.#contentKey, start, end)
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => {
        try {
          const step = await bytes.next()
          if (step.done === true) this.close()
          return step
        } catch (error) {
          this.close()
          throw error
        }
      },
      return: async () => {
        try {
          return await bytes.return(undefined)
        } finally {
          this.close()
        }
      },
    }
  }

  /**
   * Like `read`, with the first chunk already read, so that unreadable bytes fail while an error response is still
   * possible. The response waits for that chunk in any case.
   */
  async readAhead(start: number, end: number): Promise<AsyncIterableIterator<Buffer>> {
    const bytes = this.read(start, end)
    let first: IteratorResult<Buffer> | undefined = await bytes.next()
    const ahead: AsyncIterableIterator<Buffer> = {
      [Symbol.asyncIterator]() {
        return ahead
      },
      next: async () => {
        const step = first ?? bytes.next()
        first = undefined
        return step
      },
      return: () => {
        first = undefined
        return bytes.return!()
      },
    }
    return ahead
  }

  /** Returns inline bytes synchronously and closes the handle; undefined if the bytes are not in the record. */
  inline(start: number, end: number): Buffer | undefined {
    const { content } = this.version
    if (content.kind !== 'inline' || content.seal !== undefined) return undefined
    this.close()
    return content.bytes.subarray(start, end)
  }

  /** Reads a short range as one buffer and closes the handle. */
  whole(start: number, end: number): MaybePromise<Buffer> {
    const streamed = (): Promise<Buffer> => joined(this.read(start, end))
    return withFinally(
      () => {
        const single = readSingleBlob(this.#context, this.version.content, start, end)
        return single instanceof Promise ? single.then(bytes => bytes ?? streamed()) : (single ?? streamed())
      },
      () => this.close(),
    )
  }

  /** The part with this number; undefined when there is none. */
  async part(number: number): Promise<PlacedPart | undefined> {
    const [found] = (await this.parts(number - 1, 1)).parts
    return found?.number === number ? found : undefined
  }

  parts(after: number, limit: number): Promise<PartsPage> {
    return partsAfter(this.#context, this.version, after, limit)
  }

  close(): void {
    this.#context.readerGuard.leave(this.#pin)
  }
}

interface PutRequest {
  readonly bucket: string
  readonly key: string
  readonly owner: string
  readonly body: Body
  readonly bytesExpected?: number | undefined
  readonly attributes?: Attributes
  readonly lock?: Lock
  readonly encryption?: KeyChoice | undefined
  readonly precondition?: Precondition
  readonly inspection?: BodyInspector
  /** The entity tag, if already known: that of the object these bytes are copied from. */
  readonly etag?: string
}

interface RemoveRequest extends VersionSelector {
  readonly rights?: RemovalRights
  readonly precondition?: RemovalPrecondition
  readonly owner: string
  /** Refuses to hide a held version behind a delete marker. */
  readonly keepHeld?: boolean
}

export interface RemovalResult {
  /** The delete marker that was created, if any. */
  readonly marker: Version | undefined
  /** The version that was removed, if any. */
  readonly removed: Version | undefined
}

export class Objects {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  async put(request: PutRequest): Promise<Version> {
    const context = this.#context
    const { bucket: name, key, inspection } = request
    checkKey(key)
    const keys = request.encryption === undefined ? undefined : encryptionFor(context, request.encryption)
    const md5 = new BodyDigest('md5')
    const draft = await ingest(context, request.body, {
      contentKey: keys?.contentKey,
      digests: inspection === undefined ? [md5] : [md5, inspection],
      bytesMax: LIMITS.objectPutBytesMax,
      bytesExpected: request.bytesExpected,
      mayInline: true,
    })
    return withDraft(draft, async () => {
      const { digest, checksum } = await inspectBody(md5, inspection).catch(async (error: unknown) => {
        await this.checkEarly(request, request.precondition)
        throw error
      })
      const etag = request.etag ?? etagOf(context, digest, request.encryption)
      const { lock = UNLOCKED } = request
      return transactRecordingLock(context, { bucket: name, key, lock }, async tx => {
        await prefetchHead(tx, name, key)
        const bucket = await bucketForWrite(tx, name)
        const head = await readHead(tx, bucket, key)
        checkPrecondition(request.precondition ?? ALWAYS, head.current?.version.etag)
        draft.addRecords(tx)
        const now = context.clock.now()
        const version = {
          modifiedAt: now,
          owner: request.owner,
          marker: false,
          size: draft.size,
          etag,
          parts: 0,
          checksum,
          encryption: keys?.encryption,
          lock: await lockForNewVersion(context, bucket, lock, now),
          attributes: request.attributes ?? NO_ATTRIBUTES,
          content: draft.content,
        }
        return publish(context, tx, head, version, NO_BYPASS)
      })
    })
  }

  /** R92–R94. Checks the precondition early; the commit checks it again. */
  async checkEarly({ bucket: name, key }: VersionSelector, precondition: Precondition = ALWAYS): Promise<void> {
    if (precondition.ifMatch === undefined && precondition.ifNoneMatch === undefined) return
    await transact(this.#context, async tx => {
      const head = await readHead(tx, await bucketForRead(tx, name), key)
      checkPrecondition(precondition, head.current?.version.etag)
    })
  }

  async head(which: VersionSelector): Promise<Version> {
    return (await findVersion(this.#context, which)).version
  }

  /** Opens a version. Its bytes remain readable until the handle is closed, even if the version is removed. */
  async open(which: VersionSelector, customerKey?: Buffer): Promise<ObjectHandle> {
    const { readerGuard } = this.#context
    const pin = readerGuard.enter()
    try {
      let found = findVersion(this.#context, which)
      if (found instanceof Promise) found = await found
      const { version } = found
      const { encryption } = version
      const isPlain = encryption === undefined && customerKey === undefined
      const contentKey = isPlain ? undefined : await contentKeyOf(this.#context, encryption, customerKey)
      return new ObjectHandle(this.#context, version, contentKey, pin)
    } catch (error) {
      readerGuard.leave(pin)
      throw error
    }
  }

  /** Reads a version that the caller's transaction depends on. */
  async versionIn(tx: Transaction, which: VersionSelector): Promise<Version> {
    return (await locateVersion(tx, which)).version
  }

  /** Deletes a key (by a delete marker in a versioned bucket) or a given version. */
  async remove(request: RemoveRequest): Promise<RemovalResult> {
    const context = this.#context
    try {
      // Only a bypass is recorded in the ledger; other deletes need not queue for it.
      if (request.rights?.bypass !== true) return await transact(context, tx => this.#remove(tx, request, () => {}))
      return await context.ledgerCommits.transact(context, request.bucket, (tx, note) =>
        this.#remove(tx, request, note),
      )
    } catch (error) {
      await recordRefusal(context, 'delete refused', request, error)
      throw error
    }
  }

  /** P2. In a versioned bucket, a delete without a version id adds a delete marker and removes nothing. */
  async #remove(
    tx: Transaction,
    request: RemoveRequest,
    note: Parameters<LedgerAttempt<void>>[1],
  ): Promise<RemovalResult> {
    const context = this.#context
    const { key, rights = NO_BYPASS } = request
    await prefetchHead(tx, request.bucket, key)
    const bucket = await bucketForWrite(tx, request.bucket)
    const head = await readHead(tx, bucket, key)
    const target = await locate(tx, head, request.versionId)
    checkRemoval(request.precondition ?? ALWAYS, target?.version)
    if (request.versionId !== undefined || bucket.versioning === 'off') {
      if (target === undefined) return { marker: undefined, removed: undefined }
      const { id, lock } = target.version
      const isBypassed = mayRemove(lock, await timeForLock(context, lock), false) !== undefined
      await unlinkVersion(context, tx, head, target, rights)
      if (isBypassed) note({ what: 'removed', key, versionId: id, before: lockForLedger(lock), bypass: true })
      return { marker: undefined, removed: target.version }
    }
    if (request.keepHeld === true && target?.version.lock.hold === true) throw lockedFault('held', target.version)
    checkKey(key)
    const marker = { ...DELETE_MARKER, modifiedAt: context.clock.now(), owner: request.owner }
    return { marker: await publishMarker(context, tx, head, marker, rights), removed: undefined }
  }

  setHold(which: VersionSelector, hold: boolean): Promise<Version> {
    return setHold(this.#context, which, hold)
  }

  setRetention(
    which: VersionSelector,
    retention: Lock['retention'],
    rights: RemovalRights = NO_BYPASS,
  ): Promise<Version> {
    return setRetention(this.#context, which, retention, rights)
  }

  setTags(which: VersionSelector, tags: Pairs): Promise<Version> {
    return this.#change(which, version => ({ ...version, attributes: { ...version.attributes, tags } }))
  }

  /** The grants may depend on the version, for example on its owner. */
  setGrants(
    which: VersionSelector,
    grants: readonly Grant[] | ((version: Version) => readonly Grant[]),
  ): Promise<Version> {
    return this.#change(which, version => {
      const newGrants = typeof grants === 'function' ? grants(version) : grants
      return { ...version, attributes: { ...version.attributes, grants: newGrants } }
    })
  }

  /** P18. Changes a version's attributes; position, id and content are kept. */
  #change(which: VersionSelector, change: (version: Version) => Version): Promise<Version> {
    return transact(this.#context, async tx => {
      const bucket = await bucketForRead(tx, which.bucket)
      const target = await requireVersion(tx, await readHead(tx, bucket, which.key), which.versionId)
      const changed = change(target.version)
      tx.put(target.entry.key, versionFormat.encode(changed, target.entry.key))
      return changed
    })
  }
}

/** A delete marker without position, owner and time. */
export const DELETE_MARKER = {
  marker: true,
  size: 0,
  etag: '',
  parts: 0,
  checksum: undefined,
  encryption: undefined,
  lock: UNLOCKED,
  attributes: NO_ATTRIBUTES,
  content: NO_CONTENT,
} as const
