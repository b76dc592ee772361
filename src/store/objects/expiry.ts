/**
 * Applies a bucket's lifecycle rules. The lifecycle worker finds candidates by scanning; here each is evaluated again,
 * by the rules and on the records that the commit checks. An object that was overwritten, a hold that was added and a
 * rule that was removed meanwhile are therefore respected. Nothing here may bypass a lock.
 */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import {
  abortOf,
  expirationOf,
  isDue,
  type LifecycleRule,
  loneMarkerExpirationOf,
  newerVersionsNeeded,
  noncurrentExpirationOf,
} from '../../rules/lifecycle.ts'
import { mayRemove } from '../../rules/lock.ts'
import { documentFormat } from '../buckets/documents.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { bucketForWrite, type StoredVersion, type Transaction, transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import { abortUpload, requireUpload, type UploadName } from '../uploads/upload-record.ts'
import { NO_BYPASS } from './lock-gate.ts'
import { DELETE_MARKER } from './objects.ts'
import { publishMarker, readHead, unlinkVersion } from './versions.ts'

/** The result of one expiry. `kept`: not due, or gone. `locked`: due but protected. */
export type ExpiryOutcome = 'removed' | 'marked' | 'aborted' | 'locked' | 'kept'

type Evaluate = (tx: Transaction, bucket: Bucket, rules: readonly LifecycleRule[]) => Promise<ExpiryOutcome>

const decoded = (entry: StoredVersion['entry']): StoredVersion => ({
  entry,
  version: versionFormat.decode(entry.value),
})

/** The object fields that lifecycle rules evaluate. */
export const expiringOf = (key: string, { size, modifiedAt, attributes }: Version) => ({
  key,
  size,
  modifiedAt,
  tags: attributes.tags,
})

/** `now` is the time up to which rules may act; the caller decides which clock to trust. */
export class Expiry {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** Expires the current version of a key: hidden by a delete marker, or removed where versioning is off. */
  current(name: string, key: string, now: number): Promise<ExpiryOutcome> {
    return this.#evaluate(name, async (tx, bucket, rules) => {
      const head = await readHead(tx, bucket, key)
      const target = head.current
      if (target === undefined || !isDue(expirationOf(rules, expiringOf(key, target.version)), now)) return 'kept'
      // R39. A legal hold keeps the object visible; retention only keeps the version.
      if (target.version.lock.hold === true) return 'locked'
      if (bucket.versioning === 'off') return this.#removeUnlessLocked(tx, head, target)
      const marker = { ...DELETE_MARKER, modifiedAt: this.#context.clock.now(), owner: bucket.owner }
      await publishMarker(this.#context, tx, head, marker, NO_BYPASS)
      return 'marked'
    })
  }

  /** Expires a noncurrent version or delete marker, by its sequence number. */
  noncurrent(name: string, key: string, seq: number, now: number): Promise<ExpiryOutcome> {
    return this.#evaluate(name, async (tx, bucket, rules) => {
      const head = await readHead(tx, bucket, key)
      const entry = await tx.get(recordKey.older(name, key, seq))
      if (entry === undefined) return 'kept'
      const target = decoded(entry)
      const newer = await this.#newer(tx, name, key, target, newerVersionsNeeded(rules) + 1)
      const since = (newer[0] ?? head.current)?.version.modifiedAt
      if (since === undefined) return 'kept'
      // Without a current version the newest entry is the delete marker in its place.
      const others = newer.length - (head.current === undefined ? 1 : 0)
      const of = { ...expiringOf(key, target.version), marker: target.version.marker, since, newer: others }
      return isDue(noncurrentExpirationOf(rules, of), now) ? this.#removeUnlessLocked(tx, head, target) : 'kept'
    })
  }

  /** The versions just newer than one, nearest first. If one of them is removed, this one may have to be kept. */
  async #newer(
    tx: Transaction,
    name: string,
    key: string,
    { entry }: StoredVersion,
    count: number,
  ): Promise<StoredVersion[]> {
    const { start } = keyRanges.olderOf(name, key)
    const entries = await this.#context.meta.scan({ start, end: entry.key }, count, true)
    for (const one of entries) tx.check(one)
    return entries.map(decoded)
  }

  /** Expires a delete marker that is the only version of its key. */
  loneMarker(name: string, key: string, now: number): Promise<ExpiryOutcome> {
    return this.#evaluate(name, async (tx, bucket, rules) => {
      const head = await readHead(tx, bucket, key)
      if (head.deleted === undefined) return 'kept'
      const [entry, another] = await this.#context.meta.scan(keyRanges.olderOf(name, key), 2)
      if (entry === undefined || another !== undefined) return 'kept'
      tx.check(entry)
      const target = decoded(entry)
      const { marker, modifiedAt } = target.version
      if (!marker || !isDue(loneMarkerExpirationOf(rules, key, modifiedAt), now)) return 'kept'
      return this.#removeUnlessLocked(tx, head, target)
    })
  }

  /** R84. An upload that was neither completed nor aborted. */
  async upload(name: UploadName, now: number): Promise<ExpiryOutcome> {
    let outcome: ExpiryOutcome = 'kept'
    const isAborted = await abortUpload(this.#context, async attempt => {
      let result: Awaited<ReturnType<typeof attempt>> | undefined
      outcome = await this.#evaluate(name.bucket, async (tx, _bucket, rules) => {
        const upload = await requireUpload(tx, name)
        if (!isDue(abortOf(rules, upload.key, upload.initiatedAt), now)) return 'kept'
        result = await attempt(tx, upload)
        return 'aborted'
      })
      return outcome === 'aborted' ? result : undefined
    })
    return isAborted ? 'aborted' : outcome
  }

  /**
   * P11. Skips a locked version before the gate refuses it: no client asked for the delete, so no refusal is recorded.
   */
  async #removeUnlessLocked(
    tx: Transaction,
    head: Parameters<typeof unlinkVersion>[2],
    target: StoredVersion,
  ): Promise<ExpiryOutcome> {
    if (mayRemove(target.version.lock, await this.#context.lockClock.now(), false) !== undefined) return 'locked'
    await unlinkVersion(this.#context, tx, head, target, NO_BYPASS)
    return 'removed'
  }

  async #evaluate(name: string, evaluate: Evaluate): Promise<ExpiryOutcome> {
    try {
      return await transact(this.#context, async tx => {
        const bucket = await bucketForWrite(tx, name)
        const document = await tx.get(recordKey.document(name, 'lifecycle'))
        if (document === undefined) return 'kept'
        return evaluate(tx, bucket, this.#context.lifecycleRules(documentFormat.decode(document.value)))
      })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code === 'NoSuchBucket' || error.code === 'NoSuchUpload') return 'kept'
      // A scan is deciding whether the key of the next version may be disabled; the next round retries.
      if (error.code === 'KMS.DisabledException') return 'kept'
      if (error.detail.lock !== undefined) return 'locked'
      throw error
    }
  }
}
