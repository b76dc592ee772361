/**
 * Copies an object in one commit, whatever its size. Bytes move only when they must change between plain and sealed.
 */
import { createHmac } from 'node:crypto'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Attributes, Checksum, Encryption, Version } from '../../model/version.ts'
import { UNLOCKED } from '../../model/version.ts'
import { type ChecksumAlgorithm, wholeChecksum } from '../../rules/checksum.ts'
import { ALWAYS, checkPrecondition } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import { checkKey } from '../../rules/naming.ts'
import { copiedChecksum } from '../../rules/part-checksums.ts'
import type { Transaction } from '../commit/transaction.ts'
import { bucketForRead, bucketForWrite } from '../commit/transaction.ts'
import { streamChecksum } from '../content/body-checksum.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import { partsAfter } from '../content/part-table.ts'
import { readContent } from '../content/read-content.ts'
import { addReference } from '../content/reference-counts.ts'
import { rewriteContent } from '../content/rewrite-content.ts'
import { contentKeyOf, encryptionFor, type KeyChoice } from '../keys/content-keys.ts'
import type { StoreContext } from '../store-context.ts'
import type { CopyRequest, CopyResult } from './copy-request.ts'
import { lockForNewVersion, NO_BYPASS, transactRecordingLock } from './lock-gate.ts'
import type { Objects } from './objects.ts'
import { type KeyHead, type NewVersion, publish, readHead, requireVersion } from './versions.ts'

/** A copy inherits data and metadata, but not grants, redirect or storage class. */
const inherited = ({ attributes }: Version): Attributes => ({
  ...attributes,
  grants: [],
  redirect: undefined,
  storageClass: undefined,
})

/** Bytes can be shared when they need no re-encryption: plain, or sealed under server-managed keys. */
function canShare(source: Encryption | undefined, target: KeyChoice | undefined): boolean {
  if (source === undefined || target === undefined) return source === target
  return source.by !== 'customer' && target.by !== 'customer'
}

/** The source, and the head it would be published on. */
interface CopyBasis {
  readonly source: Version
  readonly bucket: Bucket
  readonly head: KeyHead
}

const TRIES_MAX = 20

export class Copies {
  readonly #context: StoreContext
  readonly #objects: Objects

  constructor(context: StoreContext, objects: Objects) {
    this.#context = context
    this.#objects = objects
  }

  async copy(request: CopyRequest): Promise<CopyResult> {
    checkKey(request.to.key)
    await reserveRecordSpace(this.#context)
    return (
      (await this.#shareAsReader(request)) ??
      rewriteContent(this.#context, this.#objects, { attributes: inherited, ...request })
    )
  }

  /** Runs as a reader, so that the source's bytes are not freed before the copy's reference is committed. */
  async #shareAsReader(request: CopyRequest): Promise<CopyResult | undefined> {
    const { readers } = this.#context
    const pin = readers.enter()
    try {
      const checksums = new SharedChecksum(this.#context, request)
      const { to, lock = UNLOCKED } = request
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        let source: Version | undefined
        const version = await transactRecordingLock(this.#context, { ...to, lock }, async tx => {
          const basis = await this.#readBasis(tx, request)
          source = basis.source
          const result = canShare(source.encryption, request.encryption) ? checksums.known(source) : undefined
          return result === undefined ? undefined : this.#share(tx, request, basis, result.checksum)
        })
        if (version !== undefined) return { source: source!, version }
        if (!canShare(source!.encryption, request.encryption)) return undefined
        // Outside a transaction, so that group commits do not wait for bytes to be read.
        await checksums.compute(source!)
      }
      throw new Fault('OperationAborted')
    } finally {
      readers.leave(pin)
    }
  }

  /** Checks everything that can be refused without reading bytes. */
  async #readBasis(
    tx: Transaction,
    { from, to, check, customerKey, precondition = ALWAYS }: CopyRequest,
  ): Promise<CopyBasis> {
    const fromBucket = await bucketForRead(tx, from.bucket)
    const { version: source } = await requireVersion(tx, await readHead(tx, fromBucket, from.key), from.versionId)
    check?.(source)
    if (source.size > LIMITS.copyBytesMax) {
      throw new Fault('EntityTooLarge', { ProposedSize: source.size, MaxSizeAllowed: LIMITS.copyBytesMax })
    }
    if (customerKey !== undefined && source.encryption?.by !== 'customer') {
      throw new Fault('InvalidRequest', { reason: 'The source has no customer key' })
    }
    const bucket = await bucketForWrite(tx, to.bucket)
    const head = await readHead(tx, bucket, to.key)
    checkPrecondition(precondition, head.current?.version.etag)
    return { source, bucket, head }
  }

  async #share(
    tx: Transaction,
    request: CopyRequest,
    { source, bucket, head }: CopyBasis,
    checksum: Checksum | undefined,
  ): Promise<Version> {
    const context = this.#context
    await addReference(tx, source.content)
    const now = context.clock.now()
    const version: NewVersion = {
      ...withoutPosition(source),
      ...(await this.#rewrapped(source, request)),
      checksum,
      modifiedAt: now,
      owner: request.owner,
      attributes: (request.attributes ?? inherited)(source),
      lock: await lockForNewVersion(context, bucket, request.lock ?? UNLOCKED, now),
    }
    return publish(context, tx, head, version, NO_BYPASS)
  }

  async #rewrapped(source: Version, request: CopyRequest): Promise<Pick<Version, 'encryption' | 'etag'>> {
    const { encryption: choice } = request
    if (source.encryption === undefined || choice === undefined) return { encryption: undefined, etag: source.etag }
    const contentKey = await contentKeyOf(this.#context, source.encryption, undefined)
    const { encryption } = encryptionFor(this.#context, choice, contentKey)
    return { encryption, etag: this.#etagUnder(source, choice) }
  }

  /**
   * Tags under different keys must not be comparable; within one class the tag is kept. Clients take 32 digits of an
   * object under the service's key for the MD5 of its bytes, which nobody reads here: the count says that they are not.
   */
  #etagUnder(source: Version, choice: KeyChoice): string {
    const was = source.encryption?.by
    if (was === choice.by && (choice.by !== 'named' || choice.name === source.encryption?.keyName)) return source.etag
    const use = choice.by === 'named' ? { ...choice } : ({ by: 'service' } as const)
    const secret = this.#context.keyring.etagSecret(use)
    const [tag] = source.etag.split('-')
    const count = choice.by === 'service' ? Math.max(1, source.parts) : source.parts
    const keyed = createHmac('sha256', secret).update(tag!, 'hex').digest('hex').slice(0, 32)
    return count === 0 ? keyed : `${keyed}-${count}`
  }
}

/** R52. The checksum of a copy that shares bytes; they are read once, and only if the checksum cannot be derived. */
class SharedChecksum {
  readonly #context: StoreContext
  readonly #request: CopyRequest
  #computed: { readonly source: Version; readonly checksum: Checksum } | undefined

  constructor(context: StoreContext, request: CopyRequest) {
    this.#context = context
    this.#request = request
  }

  /** Undefined until `compute` has run for this source. */
  known(source: Version): { readonly checksum: Checksum | undefined } | undefined {
    if (this.#request.algorithm === undefined) return { checksum: source.checksum }
    const computed = this.#computed
    // A version with the same id, time and tag is the same version.
    if (computed?.source.id !== source.id || computed.source.modifiedAt !== source.modifiedAt) return undefined
    return computed.source.etag === source.etag ? computed : undefined
  }

  async compute(source: Version): Promise<void> {
    const algorithm = this.#request.algorithm!
    const { parts } = await partsAfter(this.#context, source, 0, LIMITS.partNumberMax)
    const checksum = copiedChecksum(source.checksum, algorithm, parts) ?? (await this.#read(source, algorithm))
    this.#computed = { source, checksum }
  }

  async #read(source: Version, algorithm: ChecksumAlgorithm): Promise<Checksum> {
    const { content, encryption, size } = source
    this.#request.beforeRead?.(source)
    const contentKey = await contentKeyOf(this.#context, encryption, undefined)
    const bytes = readContent(this.#context, content, contentKey, 0, size)
    return wholeChecksum(algorithm, await streamChecksum(algorithm, bytes))
  }
}

function withoutPosition(version: Version): NewVersion {
  const { seq: _seq, id: _id, nullSeq: _nullSeq, ...rest } = version
  return rest
}
