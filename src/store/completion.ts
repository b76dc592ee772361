/**
 * Completing an upload: the object appears in one small commit, whatever the number of parts. The list of slices is
 * written ahead, in pages; the part records stay behind for the reclaimer.
 */
import { createHash } from 'node:crypto'
import { justAfter } from '../lib/bytes.ts'
import type { Bucket } from '../model/bucket.ts'
import { type Completed, completedFormat } from '../model/completed.ts'
import { Fault } from '../model/faults.ts'
import { algorithmOf, type Part, type Upload } from '../model/upload.ts'
import type { Checksum, Lock, Version } from '../model/version.ts'
import { type Assembly, assemble, type ListedPart } from '../rules/assembly.ts'
import { LIMITS } from '../rules/limits.ts'
import { ALWAYS, checkPrecondition, type Precondition } from '../rules/precondition.ts'
import { all, at } from './addresses.ts'
import { bucketForWrite } from './bucket-record.ts'
import { contentKeyOf } from './content-keys.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'
import { lockOfNew } from './new-lock.ts'
import { decideNew } from './noting.ts'
import { contentRecord, readContent } from './outflow.ts'
import { withPages } from './paging.ts'
import { NO_BYPASS } from './removal.ts'
import { discard } from './sharing.ts'
import { tallyUpload } from './tally.ts'
import {
  announceEnd,
  bytesOfParts,
  isStillAnnounced,
  isUploadName,
  mustFindUpload,
  storedParts,
  type UploadName,
} from './upload-record.ts'
import { type Head, publish, readHead } from './versions.ts'

const TRIES_MAX = 20
const FORGET_PAGE = 200

export interface CompleteRequest extends UploadName {
  readonly parts: readonly ListedPart[]
  readonly condition?: Precondition
  /** The customer's key, for an upload that was begun with one: only needed to read what would be made. */
  readonly customerKey?: Buffer
  /** Looks at what would be made and may refuse it; returns the checksum to keep. `read` gives its bytes. */
  readonly inspect?: (
    upload: Upload,
    assembly: Assembly,
    read: () => AsyncIterable<Buffer>,
  ) => Checksum | undefined | Promise<Checksum | undefined>
  /** Called before bytes are read: by then everything that can be refused without has been looked at. */
  readonly reading?: (upload: Upload) => void
}

export class Completion {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** As a reader: what the parts share must not be freed while it is looked at, even if the upload is aborted. */
  async complete(request: CompleteRequest): Promise<Version> {
    const { readers } = this.#engine
    const ticket = readers.enter()
    try {
      return await this.#complete(request)
    } finally {
      readers.leave(ticket)
    }
  }

  async #complete(request: CompleteRequest): Promise<Version> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const upload = await decide(this.#engine, async d => announceEnd(d, await mustFindUpload(d, request)))
      const stored = await storedParts(this.#engine, upload)
      const assembly = assemble(request.parts, stored, request.uploadId)
      if (assembly.size > LIMITS.partBytesMax * LIMITS.partNumberMax) {
        throw new Fault('EntityTooLarge', { ProposedSize: assembly.size })
      }
      const checksum = await request.inspect?.(upload, assembly, () => this.#read(request, upload, assembly))
      const parts = assembly.parts.map(part => partOf(upload, part, checksum))
      const read = { upload, storedBytes: bytesOfParts(stored) }
      const made = await this.#make(request, read, { ...assembly, parts }, checksum)
      if (made !== undefined) return made
    }
    throw new Fault('OperationAborted')
  }

  async *#read(request: CompleteRequest, upload: Upload, { parts, size }: Assembly): AsyncGenerator<Buffer> {
    const engine = this.#engine
    const content = { kind: 'slices' as const, slices: parts.flatMap(part => part.slices) }
    const contentKey = await contentKeyOf(engine, upload.encryption, request.customerKey)
    // The commit decides; a condition that fails already spares the reading.
    await decide(engine, d => headFor(d, request))
    request.reading?.(upload)
    yield* readContent(engine, content, contentKey, 0, size)
  }

  /** R96. What a completed upload became, as long as it is remembered. */
  async find(name: UploadName): Promise<Completed | undefined> {
    if (!isUploadName(name.key, name.uploadId)) return undefined
    const entry = await this.#engine.meta.get(at.completed(Buffer.from(name.uploadId, 'hex')))
    const found = entry === undefined ? undefined : completedFormat.decode(entry.value)
    return found?.bucket === name.bucket && found.key === name.key ? found : undefined
  }

  /** Forgets what was completed before that moment, a page at a time; resolves to where to go on. */
  async forget(before: number, from: Buffer = all.kind('e').start): Promise<Buffer | undefined> {
    const entries = await this.#engine.meta.scan({ start: from, end: all.kind('e').end }, FORGET_PAGE)
    const old = entries.filter(entry => completedFormat.decode(entry.value).completedAt < before)
    if (old.length > 0) {
      await decide(this.#engine, async d => {
        for (const { key } of old) d.remove(at.completed(key.subarray(1)))
      })
    }
    return entries.length < FORGET_PAGE ? undefined : justAfter(entries.at(-1)!.key)
  }

  /** Undefined when a part was stored meanwhile and the parts have to be read again. */
  async #make(
    request: CompleteRequest,
    { upload: announced, storedBytes }: { readonly upload: Upload; readonly storedBytes: number },
    assembly: Assembly,
    checksum: Checksum | undefined,
  ): Promise<Version | undefined> {
    const engine = this.#engine
    const depth = await this.#depth(assembly.parts)
    return withPages(engine, assembly.parts, name =>
      decideNew(engine, { ...request, lock: announced.lock }, async d => {
        const upload = await mustFindUpload(d, request)
        if (!isStillAnnounced(upload, announced)) return undefined
        const { bucket, head } = await headFor(d, request)
        const content = await name(d, { size: assembly.size, depth, sums: checksum?.algorithm })
        d.remove(at.upload(upload.bucket, upload.key, upload.id))
        tallyUpload(d, bucket, storedBytes, -1)
        discard(engine, d, { kind: 'parts', upload: upload.id, taken: bitmap(assembly.parts) })
        const now = engine.clock.now()
        const version = {
          modifiedAt: now,
          owner: upload.owner,
          marker: false,
          size: assembly.size,
          etag: assembly.etag,
          parts: assembly.parts.length,
          checksum,
          encryption: upload.encryption,
          lock: await lockAtCompletion(engine, bucket, upload, now),
          attributes: upload.attributes,
          content,
        }
        const made = await publish(engine, d, head, version, NO_BYPASS)
        d.put(at.completed(upload.id), completedFormat.encode(remembered(request, made)))
        return made
      }),
    )
  }

  async #depth(parts: readonly Part[]): Promise<number> {
    const below = new Map<string, Buffer>()
    for (const { slices } of parts) {
      for (const slice of slices) if (slice.of === 'content') below.set(slice.id.toString('hex'), slice.id)
    }
    let depth = 0
    for (const id of below.values()) depth = Math.max(depth, 1 + (await contentRecord(this.#engine, id)).depth)
    return depth
  }
}

/** R92–R94. What the object will be put on top of, if it may. */
async function headFor(d: Decision, request: CompleteRequest): Promise<{ bucket: Bucket; head: Head }> {
  const bucket = await bucketForWrite(d, request.bucket)
  const head = await readHead(d, bucket, request.key)
  checkPrecondition(request.condition ?? ALWAYS, head.current?.version.etag)
  return { bucket, head }
}

/** What an object keeps of a part: its checksum only if it is of the object's own algorithm. */
const partOf = (upload: Upload, part: Part, checksum: Checksum | undefined): Part =>
  algorithmOf(upload, part) === checksum?.algorithm ? part : { ...part, checksum: undefined }

/** R96. Two lists are the same when this is. */
export function listDigest(parts: readonly ListedPart[]): Buffer {
  const hash = createHash('sha256')
  for (const { number, etag } of parts) hash.update(`${number}:${etag}\n`)
  return hash.digest()
}

const remembered = ({ bucket, key, parts }: CompleteRequest, made: Version): Completed => ({
  bucket,
  key,
  completedAt: made.modifiedAt,
  versionId: made.id,
  etag: made.etag,
  list: listDigest(parts),
})

/** What was asked for when it began was checked then, and stands; only a default counts from completion. */
async function lockAtCompletion(engine: Engine, bucket: Bucket, { lock }: Upload, now: number): Promise<Lock> {
  return lock.retention === undefined ? lockOfNew(engine, bucket, lock, now) : lock
}

function bitmap(parts: readonly Part[]): Buffer {
  const bits = Buffer.alloc((LIMITS.partNumberMax >> 3) + 1)
  for (const { number } of parts) bits[number >> 3]! |= 1 << (number & 7)
  return bits.subarray(0, (parts.at(-1)!.number >> 3) + 1)
}

/** True when the object took over the slices of the part with this number. */
export function wasTaken(bits: Buffer, number: number): boolean {
  return ((bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0
}
