import { isDeepStrictEqual } from 'node:util'
import type { Body } from '../blobs/blobs.ts'
import { BodyDigest } from '../lib/body-digest.ts'
import { after, type Soon, unless } from '../lib/soon.ts'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import {
  type Attributes,
  type Grant,
  type Lock,
  NO_ATTRIBUTES,
  NO_CONTENT,
  type Pairs,
  UNLOCKED,
  type Version,
} from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { lockShown } from '../rules/ledger.ts'
import { LIMITS } from '../rules/limits.ts'
import { checkRetainUntil, mayRemove, mayRetain } from '../rules/lock.ts'
import { checkKey } from '../rules/naming.ts'
import {
  ALWAYS,
  checkPrecondition,
  checkRemoval,
  type Precondition,
  type RemovalPrecondition,
} from '../rules/precondition.ts'
import { bucketForRead, bucketForWrite } from './bucket-record.ts'
import { contentKeyOf, encryptionFor, etagOf, type KeyChoice } from './content-keys.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'
import { findVersion, locateIn, type Which } from './finding.ts'
import { type Inspection, inspected } from './inspection.ts'
import { takeIn, withDraft } from './intake.ts'
import { relyOnKey } from './named-keys.ts'
import { lockOfNew } from './new-lock.ts'
import { decideNew, noteRefusal } from './noting.ts'
import { ObjectHandle } from './object-handle.ts'
import { type Allowance, NO_BYPASS, protectedBy } from './removal.ts'
import type { NotingAttempt } from './turns.ts'
import { locate, mustLocate, publish, publishMarker, readHead, takeOut } from './versions.ts'

export interface PutRequest {
  readonly bucket: string
  readonly key: string
  readonly owner: string
  readonly body: Body
  readonly bytesExpected?: number | undefined
  readonly attributes?: Attributes
  readonly lock?: Lock
  readonly encryption?: KeyChoice | undefined
  readonly condition?: Precondition
  readonly inspection?: Inspection
  /** The entity tag, where it is known before: that of the object these bytes are a copy of. */
  readonly etag?: string
}

export interface RemoveRequest extends Which {
  readonly allowance?: Allowance
  readonly condition?: RemovalPrecondition
  readonly owner: string
  /** Refuses to hide a held version behind a marker. */
  readonly keepHeld?: boolean
}

export interface Removed {
  /** The marker that was put on top, if any. */
  readonly marker: Version | undefined
  /** The version that was taken out, if any. */
  readonly removed: Version | undefined
}

export class Objects {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async put(request: PutRequest): Promise<Version> {
    const engine = this.#engine
    const { bucket: name, key, inspection } = request
    checkKey(key)
    const keys = request.encryption === undefined ? undefined : encryptionFor(engine, request.encryption)
    const md5 = new BodyDigest('md5')
    const draft = await takeIn(engine, request.body, {
      contentKey: keys?.contentKey,
      digests: inspection === undefined ? [md5] : [md5, inspection],
      bytesMax: LIMITS.objectPutBytesMax,
      bytesExpected: request.bytesExpected,
      mayInline: true,
    })
    return withDraft(draft, async () => {
      const { digest, checksum } = await inspected(md5, inspection).catch(async (error: unknown) => {
        await this.checkCondition(request, request.condition)
        throw error
      })
      const etag = request.etag ?? etagOf(engine, digest, request.encryption)
      const { lock = UNLOCKED } = request
      return decideNew(engine, { bucket: name, key, lock }, async d => {
        const bucket = await bucketForWrite(d, name)
        const head = await readHead(d, bucket, key)
        checkPrecondition(request.condition ?? ALWAYS, head.current?.version.etag)
        draft.name(d)
        const now = engine.clock.now()
        const version = {
          modifiedAt: now,
          owner: request.owner,
          marker: false,
          size: draft.size,
          etag,
          parts: 0,
          checksum,
          encryption: keys?.encryption,
          lock: await lockOfNew(engine, bucket, lock, now),
          attributes: request.attributes ?? NO_ATTRIBUTES,
          content: draft.content,
        }
        return publish(engine, d, head, version, NO_BYPASS)
      })
    })
  }

  /** R92–R94. Whether something may be put there as things stand; whoever puts it decides that once more. */
  async checkCondition({ bucket: name, key }: Which, condition: Precondition = ALWAYS): Promise<void> {
    if (condition.ifMatch === undefined && condition.ifNoneMatch === undefined) return
    await decide(this.#engine, async d => {
      const head = await readHead(d, await bucketForRead(d, name), key)
      checkPrecondition(condition, head.current?.version.etag)
    })
  }

  /** The version's record alone. */
  async head(which: Which): Promise<Version> {
    return this.find(which)
  }

  /** The same, at once where its records are there at once. */
  find(which: Which): Soon<Version> {
    return after(findVersion(this.#engine, which), ({ version }) => version)
  }

  /** A version and a way to its bytes, which stay there until the handle is closed, whatever happens beside it. */
  async open(which: Which, customerKey?: Buffer): Promise<ObjectHandle> {
    return this.reach(which, customerKey)
  }

  /** The same, at once where its records are there at once. */
  reach(which: Which, customerKey?: Buffer): Soon<ObjectHandle> {
    const { entrance } = this.#engine
    const ticket = entrance.enter()
    return unless(
      () =>
        after(findVersion(this.#engine, which), ({ version }) => {
          const { encryption } = version
          const isPlain = encryption === undefined && customerKey === undefined
          const contentKey = isPlain ? undefined : contentKeyOf(this.#engine, encryption, customerKey)
          return after(contentKey, opened => new ObjectHandle(this.#engine, version, opened, ticket))
        }),
      error => {
        entrance.leave(ticket)
        throw error
      },
    )
  }

  /** A version that somebody else's decision depends on. */
  async relyOn(d: Decision, which: Which): Promise<Version> {
    return (await locateIn(d, which)).version
  }

  /** Deletes a key (a marker, where there are versions) or, with a version's name, that version. */
  async remove(request: RemoveRequest): Promise<Removed> {
    const engine = this.#engine
    try {
      // Only a bypass leaves a trace in the ledger; all others need not wait for each other.
      if (request.allowance?.bypass !== true) return await decide(engine, d => this.#remove(d, request, () => {}))
      return await engine.turns.take(engine, request.bucket, (d, note) => this.#remove(d, request, note))
    } catch (error) {
      await noteRefusal(engine, 'delete refused', request, error)
      throw error
    }
  }

  async #remove(d: Decision, request: RemoveRequest, note: Parameters<NotingAttempt<void>>[1]): Promise<Removed> {
    const engine = this.#engine
    const { key, allowance = NO_BYPASS } = request
    const bucket = await bucketForWrite(d, request.bucket)
    const head = await readHead(d, bucket, key)
    const target = await locate(d, head, request.versionId)
    checkRemoval(request.condition ?? ALWAYS, target?.version)
    if (request.versionId !== undefined || bucket.versioning === 'off') {
      if (target === undefined) return { marker: undefined, removed: undefined }
      const { id, lock } = target.version
      const isBypassed = mayRemove(lock, await engine.lockClock.now(), false) !== undefined
      await takeOut(engine, d, head, target, allowance)
      if (isBypassed) note({ what: 'removed', key, versionId: id, before: lockShown(lock), bypass: true })
      return { marker: undefined, removed: target.version }
    }
    if (request.keepHeld === true && target?.version.lock.hold === true) throw protectedBy('held', target.version)
    checkKey(key)
    const marker = { ...MARKER, modifiedAt: engine.clock.now(), owner: request.owner }
    return { marker: await publishMarker(engine, d, head, marker, allowance), removed: undefined }
  }

  setHold(which: Which, hold: boolean): Promise<Version> {
    return this.#changeLock(which, 'hold', async ({ lock }) => ({ lock: { ...lock, hold }, bypassed: false }))
  }

  async setRetention(which: Which, retention: Lock['retention'], allowance: Allowance = NO_BYPASS): Promise<Version> {
    const change = async (version: Version): Promise<{ lock: Lock; bypassed: boolean }> => {
      if (retention !== undefined) checkRetainUntil(retention.until, this.#engine.clock.now())
      const now = await this.#engine.lockClock.now()
      const refusal = mayRetain(version.lock, retention, now, allowance.bypass)
      if (refusal !== undefined) throw protectedBy(refusal, version)
      const bypassed = mayRetain(version.lock, retention, now, false) !== undefined
      return { lock: { ...version.lock, retention }, bypassed }
    }
    try {
      return await this.#changeLock(which, 'retention', change)
    } catch (error) {
      await noteRefusal(this.#engine, 'retention refused', which, error)
      throw error
    }
  }

  /** Changes a version's lock and says so in the ledger; what stays as it is leaves no trace. */
  #changeLock(
    which: Which,
    what: 'hold' | 'retention',
    change: (version: Version) => Promise<{ lock: Lock; bypassed: boolean }>,
  ): Promise<Version> {
    const engine = this.#engine
    return engine.turns.take(engine, which.bucket, async (d, note) => {
      const bucket = await bucketForRead(d, which.bucket)
      needLocks(bucket)
      const target = await mustLocate(d, await readHead(d, bucket, which.key), which.versionId)
      const { lock, bypassed } = await change(target.version)
      const [before, after] = [lockShown(target.version.lock), lockShown(lock)]
      if (isDeepStrictEqual(before, after)) return target.version
      if (mayRemove(lock, engine.clock.now(), false) !== undefined) await relyOnKey(d, target.version.encryption)
      const changed = { ...target.version, lock }
      d.put(target.entry.key, versionFormat.encode(changed, target.entry.key))
      const { key } = which
      note({ what, key, versionId: changed.id, before, after, ...(bypassed ? { bypass: true } : {}) })
      return changed
    })
  }

  setTags(which: Which, tags: Pairs): Promise<Version> {
    return this.#change(which, version => ({ ...version, attributes: { ...version.attributes, tags } }))
  }

  /** The grants may depend on the version that gets them: on who owns it, for one. */
  setGrants(which: Which, grants: readonly Grant[] | ((version: Version) => readonly Grant[])): Promise<Version> {
    return this.#change(which, version => {
      const given = typeof grants === 'function' ? grants(version) : grants
      return { ...version, attributes: { ...version.attributes, grants: given } }
    })
  }

  /** Changes what a version's record says beside its bytes; its place, name and content stay. */
  #change(which: Which, change: (version: Version) => Version): Promise<Version> {
    return decide(this.#engine, async d => {
      const bucket = await bucketForRead(d, which.bucket)
      const target = await mustLocate(d, await readHead(d, bucket, which.key), which.versionId)
      const changed = change(target.version)
      d.put(target.entry.key, versionFormat.encode(changed, target.entry.key))
      return changed
    })
  }
}

/** What a marker is apart from its place, its owner and its time. */
export const MARKER = {
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

function needLocks(bucket: Bucket): void {
  if (!bucket.lockEnabled) throw new Fault('ObjectLockConfigurationNotFoundError', { BucketName: bucket.name })
}
