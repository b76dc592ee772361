/** Copying: one commit whatever the size. Bytes move only when they must change between plain and sealed. */
import { createHmac } from 'node:crypto'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Attributes, Checksum, Encryption, Version } from '../../model/version.ts'
import { UNLOCKED } from '../../model/version.ts'
import { type ChecksumAlgorithm, wholeChecksum } from '../../rules/checksum.ts'
import { LIMITS } from '../../rules/limits.ts'
import { checkKey } from '../../rules/naming.ts'
import { copiedChecksum } from '../../rules/part-checksums.ts'
import { ALWAYS, checkPrecondition } from '../../rules/precondition.ts'
import { bucketForRead, bucketForWrite } from '../buckets/bucket-record.ts'
import type { Transaction } from '../commit/transaction.ts'
import { streamChecksum } from '../content/body-checksum.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import { partsAfter } from '../content/part-table.ts'
import { readContent } from '../content/read-content.ts'
import { addReference } from '../content/reference-counts.ts'
import { rewriteContent } from '../content/rewrite-content.ts'
import { contentKeyOf, encryptionFor, type KeyChoice } from '../keys/content-keys.ts'
import { transactNewVersion } from '../ledger/ledger-entries.ts'
import type { StoreContext } from '../store-context.ts'
import type { CopyRequest, CopyResult } from './copy-request.ts'
import { NO_BYPASS } from './lock-gate.ts'
import { lockForNewVersion } from './new-lock.ts'
import type { Objects } from './objects.ts'
import { type KeyHead, type NewVersion, publish, readHead, requireVersion } from './versions.ts'

/** Data and metadata are the source's; who may see it, where it redirects and how it is kept are not. */
const inherited = ({ attributes }: Version): Attributes => ({
  ...attributes,
  grants: [],
  redirect: undefined,
  storageClass: undefined,
})

/** Bytes may be shared when they stay as they are: plain, or sealed under keys that the server manages. */
function canShare(source: Encryption | undefined, target: KeyChoice | undefined): boolean {
  if (source === undefined || target === undefined) return source === target
  return source.by !== 'customer' && target.by !== 'customer'
}

/** What a copy would be made of, and put on top of. */
interface Seen {
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

  /** As a reader, so that what the source holds is not freed between looking at it and counting one share more. */
  async #shareAsReader(request: CopyRequest): Promise<CopyResult | undefined> {
    const { readers } = this.#context
    const ticket = readers.enter()
    try {
      const summing = new Summing(this.#context, request)
      const { to, lock = UNLOCKED } = request
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        let source: Version | undefined
        const version = await transactNewVersion(this.#context, { ...to, lock }, async tx => {
          const seen = await this.#look(tx, request)
          source = seen.source
          const sum = canShare(source.encryption, request.encryption) ? summing.known(source) : undefined
          return sum === undefined ? undefined : this.#share(tx, request, seen, sum.checksum)
        })
        if (version !== undefined) return { source: source!, version }
        if (!canShare(source!.encryption, request.encryption)) return undefined
        // Between two decisions: whoever waits for the end of one must not wait for bytes to be read.
        await summing.learn(source!)
      }
      throw new Fault('OperationAborted')
    } finally {
      readers.leave(ticket)
    }
  }

  /** Everything that a copy can be refused for without a look at its bytes. */
  async #look(tx: Transaction, { from, to, check, customerKey, condition = ALWAYS }: CopyRequest): Promise<Seen> {
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
    checkPrecondition(condition, head.current?.version.etag)
    return { source, bucket, head }
  }

  async #share(
    tx: Transaction,
    request: CopyRequest,
    { source, bucket, head }: Seen,
    checksum: Checksum | undefined,
  ): Promise<Version> {
    const context = this.#context
    await addReference(tx, source.content)
    const now = context.clock.now()
    const version: NewVersion = {
      ...withoutPlace(source),
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

  /** Tags keyed under different keys must not be comparable; within one class the content's tag stays. */
  #etagUnder(source: Version, choice: KeyChoice): string {
    const was = source.encryption?.by
    if (was === choice.by && (choice.by !== 'named' || choice.name === source.encryption?.keyName)) return source.etag
    const use = choice.by === 'named' ? { ...choice } : ({ by: 'service' } as const)
    const secret = this.#context.keyring.etagSecret(use)
    const [tag, parts] = source.etag.split('-')
    const keyed = createHmac('sha256', secret).update(tag!, 'hex').digest('hex').slice(0, 32)
    return parts === undefined ? keyed : `${keyed}-${parts}`
  }
}

/** R52. The checksum of a copy that shares its source's bytes; they are read once, and only when nothing else tells. */
class Summing {
  readonly #context: StoreContext
  readonly #request: CopyRequest
  #learnt: { readonly source: Version; readonly checksum: Checksum } | undefined

  constructor(context: StoreContext, request: CopyRequest) {
    this.#context = context
    this.#request = request
  }

  /** Undefined until it is learnt. */
  known(source: Version): { readonly checksum: Checksum | undefined } | undefined {
    if (this.#request.algorithm === undefined) return { checksum: source.checksum }
    const learnt = this.#learnt
    // A version of the same name, time and tag is the same version.
    if (learnt?.source.id !== source.id || learnt.source.modifiedAt !== source.modifiedAt) return undefined
    return learnt.source.etag === source.etag ? learnt : undefined
  }

  async learn(source: Version): Promise<void> {
    const algorithm = this.#request.algorithm!
    const { parts } = await partsAfter(this.#context, source, 0, LIMITS.partNumberMax)
    const checksum = copiedChecksum(source.checksum, algorithm, parts) ?? (await this.#read(source, algorithm))
    this.#learnt = { source, checksum }
  }

  async #read(source: Version, algorithm: ChecksumAlgorithm): Promise<Checksum> {
    const { content, encryption, size } = source
    this.#request.beforeRead?.(source)
    const contentKey = await contentKeyOf(this.#context, encryption, undefined)
    const bytes = readContent(this.#context, content, contentKey, 0, size)
    return wholeChecksum(algorithm, await streamChecksum(algorithm, bytes))
  }
}

function withoutPlace(version: Version): NewVersion {
  const { seq: _seq, id: _id, nullSeq: _nullSeq, ...rest } = version
  return rest
}
