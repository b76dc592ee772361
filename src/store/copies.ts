/** Copying: one commit whatever the size. Bytes move only when they must change between plain and sealed. */
import { createHmac } from 'node:crypto'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Attributes, Checksum, Encryption, Version } from '../model/version.ts'
import { UNLOCKED } from '../model/version.ts'
import { type ChecksumAlgorithm, wholeChecksum } from '../rules/checksum.ts'
import { LIMITS } from '../rules/limits.ts'
import { checkKey } from '../rules/naming.ts'
import { copiedChecksum } from '../rules/part-checksums.ts'
import { ALWAYS, checkPrecondition } from '../rules/precondition.ts'
import { checksumOfBytes } from './body-checksum.ts'
import { bucketForRead, bucketForWrite } from './bucket-record.ts'
import { contentKeyOf, encryptionFor, type KeyChoice } from './content-keys.ts'
import type { Copied, CopyRequest } from './copy-request.ts'
import type { Decision } from './decision.ts'
import type { Engine } from './engine.ts'
import { admitRecord } from './intake.ts'
import { lockOfNew } from './new-lock.ts'
import { decideNew } from './noting.ts'
import type { Objects } from './objects.ts'
import { readContent } from './outflow.ts'
import { partsAfter } from './part-table.ts'
import { NO_BYPASS } from './removal.ts'
import { rewrite } from './rewriting.ts'
import { hold } from './sharing.ts'
import { type Head, mustLocate, publish, readHead, type Unplaced } from './versions.ts'

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
  readonly head: Head
}

const TRIES_MAX = 20

export class Copies {
  readonly #engine: Engine
  readonly #objects: Objects

  constructor(engine: Engine, objects: Objects) {
    this.#engine = engine
    this.#objects = objects
  }

  async copy(request: CopyRequest): Promise<Copied> {
    checkKey(request.to.key)
    await admitRecord(this.#engine)
    return (
      (await this.#shareAsReader(request)) ??
      rewrite(this.#engine, this.#objects, { attributes: inherited, ...request })
    )
  }

  /** As a reader, so that what the source holds is not freed between looking at it and counting one share more. */
  async #shareAsReader(request: CopyRequest): Promise<Copied | undefined> {
    const { readers } = this.#engine
    const ticket = readers.enter()
    try {
      const summing = new Summing(this.#engine, request)
      const { to, lock = UNLOCKED } = request
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        let source: Version | undefined
        const version = await decideNew(this.#engine, { ...to, lock }, async d => {
          const seen = await this.#look(d, request)
          source = seen.source
          const sum = canShare(source.encryption, request.encryption) ? summing.known(source) : undefined
          return sum === undefined ? undefined : this.#share(d, request, seen, sum.checksum)
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
  async #look(d: Decision, { from, to, check, customerKey, condition = ALWAYS }: CopyRequest): Promise<Seen> {
    const fromBucket = await bucketForRead(d, from.bucket)
    const { version: source } = await mustLocate(d, await readHead(d, fromBucket, from.key), from.versionId)
    check?.(source)
    if (source.size > LIMITS.copyBytesMax) {
      throw new Fault('EntityTooLarge', { ProposedSize: source.size, MaxSizeAllowed: LIMITS.copyBytesMax })
    }
    if (customerKey !== undefined && source.encryption?.by !== 'customer') {
      throw new Fault('InvalidRequest', { reason: 'The source has no customer key' })
    }
    const bucket = await bucketForWrite(d, to.bucket)
    const head = await readHead(d, bucket, to.key)
    checkPrecondition(condition, head.current?.version.etag)
    return { source, bucket, head }
  }

  async #share(
    d: Decision,
    request: CopyRequest,
    { source, bucket, head }: Seen,
    checksum: Checksum | undefined,
  ): Promise<Version> {
    const engine = this.#engine
    await hold(d, source.content)
    const now = engine.clock.now()
    const version: Unplaced = {
      ...withoutPlace(source),
      ...(await this.#rewrapped(source, request)),
      checksum,
      modifiedAt: now,
      owner: request.owner,
      attributes: (request.attributes ?? inherited)(source),
      lock: await lockOfNew(engine, bucket, request.lock ?? UNLOCKED, now),
    }
    return publish(engine, d, head, version, NO_BYPASS)
  }

  async #rewrapped(source: Version, request: CopyRequest): Promise<Pick<Version, 'encryption' | 'etag'>> {
    const { encryption: choice } = request
    if (source.encryption === undefined || choice === undefined) return { encryption: undefined, etag: source.etag }
    const contentKey = await contentKeyOf(this.#engine, source.encryption, undefined)
    const { encryption } = encryptionFor(this.#engine, choice, contentKey)
    return { encryption, etag: this.#etagUnder(source, choice) }
  }

  /** Tags keyed under different keys must not be comparable; within one class the content's tag stays. */
  #etagUnder(source: Version, choice: KeyChoice): string {
    const was = source.encryption?.by
    if (was === choice.by && (choice.by !== 'named' || choice.name === source.encryption?.keyName)) return source.etag
    const use = choice.by === 'named' ? { ...choice } : ({ by: 'service' } as const)
    const secret = this.#engine.keyring.etagSecret(use)
    const [tag, parts] = source.etag.split('-')
    const keyed = createHmac('sha256', secret).update(tag!, 'hex').digest('hex').slice(0, 32)
    return parts === undefined ? keyed : `${keyed}-${parts}`
  }
}

/** R52. The checksum of a copy that shares its source's bytes; they are read once, and only when nothing else tells. */
class Summing {
  readonly #engine: Engine
  readonly #request: CopyRequest
  #learnt: { readonly source: Version; readonly checksum: Checksum } | undefined

  constructor(engine: Engine, request: CopyRequest) {
    this.#engine = engine
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
    const { parts } = await partsAfter(this.#engine, source, 0, LIMITS.partNumberMax)
    const checksum = copiedChecksum(source.checksum, algorithm, parts) ?? (await this.#read(source, algorithm))
    this.#learnt = { source, checksum }
  }

  async #read(source: Version, algorithm: ChecksumAlgorithm): Promise<Checksum> {
    const { content, encryption, size } = source
    this.#request.reading?.(source)
    const contentKey = await contentKeyOf(this.#engine, encryption, undefined)
    const bytes = readContent(this.#engine, content, contentKey, 0, size)
    return wholeChecksum(algorithm, await checksumOfBytes(algorithm, bytes))
  }
}

function withoutPlace(version: Version): Unplaced {
  const { seq: _seq, id: _id, nullSeq: _nullSeq, ...rest } = version
  return rest
}
